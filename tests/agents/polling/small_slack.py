"""A Slack of one channel, in memory: what one scan asks of the client, and nothing more.

It cuts windows short as the client does, so that the rules are seen with every budget. Pages are
small; the real client is tested against the sandbox.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sayso.connectors.slack.client import ThreadRead, WindowRead
from sayso.connectors.slack.errors import RateLimited, ThreadGone
from sayso.schemas.slack import Author, Message, ThreadSummary
from sayso.schemas.ts import Ts, from_micros, micros

ORG, CHANNEL, US = "acme", "C0SMALL", "U0BOT"
OURS = Author(id=US, kind="app", is_self=True)
PERSON = Author(id="U1", kind="member")
BOT = Author(id="bot:B1", kind="bot")
SYSTEM = Author(id="system", kind="system")
START = 1_796_000_000_000_000
HISTORY_PAGE, THREAD_PAGE = 2, 2


def ts_at(seconds: float) -> Ts:
    return from_micros(START + int(seconds * 1_000_000))


def message(
    ts: Ts,
    author: Author = PERSON,
    text: str = "hello",
    *,
    thread: Ts | None = None,
    subtype: str | None = None,
    edited: Ts | None = None,
    tick: str = "t",
    summary: ThreadSummary | None = None,
) -> Message:
    return Message(
        org=ORG,
        channel=CHANNEL,
        ts=ts,
        author=author,
        text=text,
        subtype=subtype,
        change="created" if edited is None else "edited",
        edited_ts=edited,
        thread_ts=thread,
        thread=summary,
        read_by=tick,
    )


@dataclass(frozen=True)
class Said:
    """One message as the workspace holds it."""

    ts: Ts
    author: Author
    text: str = "hello"
    root: Ts | None = None
    broadcast: bool = False
    edited: Ts | None = None


@dataclass(frozen=True)
class Me:
    user_id: str = US


class SmallSlack:
    """Implements what a scan calls of SlackClient."""

    def __init__(self) -> None:
        self.said: dict[Ts, Said] = {}
        self.tombstones: set[Ts] = set()
        """Roots deleted while they had replies."""
        self.pages_left: int | None = None
        self.seconds = 0.0

    def say(self, author: Author, text: str = "hello", **where: object) -> Ts:
        self.seconds += 1
        ts = ts_at(self.seconds)
        self.said[ts] = replace(Said(ts, author, text), **where)  # type: ignore[arg-type]
        return ts

    def edit(self, ts: Ts, text: str) -> None:
        self.seconds += 1
        self.said[ts] = replace(self.said[ts], text=text, edited=ts_at(self.seconds))

    def delete(self, ts: Ts) -> None:
        del self.said[ts]
        if any(one.root == ts for one in self.said.values()):
            self.tombstones.add(ts)

    def replies(self, root: Ts) -> list[Said]:
        return self._sorted(one for one in self.said.values() if one.root == root)

    def top_level(self) -> list[Said]:
        return self._sorted(one for one in self.said.values() if one.root is None)

    # What a scan calls.

    async def identity(self) -> Me:
        return Me()

    async def identify(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        return tuple(messages)

    async def read_part(
        self, channel: str, *, oldest: Ts | None, latest: Ts | None, tick: str
    ) -> WindowRead:
        shown = [one for one in self.said.values() if one.root is None or one.broadcast]
        found = [self._message(one, tick) for one in shown]
        found += [self._tombstone(ts, tick) for ts in self.tombstones]
        window = sorted(
            (
                one
                for one in found
                if micros(oldest or ts_at(0)) < micros(one.ts)
                and (latest is None or micros(one.ts) < micros(latest))
            ),
            key=lambda one: micros(one.ts),
        )
        taken = self._spend(len(window), HISTORY_PAGE, "conversations.history")
        if taken >= len(window):
            return WindowRead(messages=tuple(window))
        tail = tuple(window[len(window) - taken :])
        return WindowRead(messages=tail, left=(tail[1:] or tail)[0].ts, limited=_limited())

    async def read_thread(
        self, channel: str, root: Ts, *, oldest: Ts | None, tick: str
    ) -> ThreadRead:
        if root in self.tombstones:
            self._spend(1, THREAD_PAGE, "conversations.replies")
            return ThreadRead(replies=(), root=self._tombstone(root, tick))
        if root not in self.said:
            self._spend(1, THREAD_PAGE, "conversations.replies")
            raise ThreadGone("conversations.replies", channel=channel, thread_ts=root)
        found = tuple(
            self._message(one, tick)
            for one in self.replies(root)
            if micros(one.ts) > micros(oldest or ts_at(0))
        )
        taken = self._spend(len(found), THREAD_PAGE, "conversations.replies")
        return ThreadRead(
            replies=found[:taken],
            root=self._message(self.said[root], tick),
            limited=_limited() if taken < len(found) else None,
        )

    def _spend(self, size: int, page: int, method: str) -> int:
        """How many of so many messages the budget lets through; at least one page is asked for."""
        pages = max(-(-size // page), 1)
        if self.pages_left is None:
            return size
        if self.pages_left == 0:
            raise RateLimited(method, retry_after=1)
        allowed = min(pages, self.pages_left)
        self.pages_left -= allowed
        return min(allowed * page, size)

    def _message(self, one: Said, tick: str) -> Message:
        replies = self.replies(one.ts)
        summary = (
            ThreadSummary(reply_count=len(replies), latest_reply=replies[-1].ts)
            if replies
            else None
        )
        return message(
            one.ts,
            one.author,
            one.text,
            thread=one.root or (one.ts if replies else None),
            subtype="thread_broadcast" if one.broadcast else None,
            edited=one.edited,
            tick=tick,
            summary=summary,
        )

    def _tombstone(self, ts: Ts, tick: str) -> Message:
        gone = message(ts, SYSTEM, "", thread=ts, subtype="tombstone", tick=tick)
        return gone.model_copy(update={"change": "deleted"})

    @staticmethod
    def _sorted(found: Iterable[Said]) -> list[Said]:
        return sorted(found, key=lambda one: micros(one.ts))


def _limited() -> RateLimited:
    return RateLimited("a method", retry_after=1)
