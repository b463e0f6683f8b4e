"""What happened in Slack: messages and reactions, normalised."""

from typing import ClassVar, Literal

from pydantic import Field

from sayso.schemas.ids import message_id
from sayso.schemas.keys import message_key
from sayso.schemas.record import Part, Record
from sayso.schemas.ts import Ts

AuthorKind = Literal["member", "guest", "external", "bot", "app", "system", "unknown"]
"""`member` is a full member of the workspace; `app` posts through the Web API, a user token
included; `system` is Slack itself; `unknown` is a person whose profile could not be read."""

AnswerVia = Literal["thread", "broadcast", "mention", "link", "adjacent"]
"""How a message answers one of our posts. `adjacent` directly follows the post in the channel."""

Change = Literal["created", "edited", "deleted"]


class Author(Part):
    """Who wrote a message. An id, never only a display name."""

    id: str = Field(max_length=64)
    """Slack's user id; `bot:<id>` where a message has no user; `system` where it has neither."""
    kind: AuthorKind
    name: str | None = Field(default=None, max_length=200)
    is_self: bool = False
    """True for our own posts, by user id, bot id or app id."""

    @property
    def is_person(self) -> bool:
        """True for a human being, whatever their rights in the workspace."""
        return not self.is_self and self.kind in ("member", "guest", "external", "unknown")


class Earlier(Part):
    """One earlier message of the same thread, as context for reading a reply."""

    author: str
    ours: bool = False
    text: str = Field(max_length=500)


class AnswerTo(Part):
    """The post of ours that a message answers."""

    ts: Ts
    text: str = Field(max_length=40_000)
    via: AnswerVia
    earlier: tuple[Earlier, ...] = Field(default=(), max_length=10)


class ThreadSummary(Part):
    """What a thread's root says about its replies."""

    reply_count: int = 0
    latest_reply: Ts | None = None


class Message(Record):
    """One version of one message. Identity: org, channel, ts."""

    ce_type: ClassVar[str] = "sayso.slack.message.v1"

    org: str
    channel: str
    ts: Ts
    author: Author
    text: str = Field(max_length=40_000)
    """As Slack serves it, mrkdwn escapes included."""
    change: Change = "created"
    edited_ts: Ts | None = None
    subtype: str | None = Field(default=None, max_length=64)
    thread_ts: Ts | None = None
    """The root's ts, for a root with replies its own."""
    thread: ThreadSummary | None = None
    answers: AnswerTo | None = None
    read_by: str = Field(max_length=64)
    """Id of the tick that read it."""

    @property
    def is_reply(self) -> bool:
        """True inside a thread, the root excluded."""
        return self.thread_ts is not None and self.thread_ts != self.ts

    @property
    def version(self) -> str | None:
        """What tells this version of the message from others: None, an edit's ts or `deleted`."""
        return "deleted" if self.change == "deleted" else self.edited_ts

    @property
    def key(self) -> str:
        return message_key(self.org, self.channel, self.ts)

    @property
    def ce_id(self) -> str:
        return message_id(self.org, self.channel, self.ts, self.version)


class Reaction(Record):
    """One person's reaction to a message, as a poll saw it appear or go."""

    ce_type: ClassVar[str] = "sayso.slack.reaction.v1"

    org: str
    channel: str
    ts: Ts
    """The message reacted to."""
    name: str = Field(max_length=100)
    """Without skin tone, aliases resolved: `+1`, never `thumbsup`."""
    user: str = Field(max_length=64)
    is_self: bool = False
    change: Literal["added", "removed"]
    read_by: str = Field(max_length=64)

    @property
    def key(self) -> str:
        return message_key(self.org, self.channel, self.ts)

    @property
    def ce_id(self) -> str:
        return ":".join(
            (
                message_id(self.org, self.channel, self.ts, None),
                self.name,
                self.user,
                self.change,
                self.read_by,
            )
        )
