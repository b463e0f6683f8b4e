"""Something to be done outside, and what became of it."""

from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.keys import key as joined_key
from sayso.schemas.record import Part, Record
from sayso.schemas.ts import Ts

EffectState = Literal["planned", "sending", "done", "ambiguous", "failed"]


class PostMessage(Part):
    """Post a message to a channel or into a thread, as the bot."""

    kind: Literal["post"] = "post"
    channel: str
    text: str = Field(min_length=1, max_length=4_000)
    """Escaped already: nothing in it pings anybody it should not."""
    thread_ts: Ts | None = None


class Effect(Record):
    """One thing to do outside, performed once whatever is delivered twice."""

    ce_type: ClassVar[str] = "sayso.effect.v1"

    id: str
    org: str
    target: str
    """What is acted on, in order: for Slack the channel. With the org it is the record's key."""
    cause: str = Field(max_length=200)
    """What asked for it: a feedback row's id, or `command`."""
    action: Annotated[PostMessage, Field()]

    @property
    def key(self) -> str:
        return joined_key(self.org, self.target)

    @property
    def ce_id(self) -> str:
        return self.id


class EffectResult(Record):
    """How far an effect has come. `done`, `failed` are final."""

    ce_type: ClassVar[str] = "sayso.effect-result.v1"

    id: str
    org: str
    target: str
    cause: str
    state: EffectState
    attempt_count: int = 0
    sending_at: AwareDatetime | None = None
    ts: Ts | None = None
    """Of the message posted, once done."""
    reconciled: bool = False
    """True when the outcome was found by reading back."""
    refusal: str | None = Field(default=None, max_length=2_000)
    action: PostMessage

    @property
    def key(self) -> str:
        return joined_key(self.org, self.target)

    @property
    def ce_id(self) -> str:
        return f"{self.id}:{self.state}:{self.attempt_count}"
