"""Slack for one org: reading windows, threads and messages, and posting once."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from pydantic import SecretStr

from sayso.connectors.slack import posts
from sayso.connectors.slack.errors import RateLimited, ThreadGone
from sayso.connectors.slack.identity import Identity, read_identity
from sayso.connectors.slack.normalise import normalise
from sayso.connectors.slack.pages import Raw, read_pages, read_some_pages
from sayso.connectors.slack.people import People
from sayso.connectors.slack.posts import Posted
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import Before, WebApi
from sayso.schemas.effect import PostMessage
from sayso.schemas.slack import Message
from sayso.schemas.ts import Ts, checked_ts, from_micros, micros

_HISTORY: Final = "conversations.history"
_REPLIES: Final = "conversations.replies"
_AHEAD: Final = 300
"""Seconds by which the end of a window lies beyond our clock, which may run behind Slack's."""


@dataclass(frozen=True, kw_only=True)
class ThreadRead:
    """A thread as one pass saw it."""

    replies: tuple[Message, ...]
    """In the order of ts, the root excluded."""
    root: Message | None
    """None where Slack left it out; `change` is `deleted` for a root that was deleted."""
    limited: RateLimited | None = None
    """What cut the reading short; the replies are then the oldest of those asked for."""


@dataclass(frozen=True, kw_only=True)
class WindowRead:
    """A stretch of a channel as one pass saw it."""

    messages: tuple[Message, ...]
    """In the order of ts, each once."""
    left: Ts | None = None
    """Messages older than this are still to be read; None when all were."""
    limited: RateLimited | None = None
    """What cut the reading short."""


