"""Keys whose records wait in order behind one that died, and the records that wait."""

from base64 import b64decode
from typing import ClassVar

from pydantic import AwareDatetime, Field

from sayso.schemas.dead import Header
from sayso.schemas.feedback import Position
from sayso.schemas.record import Part, Record


class ParkedRecord(Record):
    """A record that waits: an earlier one of its key died of an unknown error."""

    ce_type: ClassVar[str] = "sayso.parked.v1"

    source: Position
    timestamp_ms: int
    """Of the source record."""
    agent: str
    """The agent that set it aside."""
    behind: int
    """The offset of the dead record it waits for, in the same partition."""
    source_key: str
    """Base64 of the raw key."""
    source_value: str
    """Base64 of the raw value."""
    headers: tuple[Header, ...] = ()
    at: AwareDatetime

    @property
    def raw_key(self) -> bytes:
        """The source record's key, byte for byte."""
        return b64decode(self.source_key)

    @property
    def raw_value(self) -> bytes:
        """The source record's value, byte for byte."""
        return b64decode(self.source_value)

    @property
    def key(self) -> str:
        return self.raw_key.decode("utf-8", errors="replace")

    @property
    def ce_id(self) -> str:
        return f"{self.source.topic}:{self.source.partition}:{self.source.offset}"


class ParkedKey(Part):
    """A key of one agent whose records wait. Offsets are those the records first came with."""

    topic: str
    """Where its records come from; the partition is the row's own."""
    dead: int
    """Of the record that died."""
    last: int
    """Of the newest record that waits, or of the dead one while none does."""
    done: int | None = None
    """Up to which they were taken up again, in order; None before the dead one was."""

    def is_waiting(self, offset: int) -> bool:
        """True for a record that waits to be taken up again, the dead one among them."""
        return (self.dead - 1 if self.done is None else self.done) < offset <= self.last


class Requeued(Part):
    """Header `sayso_requeued` of a record that was put back: its place among those that wait."""

    dead: int = Field(ge=0)
    """The offset of the record that died."""
    offset: int = Field(ge=0)
    """The offset that this record first came with."""
    after: int | None = Field(default=None, ge=0)
    """That of the one right before it; None for the dead one."""
    dropped: bool = False
    """True for a stand-in of a dead record that nobody wants processed."""
