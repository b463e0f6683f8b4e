"""Reading topics without a group: nothing is committed and no other consumer notices."""

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from pydantic import SecretStr

from sayso.streams.client_config import librdkafka_settings
from sayso.streams.contact import ANSWER_SECONDS, Contact
from sayso.streams.errors import TopicsMismatch
from sayso.streams.settings import KafkaSettings

Start = Literal["first", "next"] | int | datetime | Mapping[int, int]
"""Where to begin: at the first record kept, at the next one written, at an offset of every
partition, at a time, or at an offset per partition (the others at their first record)."""
End = int | datetime | None
"""Where to stop, exclusive: at an offset, at a time, or at what is there now."""

_POLL_SECONDS: Final = 0.2
_STALL_SECONDS: Final = 15.0
_BATCH: Final = 500
_MOVING: Final = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})


@dataclass(frozen=True, kw_only=True, slots=True)
class RawRecord:
    """One record as the broker has it."""

    topic: str
    """Without the prefix."""
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    """None removes the key from a compacted topic."""
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def key_text(self) -> str:
        """The key as text; bytes that are no UTF-8 are replaced."""
        return (self.key or b"").decode("utf-8", errors="replace")


def read_topic(
    kafka: KafkaSettings,
    topic: str,
    *,
    password: SecretStr | None = None,
    start: Start = "first",
    end: End = None,
    key: str | None = None,
    follow: bool = False,
) -> Generator[RawRecord, None, None]:
    """Records of a topic, each partition in its order.

    Without `follow`, everything up to what was there at the start, then it ends. With it, goes on
    for ever and ignores `end`. `key` is a whole key, or the start of one followed by `*`.
    Raises BrokerUnreachable, and TopicsMismatch when the topic does not exist.
    """
    with _Reading(kafka, topic, password=password) as reading:
        reading.begin(start, None if follow else end, follow=follow)
        for record in reading.records():
            if _is_asked_for(record.key, key) and _is_within(
                record, start, None if follow else end
            ):
                yield record


def _is_asked_for(key: bytes | None, asked: str | None) -> bool:
    if asked is None:
        return True
    if asked.endswith("*"):
        return (key or b"").startswith(asked[:-1].encode())
    return (key or b"") == asked.encode()


def _is_within(record: RawRecord, start: Start, end: End) -> bool:
    # The broker finds where a time begins; records after that may still be of another time.
    after = not isinstance(start, datetime) or record.timestamp_ms >= _ms(start)
    return after and (not isinstance(end, datetime) or record.timestamp_ms < _ms(end))


class _Reading:
    """One consumer on all partitions of one topic."""

    def __init__(self, kafka: KafkaSettings, topic: str, *, password: SecretStr | None) -> None:
        self._topic = topic
        self._name = kafka.prefix + topic
        self._contact = Contact(kafka)
        settings: dict[str, Any] = {
            **librdkafka_settings(kafka, password=password),
            # A group has to be named, but is never joined.
            "group.id": f"{kafka.prefix}sayso-reader",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "error_cb": self._contact.heard,
        }
        self._consumer = Consumer(settings)
        self._open: dict[int, float] = {}
        """Partitions still to be read, and the offset at which each is done."""

    def __enter__(self) -> "_Reading":
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def begin(self, start: Start, end: End, *, follow: bool) -> None:
        with self._contact.made(self._listen):
            kept = {number: self._kept(number) for number in self._partitions()}
            first = self._starts(start, kept)
            stops = {} if follow else self._stops(end, kept)
        for number in kept:
            stop = float("inf") if follow else stops[number]
            if first[number] < stop:
                self._open[number] = stop
        self._consumer.assign(
            [TopicPartition(self._name, number, first[number]) for number in self._open]
        )

    def records(self) -> Iterator[RawRecord]:
        heard = time.monotonic()
        while self._open:
            # A full batch is waited for until the timeout, even when all there is was read.
            messages = self._consumer.consume(_BATCH, timeout=0) or self._consumer.consume(
                1, timeout=_POLL_SECONDS
            )
            if messages:
                heard = time.monotonic()
            elif self._is_bounded() and time.monotonic() - heard > _STALL_SECONDS:
                raise self._contact.lost("it stopped answering")
            for message in messages:
                record = self._record(message)
                if record is not None:
                    yield record

    def _record(self, message: Message) -> RawRecord | None:
        partition, offset = message.partition(), message.offset()
        error = message.error()
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._reached(partition, offset)
            elif not error.retriable():
                raise TopicsMismatch([f"topic {self._name} cannot be read: {error.str()}"])
            return None
        if partition is None or offset is None or partition not in self._open:
            return None
        is_wanted = offset < self._open[partition]
        self._reached(partition, offset + 1)
        if not is_wanted:
            return None
        return RawRecord(
            topic=self._topic,
            partition=partition,
            offset=offset,
            timestamp_ms=message.timestamp()[1],
            key=_bytes(message.key()),
            value=_bytes(message.value()),
            headers=_headers(message),
        )

    def _reached(self, partition: int | None, offset: int | None) -> None:
        if partition in self._open and (offset or 0) >= self._open[partition]:
            del self._open[partition]

    def _is_bounded(self) -> bool:
        return any(stop != float("inf") for stop in self._open.values())

    def _partitions(self) -> list[int]:
        known = self._consumer.list_topics(self._name, timeout=ANSWER_SECONDS).topics
        topic = known.get(self._name)
        if topic is None or topic.error is not None or not topic.partitions:
            raise TopicsMismatch([f"topic {self._name} does not exist: run `sayso topics apply`"])
        return sorted(topic.partitions)

    def _kept(self, number: int) -> tuple[int, int]:
        """The first offset kept and the next one to be written."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                low, high = self._consumer.get_watermark_offsets(
                    TopicPartition(self._name, number), timeout=ANSWER_SECONDS
                )
            except KafkaException as failure:
                # The partition is on its way from one broker to another, or was just created.
                moving = failure.args[0].code() in _MOVING
                if not moving or time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)
            else:
                return low, high

    def _starts(self, start: Start, kept: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        if start == "next":
            return {number: high for number, (_, high) in kept.items()}
        if start == "first":
            return {number: low for number, (low, _) in kept.items()}
        if isinstance(start, datetime):
            return self._at(start, kept)
        asked = dict.fromkeys(kept, start) if isinstance(start, int) else start
        return {
            number: min(max(low, asked.get(number, low)), high)
            for number, (low, high) in kept.items()
        }

    def _stops(self, end: End, kept: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        # A time ends nothing here: a record written later may still be of an earlier time.
        return {
            number: min(high, end) if isinstance(end, int) else high
            for number, (_, high) in kept.items()
        }

    def _at(self, when: datetime, kept: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Per partition, the offset of the first record at that time or later."""
        asked = [TopicPartition(self._name, number, _ms(when)) for number in kept]
        found = self._consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS)
        return {
            one.partition: one.offset if one.offset >= 0 else kept[one.partition][1]
            for one in found
        }

    def _listen(self) -> None:
        self._consumer.poll(0)


def _ms(when: datetime) -> int:
    return int(when.timestamp() * 1000)


def _headers(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    headers: Any = message.headers() or ()  # pairs; the dict in its types is for producers
    return tuple((name, _bytes(value)) for name, value in headers)


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
