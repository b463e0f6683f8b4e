"""Putting dead records back where they came from, with those that wait for them, in order."""

import getpass
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from confluent_kafka import KafkaError, Producer
from pydantic import SecretStr

from sayso.schemas.audit import AuditAction, AuditEntry
from sayso.schemas.dead import DeadLetter
from sayso.schemas.headers import cloud_headers
from sayso.schemas.ids import audit_id
from sayso.schemas.keys import key_parts
from sayso.schemas.parked import ParkedRecord, Requeued
from sayso.streams.client_config import librdkafka_settings
from sayso.streams.codec import encode
from sayso.streams.dead_letters import Case, read_cases, version
from sayso.streams.errors import BrokerUnreachable, NotDelivered
from sayso.streams.parking import REQUEUED
from sayso.streams.settings import KafkaSettings

_DELIVERY_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.5
_NOT_TAKEN_UP: Final = (
    "no worker has taken it up yet: look at the workers (`sayso doctor`); what comes for the key "
    "meanwhile waits until this is done again"
)


@dataclass(frozen=True, kw_only=True)
class PutBack:
    """What putting back one case came to."""

    records: int
    """Records put back, those that waited among them."""
    problem: str | None = None
    """What is not as it should be, with the mend."""


class Requeue:
    """Puts cases back, or drops them, and keeps who did it."""

    def __init__(self, kafka: KafkaSettings, *, password: SecretStr | None = None) -> None:
        self._kafka = kafka
        self._password = password
        self._producer = Producer(
            {
                **librdkafka_settings(kafka, password=password),
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "delivery.timeout.ms": int(_DELIVERY_SECONDS * 1_000),
                "message.max.bytes": 5_000_000,
            }
        )

    def requeue(self, case: Case, *, reason: str | None = None, wait: float) -> PutBack:
        """Have a record that died taken up again, then those that wait for it.

        Waits up to `wait` seconds until the key is free; records that come for it meanwhile are
        put back too. Raises NotDelivered, BrokerUnreachable.
        """
        done = self._put_back(case, dropped=False, wait=wait)
        self._note("dead.requeue", case.letter, reason)
        return done

    def drop(self, case: Case, *, reason: str | None = None, wait: float) -> PutBack:
        """Pass over a record that died; those that wait for it are taken up. As `requeue`."""
        done = PutBack(records=0)
        if case.held is not None:
            done = self._put_back(case, dropped=True, wait=wait)
        self._note("dead.drop", case.letter, reason)
        return done

    def _put_back(self, case: Case, *, dropped: bool, wait: float) -> PutBack:
        deadline = time.monotonic() + wait
        records = 0
        now: Case | None = case
        while now is not None:
            for place, record in _in_order(now, dropped=dropped):
                self._write(place, record, case.letter)
                records += 1
            self._flush()
            if case.held is None:
                return PutBack(records=records)
            if not self._is_taken_up(now, deadline):
                return PutBack(records=records, problem=_NOT_TAKEN_UP)
            cases = read_cases(self._kafka, password=self._password).by_id
            now = cases.get(case.id)
            if now is None or now.held is None or now.held.done is None:
                return PutBack(records=records, problem=_died_again(case, cases.values()))
        return PutBack(records=records)

    def _is_taken_up(self, case: Case, deadline: float) -> bool:
        """Wait until the last of what was put back was taken up, or one died in its turn."""
        source = case.letter.source
        last = case.waiting[-1].source.offset if case.waiting else source.offset
        while True:
            now = read_cases(self._kafka, password=self._password).by_id.get(case.id)
            if now is None or now.held is None or version(now.letter) != version(case.letter):
                return True
            if now.held.done is not None and now.held.done >= last:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)

    def _write(
        self, place: Requeued, record: DeadLetter | ParkedRecord, letter: DeadLetter
    ) -> None:
        kept = [(header.name, header.raw) for header in record.headers if header.name != REQUEUED]
        self._produce(
            letter.source.topic,
            key=record.raw_key,
            value=None if place.dropped else record.raw_value,
            partition=letter.source.partition,
            headers=[(REQUEUED, encode(place)), *kept],
            timestamp=record.timestamp_ms,
        )

    def _note(self, action: AuditAction, letter: DeadLetter, reason: str | None) -> None:
        entry = AuditEntry(
            id=audit_id(action, letter.ce_id, version(letter)),
            org=key_parts(letter.key)[0] or "-",
            action=action,
            target=letter.ce_id,
            target_version=version(letter),
            by=getpass.getuser()[:200],
            reason=reason,
            at=datetime.now(UTC),
        )
        self._produce(
            f"{self._kafka.prefix}audit",
            key=entry.key.encode(),
            value=encode(entry),
            headers=cloud_headers(entry),
        )
        self._flush()

    def _produce(self, topic: str, **record: Any) -> None:
        self._producer.produce(topic, on_delivery=self._delivered, **record)
        self._producer.poll(0)

    def _flush(self) -> None:
        if self._producer.flush(_DELIVERY_SECONDS + 1):
            raise BrokerUnreachable(
                f"no Kafka answers at {self._kafka.bootstrap}: start one, or correct "
                "kafka.bootstrap; what was put back so far is put back again next time, which "
                "changes nothing"
            )

    def _delivered(self, error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            raise NotDelivered(f"the broker did not take a record: {error.str()}")


def _died_again(before: Case, cases: Iterable[Case]) -> str | None:
    """What holds the key now, in a sentence; None when it is free."""
    wanted = (before.letter.source.topic, before.letter.raw_key)
    for case in cases:
        letter = case.letter
        if case.held is not None and (letter.source.topic, letter.raw_key) == wanted:
            again = "it died again" if case.id == before.id else f"{case.id}, which waited, died"
            return f"{again}: {letter.refusal}"
    return None


def _in_order(case: Case, *, dropped: bool) -> Iterator[tuple[Requeued, DeadLetter | ParkedRecord]]:
    """What is to be put back, each with its place."""
    dead = case.letter.source.offset
    after = None if case.held is None else case.held.done
    if after is None:
        yield Requeued(dead=dead, offset=dead, dropped=dropped), case.letter
        after = dead
    for record in case.waiting:
        offset = record.source.offset
        yield Requeued(dead=dead, offset=offset, after=after), record
        after = offset
