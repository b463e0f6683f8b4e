"""The one row a reply becomes."""

from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.keys import message_key
from sayso.schemas.record import Part, Record
from sayso.schemas.slack import Message
from sayso.schemas.strategy import Conclusion
from sayso.schemas.tick import RowStatus
from sayso.schemas.ts import Ts

IgnoredReason = Literal["no decision", "withdrawn", "not a decider", "unsure"]


class Position(Part):
    """Where a record stands in Kafka."""

    topic: str
    partition: int
    offset: int


class StoredAnswer(Part):
    """The model's answer as it came, kept before anything is derived from it."""

    text: str = Field(max_length=65_536)
    model: str = Field(max_length=200)
    prompt_version: str
    request_id: str | None = None
    answered_at: AwareDatetime


class FeedbackRow(Record):
    """One reply and what became of it. Identity: org, channel, ts."""

    ce_type: ClassVar[str] = "sayso.feedback.row.v1"

    id: str
    org: str
    channel: str
    ts: Ts
    thread: Ts
    """The root whose cursor this row holds while it is not settled."""
    status: RowStatus
    message: Message
    """The newest form read before settlement."""
    revision: int = 0
    """Rises with every change of the row."""
    attempt_count: int = 0
    last_attempt_at: AwareDatetime | None = None
    next_attempt_at: AwareDatetime | None = None
    """Not tried before this, when attempts are spaced out."""
    last_error: str | None = Field(default=None, max_length=2_000)
    reason: IgnoredReason | None = None
    """Why the row is `ignored`."""
    answer: StoredAnswer | None = None
    conclusion: Conclusion | None = None
    """The validated answer; with status `pending` it waits to be applied."""
    decision: str | None = None
    """Id of the decision, once there is one to apply."""
    decision_revision: int | None = None
    changed_after: Ts | Literal["deleted"] | None = None
    """The edit (or deletion) that was seen after settlement."""
    ticks: tuple[str, ...] = Field(default=(), max_length=16)
    """Newest ticks already tried, so that a record delivered twice costs no attempt."""
    source: Position | None = None
    """The newest record applied to this row."""

    @property
    def is_settled(self) -> bool:
        """True when the model will not read this reply again."""
        return self.status in ("processed", "ignored")

    @property
    def key(self) -> str:
        return message_key(self.org, self.channel, self.ts)

    @property
    def ce_id(self) -> str:
        return f"{self.id}:{self.revision}"
