"""What the demo shows in the end, as one model that prints as tables or as JSON."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from sayso.schemas.strategy import FieldValue


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class MessageLine(_Part):
    """One message and what came of it."""

    shows: str
    who: str
    where: str
    """The thread's name, or `channel`."""
    ts: str
    text: str
    """In its newest form."""
    outcome: str
    """A feedback row's status, or `no reply` for what never becomes a row."""
    attempts: int
    why: str
    """What is decided, why it is ignored, or the refusal."""
    first_refusal: str | None = None
    """Why the first attempt was not applied, where a later one was made."""


class FieldLine(_Part):
    """One strategic field."""

    field: str
    before: FieldValue | None
    after: FieldValue | None
    set_by: str | None
    """The ts of the reply that set it."""


class ConfirmationLine(_Part):
    """One confirmation as it stands in Slack."""

    thread: str
    text: str


class Report(_Part):
    """The whole demo."""

    slack: str
    """Which Slack it was."""
    model: str
    """Which model answered."""
    messages: tuple[MessageLine, ...]
    fields: tuple[FieldLine, ...]
    confirmations: tuple[ConfirmationLine, ...]
    slack_calls: Mapping[str, int]
    """By method; empty where they are not counted."""
    model_calls: int | None
    limited: int = 0
    """Ticks that Slack cut short with a 429."""
    differences: tuple[str, ...] = ()
    """Where the result is not what it has to be; empty when all is right."""
    look_further: tuple[str, ...] = ()
    """Commands that work once the demo has ended."""
    seconds: float = 0.0

    @property
    def is_right(self) -> bool:
        """True when every outcome is what it has to be."""
        return not self.differences
