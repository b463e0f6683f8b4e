"""What the workspace is made of: users, tokens, channels and messages."""

from bisect import insort
from dataclasses import dataclass, field
from typing import Final, Literal

from sayso.schemas.ts import from_micros

UserKind = Literal["member", "guest", "external", "bot", "hidden"]
"""`external` belongs to a connected workspace; `hidden` is one that users.info does not know."""

ALL_SCOPES: Final = frozenset(
    {
        "channels:history",
        "channels:read",
        "chat:write",
        "groups:history",
        "groups:read",
        "reactions:read",
        "reactions:write",
        "users:read",
    }
)


@dataclass(frozen=True, kw_only=True)
class User:
    """One user. A bot has a bot id and an app id as well."""

    id: str
    kind: UserKind
    name: str
    bot_id: str | None = None
    app_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Token:
    """Whom a token acts for and what it may do."""

    user: str
    scopes: frozenset[str]


@dataclass(kw_only=True)
class Stored:
    """One message. `raw` holds what does not depend on who asks."""

    micros: int
    raw: dict[str, object]
    root: int | None = None
    """Microseconds of the thread's root, for a reply."""
    broadcast: bool = False
    tombstone: bool = False
    metadata: dict[str, object] | None = None
    through_api: bool = False
    reactions: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ts(self) -> str:
        return from_micros(self.micros)


@dataclass(kw_only=True)
class Channel:
    """One channel, its messages in the order of their ts."""

    id: str
    name: str
    private: bool = False
    archived: bool = False
    members: set[str] = field(default_factory=set)
    messages: dict[int, Stored] = field(default_factory=dict)
    timeline: list[int] = field(default_factory=list)
    """What stands in the channel itself: roots and broadcasts."""
    threads: dict[int, list[int]] = field(default_factory=dict)
    """Replies of each root that has any."""

    def put(self, message: Stored) -> None:
        """Take a message in; its ts must be free."""
        if message.micros in self.messages:
            raise ValueError(f"{self.id} has a message {message.ts} already")
        self.messages[message.micros] = message
        if message.root is None or message.broadcast:
            insort(self.timeline, message.micros)
        if message.root is not None:
            insort(self.threads.setdefault(message.root, []), message.micros)

    def take(self, message: Stored) -> None:
        """Delete as Slack does: a root with replies leaves a tombstone, all else goes."""
        if message.root is None and self.threads.get(message.micros):
            message.tombstone = True
            return
        del self.messages[message.micros]
        if message.root is None or message.broadcast:
            self.timeline.remove(message.micros)
        if message.root is None:
            return
        replies = self.threads[message.root]
        replies.remove(message.micros)
        if replies:
            return
        del self.threads[message.root]
        root = self.messages.get(message.root)
        if root is not None and root.tombstone:
            self.take(root)


@dataclass(frozen=True, kw_only=True)
class Post:
    """A message that came through the Web API and still stands."""

    channel: str
    ts: str
    thread_ts: str | None
    user: str | None
    text: str
    metadata: dict[str, object] | None
