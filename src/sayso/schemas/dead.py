"""A record that could not be processed, with its raw bytes and where it came from."""

from base64 import b64decode
from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.feedback import Position
from sayso.schemas.record import Part, Record

DeadReason = Literal["poison", "unknown"]
"""`poison` cannot be decoded or validated; `unknown` is an error of ours."""


class Header(Part):
    """One Kafka header; the value is base64."""

    name: str
    value: str | None = None

    @property
    def raw(self) -> bytes | None:
        """The value, byte for byte."""
        return None if self.value is None else b64decode(self.value)


class DeadLetter(Record):
    """One record set aside."""

    ce_type: ClassVar[str] = "sayso.dead.v1"

    source: Position
    timestamp_ms: int
    """Of the source record."""
    group: str
    reason: DeadReason
    error: str = Field(max_length=200)
    """The class of the error."""
    refusal: str = Field(max_length=2_000)
    source_key: str | None = None
    """Base64 of the raw key."""
    source_value: str | None = None
    """Base64 of the raw value; None for a tombstone."""
    headers: tuple[Header, ...] = ()
    attempt: int = 1
    build: str
    at: AwareDatetime

    @property
    def raw_value(self) -> bytes | None:
        """The source record's value, byte for byte."""
        return None if self.source_value is None else b64decode(self.source_value)

    @property
    def raw_key(self) -> bytes | None:
        """The source record's key, byte for byte."""
        return None if self.source_key is None else b64decode(self.source_key)

    @property
    def key(self) -> str:
        return (self.raw_key or b"").decode("utf-8", errors="replace")

    @property
    def ce_id(self) -> str:
        return f"{self.source.topic}:{self.source.partition}:{self.source.offset}"
