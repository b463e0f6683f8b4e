"""The latest record of each key of a compacted topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, SecretStr

from sayso.schemas.status import Status
from sayso.streams.codec import decode
from sayso.streams.errors import Poison
from sayso.streams.reader import RawRecord, read_topic
from sayso.streams.settings import KafkaSettings

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A record that this build cannot read; the key keeps what was read before it."""

    topic: str
    partition: int
    offset: int
    key: str
    refusal: str

    def __str__(self) -> str:
        where = f"{self.topic} partition {self.partition} offset {self.offset}"
        return f"{where} key {self.key}: {self.refusal}"


class Latest(Generic[M]):
    """What holds for each key, kept up with record by record.

    A record without a value removes its key. A `Status` holds only when its rank is greater than
    that of every status seen for the key, whatever order they were written in.
    """

    def __init__(self, model: type[M]) -> None:
        self._model = model
        self._records: dict[str, M] = {}
        self._ranks: dict[str, tuple[int, int, int]] = {}
        self._unreadable: dict[str, Unreadable] = {}
        self._next: dict[int, int] = {}

    @property
    def records(self) -> Mapping[str, M]:
        """By key; in the order in which keys were first seen."""
        return self._records

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """The newest record of each key for which it cannot be read."""
        return tuple(self._unreadable.values())

    @property
    def next_offsets(self) -> Mapping[int, int]:
        """Per partition seen, where to go on reading."""
        return self._next

    def apply(self, raw: RawRecord) -> bool:
        """Take in one record; True when what holds for its key changed."""
        self._next[raw.partition] = raw.offset + 1
        key = raw.key_text
        if raw.value is None:
            self._unreadable.pop(key, None)
            return self._records.pop(key, None) is not None
        try:
            record = decode(self._model, raw.value)
        except Poison as fault:
            self._unreadable[key] = Unreadable(
                topic=raw.topic,
                partition=raw.partition,
                offset=raw.offset,
                key=key,
                refusal=str(fault),
            )
            return False
        self._unreadable.pop(key, None)
        if isinstance(record, Status):
            if key in self._ranks and record.rank <= self._ranks[key]:
                return False
            self._ranks[key] = record.rank
        self._records[key] = record
        return True


def latest_by_key(
    kafka: KafkaSettings, topic: str, model: type[M], *, password: SecretStr | None = None
) -> Latest[M]:
    """What holds for each key of a compacted topic, complete as of now.

    Records that cannot be read are reported in `unreadable`, never raised.
    Raises BrokerUnreachable, and TopicsMismatch when the topic does not exist.
    """
    latest = Latest(model)
    for raw in read_topic(kafka, topic, password=password):
        latest.apply(raw)
    return latest
