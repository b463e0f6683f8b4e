"""A tick asks the owner of a channel to poll it; tick results say what came of it."""

from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, Field, RootModel

from sayso.schemas.keys import channel_key
from sayso.schemas.record import Record
from sayso.schemas.ts import Ts

TickCause = Literal["schedule", "command", "trigger"]

RowStatus = Literal["pending", "processed", "ignored", "failed"]


class Tick(Record):
    """One request to poll a channel."""

    ce_type: ClassVar[str] = "sayso.tick.v1"

    id: str
    org: str
    channel: str
    cause: TickCause
    at: AwareDatetime
    trigger_ts: Ts | None = None
    """With cause `trigger`: the only message to handle."""

    @property
    def key(self) -> str:
        return channel_key(self.org, self.channel)

    @property
    def ce_id(self) -> str:
        return self.id


class TickStarted(Record):
    """The owner of the channel took the tick up."""

    ce_type: ClassVar[str] = "sayso.tick-result.v1"

    kind: Literal["started"] = "started"
    tick: str
    org: str
    channel: str
    worker: str

    @property
    def key(self) -> str:
        return channel_key(self.org, self.channel)

    @property
    def ce_id(self) -> str:
        return f"{self.tick}:started:{self.worker}"


class TickRead(Record):
    """The channel was read; every reply listed will be settled in a result of its own."""

    ce_type: ClassVar[str] = "sayso.tick-result.v1"

    kind: Literal["read"] = "read"
    tick: str
    org: str
    channel: str
    replies: tuple[Ts, ...] = ()
    messages: int = 0
    """Messages published, replies included."""
    api_calls: int = 0
    retry_after: float | None = None
    """Seconds until Slack wants to be asked again, when the tick stopped on a rate limit."""
    note: str | None = None
    """Why nothing was read, when that is not a failure: skipped, not scanned, rate limited."""

    @property
    def key(self) -> str:
        return channel_key(self.org, self.channel)

    @property
    def ce_id(self) -> str:
        return f"{self.tick}:read"


class TickFailed(Record):
    """The scan stopped before settling replies."""

    ce_type: ClassVar[str] = "sayso.tick-result.v1"

    kind: Literal["failed"] = "failed"
    tick: str
    org: str
    channel: str
    refusal: str

    @property
    def key(self) -> str:
        return channel_key(self.org, self.channel)

    @property
    def ce_id(self) -> str:
        return f"{self.tick}:failed"


class ReplySettled(Record):
    """What became of one reply in this tick."""

    ce_type: ClassVar[str] = "sayso.tick-result.v1"

    kind: Literal["reply"] = "reply"
    tick: str
    org: str
    channel: str
    ts: Ts
    thread: Ts
    """The root whose cursor this reply holds or frees; its own ts for a top-level message."""
    row: str
    status: RowStatus
    attempt_count: int
    refusal: str | None = None
    reason: str | None = None
    title: str | None = None
    unmarked: bool = False
    """True when the failure itself could not be recorded: the row stays pending."""
    unreadable: bool = False
    """True when the row was written by a build that this one cannot read."""

    @property
    def key(self) -> str:
        return channel_key(self.org, self.channel)

    @property
    def ce_id(self) -> str:
        return f"{self.tick}:reply:{self.ts}:{self.attempt_count}:{self.status}"


class TickResult(
    RootModel[
        Annotated[TickStarted | TickRead | TickFailed | ReplySettled, Field(discriminator="kind")]
    ]
):
    """Any record of `tick-results`."""
