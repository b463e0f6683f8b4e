"""What rules hand to an agent to send."""

from dataclasses import dataclass

from sayso.schemas.record import Record


@dataclass(frozen=True)
class Output:
    """One record for a topic; `key` where the topic is keyed by something else than the record."""

    topic: str
    record: Record
    key: str | None = None
