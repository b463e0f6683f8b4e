"""Dead letters as operators see them: which are open, and what waits behind each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, SecretStr

from sayso.schemas.audit import AuditEntry
from sayso.schemas.dead import DeadLetter
from sayso.schemas.parked import ParkedKey, ParkedRecord
from sayso.streams.codec import decode
from sayso.streams.errors import Poison
from sayso.streams.reader import RawRecord, read_topic
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import PARKED_KEYS, app_id, changelog_name

State = Literal["open", "requeued", "dropped"]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One dead letter and what became of it."""

    letter: DeadLetter
    state: State
    held: ParkedKey | None = None
    """What holds its key, when this letter is what the key waits for."""
    waiting: tuple[ParkedRecord, ...] = ()
    """Later records of its key, in order."""

    @property
    def id(self) -> str:
        """As commands take it: topic, partition and offset of the record that died."""
        return self.letter.ce_id


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Every dead letter that is still kept."""

    by_id: dict[str, Case]
    """In the order in which they died; of a record that died again, the newest."""
    unreadable: int
    """Records of `dead`, `parked` and `audit` that this build cannot read."""


def read_cases(kafka: KafkaSettings, *, password: SecretStr | None = None) -> Cases:
    """All dead letters. Raises BrokerUnreachable, and TopicsMismatch when a topic is missing."""
    reading = _Reading(kafka, password)
    letters = {one.ce_id: one for one in reading.records("dead", DeadLetter)}
    answers = {
        (one.target, one.target_version): one for one in reading.records("audit", AuditEntry)
    }
    parked = {one.ce_id: one for one in reading.records("parked", ParkedRecord)}
    held = reading.held()
    by_id = {}
    for letter in sorted(letters.values(), key=lambda one: one.at):
        source = letter.source
        key = held.get((source.topic, source.partition, source.offset))
        by_id[letter.ce_id] = Case(
            letter=letter,
            state=_state(answers.get((letter.ce_id, version(letter))), key),
            held=key,
            waiting=() if key is None else _waiting(letter, key, parked.values()),
        )
    return Cases(by_id=by_id, unreadable=reading.unreadable)


def version(letter: DeadLetter) -> str:
    """Which death of a record this is."""
    return letter.at.isoformat()


class _Reading:
    def __init__(self, kafka: KafkaSettings, password: SecretStr | None) -> None:
        self._kafka = kafka
        self._password = password
        self.unreadable = 0

    def records(self, topic: str, model: type[M]) -> Iterable[M]:
        for raw in read_topic(self._kafka, topic, password=self._password):
            record = self._decoded(raw, model)
            if record is not None:
                yield record

    def held(self) -> dict[tuple[str, int, int], ParkedKey]:
        changelog = changelog_name(app_id(self._kafka), PARKED_KEYS)
        rows: dict[str, tuple[int, ParkedKey | None]] = {}
        for raw in read_topic(
            self._kafka, changelog.removeprefix(self._kafka.prefix), password=self._password
        ):
            rows[raw.key_text] = (raw.partition, self._decoded(raw, ParkedKey))
        return {
            (key.topic, partition, key.dead): key
            for partition, key in rows.values()
            if key is not None
        }

    def _decoded(self, raw: RawRecord, model: type[M]) -> M | None:
        if raw.value is None:
            return None
        try:
            return decode(model, raw.value)
        except Poison:
            self.unreadable += 1
            return None


def _state(answer: AuditEntry | None, key: ParkedKey | None) -> State:
    if key is not None or answer is None:
        return "open"
    return "dropped" if answer.action == "dead.drop" else "requeued"


def _waiting(
    letter: DeadLetter, key: ParkedKey, parked: Iterable[ParkedRecord]
) -> tuple[ParkedRecord, ...]:
    source = letter.source
    waiting = [
        one
        for one in parked
        if (one.source.topic, one.source.partition) == (source.topic, source.partition)
        and one.raw_key == letter.raw_key
        and one.source.offset != key.dead
        and key.is_waiting(one.source.offset)
    ]
    return tuple(sorted(waiting, key=lambda one: one.source.offset))