class SlackClient:
    """Slack for one org. An async context manager, or `close()` it.

    Every method raises SlackError, and ValueError for a ts that Slack would misread. RateLimited
    is raised at once and the method then refuses further calls until Slack takes them again;
    other methods go on.
    """

    def __init__(
        self,
        *,
        org: str,
        token: SecretStr,
        settings: SlackSettings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._org = org
        self._settings = settings
        self._clock = clock
        self._web = WebApi(token=token, settings=settings)
        self._people = People(web=self._web)
        self._identity: Identity | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._web.close()

    @property
    def calls(self) -> int:
        """Web API calls sent over HTTP so far."""
        return self._web.calls

    async def identity(self) -> Identity:
        """Who we are, asked once."""
        if self._identity is None:
            self._identity = await read_identity(self._web)
        return self._identity

    async def scopes(self) -> frozenset[str]:
        """The scopes the token has now; empty where the server does not name them."""
        _, headers = await self._web.read_with_headers("auth.test")
        named = headers.get("x-oauth-scopes", "").split(",")
        return frozenset(scope.strip() for scope in named if scope.strip())

    async def read_window(
        self, channel: str, *, oldest: str | None, tick: str
    ) -> tuple[Message, ...]:
        """The channel's messages after `oldest` (exclusive), in the order of ts, each once.

        All pages are read before anything is returned, within bounds that do not move meanwhile.
        """
        part = await self.read_part(channel, oldest=oldest, latest=None, tick=tick)
        if part.limited is not None:
            raise part.limited
        return part.messages

    async def read_part(
        self, channel: str, *, oldest: str | None, latest: str | None, tick: str
    ) -> WindowRead:
        """The same up to `latest` (exclusive); a rate limit after the first page cuts it short.

        Slack serves a window that has a `latest` from its newest end, so what is left is older.
        """
        end = self._horizon(oldest) if latest is None else latest
        pages = await read_some_pages(
            self._web,
            _HISTORY,
            settings=self._settings,
            channel=channel,
            oldest=oldest,
            latest=end,
        )
        messages = _after(await self._normalised(pages.found, channel=channel, tick=tick), oldest)
        if latest is not None:
            messages = tuple(one for one in messages if micros(one.ts) < micros(latest))
        if pages.limited is None or not messages:
            return WindowRead(messages=messages, limited=pages.limited)
        # What stands before the oldest message is not known and may matter to its meaning, so
        # that one counts as left.
        edge = (messages[1:] or messages)[0]
        return WindowRead(messages=messages, left=edge.ts, limited=pages.limited)

    async def read_thread(
        self, channel: str, root: str, *, oldest: str | None, tick: str
    ) -> ThreadRead:
        """The replies after `oldest` (exclusive) and the root. Raises ThreadGone.

        `root` must be the root's ts: for a reply's Slack serves that reply alone.
        """
        _check(root, oldest)
        pages = await read_some_pages(
            self._web, _REPLIES, settings=self._settings, channel=channel, ts=root, oldest=oldest
        )
        messages = await self._normalised(pages.found, channel=channel, tick=tick)
        return ThreadRead(
            replies=_after((one for one in messages if one.ts != root), oldest),
            root=next((one for one in messages if one.ts == root), None),
            limited=pages.limited,
        )

    async def read_message(
        self, channel: str, ts: str, *, thread_ts: str | None = None, tick: str
    ) -> Message | None:
        """One message as it is now, or None. Name the thread of a reply where it is known."""
        _check(ts, thread_ts)
        exact = {"oldest": ts, "latest": ts, "inclusive": "true"}
        if thread_ts is None or thread_ts == ts:
            found = await read_pages(
                self._web, _HISTORY, settings=self._settings, channel=channel, **exact
            )
            if (message := await self._only(found, channel, ts, tick)) is not None:
                return message
            # not in the channel itself: a reply's own ts names that reply
            exact, thread_ts = {}, ts
        try:
            found = await read_pages(
                self._web, _REPLIES, settings=self._settings, channel=channel, ts=thread_ts, **exact
            )
        except ThreadGone:
            return None
        return await self._only(found, channel, ts, tick)

    async def identify(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages with each person's kind and name filled in, asked once per person."""
        return await self._people.identify(messages, me=await self.identity())

    async def post(
        self, action: PostMessage, *, effect_id: str, before: Before | None = None
    ) -> Posted:
        """Post once, never retried; see `posts.post`."""
        return await posts.post(self._web, action, effect_id=effect_id, before=before)

    async def find_post(
        self, action: PostMessage, *, effect_id: str, since: str | None
    ) -> Posted | None:
        """The post of that effect if it happened after `since`; see `posts.find_post`."""
        _check(since)
        return await posts.find_post(
            self._web,
            action,
            effect_id=effect_id,
            since=since,
            me=await self.identity(),
            settings=self._settings,
        )

    def _horizon(self, oldest: str | None) -> str:
        """A moment that no message has reached yet, pinned once per window."""
        latest = int(self._clock() + _AHEAD) * 1_000_000
        if oldest is not None:
            latest = max(latest, micros(oldest) + _AHEAD * 1_000_000)
        return from_micros(latest)

    async def _only(self, found: list[Raw], channel: str, ts: str, tick: str) -> Message | None:
        exact = [raw for raw in found if raw.get("ts") == ts]
        messages = await self._normalised(exact, channel=channel, tick=tick)
        return messages[0] if messages else None

    async def _normalised(
        self, found: list[Raw], *, channel: str, tick: str
    ) -> tuple[Message, ...]:
        """In the order of ts, each once: a page served twice repeats messages."""
        me = await self.identity()
        once: dict[str, Message] = {}
        for raw in found:
            message = normalise(raw, org=self._org, channel=channel, me=me, tick=tick)
            once[message.ts] = message
        return tuple(once[ts] for ts in sorted(once, key=micros))


def _check(*given: str | None) -> None:
    for ts in given:
        if ts is not None:
            checked_ts(ts)


def _after(messages: Iterable[Message], oldest: str | None) -> tuple[Message, ...]:
    """Without what a server returns although it was not asked for."""
    if oldest is None:
        return tuple(messages)
    edge = micros(oldest)
    return tuple(message for message in messages if micros(message.ts) > edge)
