"""Records set aside, with their raw bytes and where they came from."""

from base64 import b64encode
from datetime import UTC, datetime

from aiokafka.structs import ConsumerRecord

from sayso import __version__
from sayso.schemas.dead import DeadLetter, DeadReason, Header
from sayso.schemas.feedback import Position
from sayso.schemas.parked import ParkedRecord


def dead_letter(
    record: ConsumerRecord[bytes, bytes],
    *,
    source: Position,
    group: str,
    reason: DeadReason,
    error: Exception,
    attempt: int,
) -> DeadLetter:
    """A record that could not be processed; `source` is where it first came."""
    return DeadLetter(
        source=source,
        timestamp_ms=record.timestamp,
        group=group,
        reason=reason,
        error=type(error).__name__,
        refusal=str(error)[:2_000],
        source_key=_base64(record.key),
        source_value=_base64(record.value),
        headers=_headers(record),
        attempt=attempt,
        build=__version__,
        at=datetime.now(UTC),
    )


def parked_record(
    record: ConsumerRecord[bytes, bytes], *, source: Position, agent: str, behind: int
) -> ParkedRecord:
    """A record with a key and a value that waits for the dead one at offset `behind`."""
    return ParkedRecord(
        source=source,
        timestamp_ms=record.timestamp,
        agent=agent,
        behind=behind,
        source_key=b64encode(record.key).decode(),
        source_value=b64encode(record.value).decode(),
        headers=_headers(record),
        at=datetime.now(UTC),
    )


def _headers(record: ConsumerRecord[bytes, bytes]) -> tuple[Header, ...]:
    return tuple(Header(name=name, value=_base64(value)) for name, value in record.headers)


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()
