"""One pass over a channel: history once, and a call per thread that changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sayso.agents.polling.rules import (
    Addressing,
    Adjacency,
    Batch,
    Where,
    channel_batch,
    is_worth_reading,
    new_posts,
    thread_batch,
    trigger_answer,
)
from sayso.agents.polling.state import BEGINNING, Progress, Watch, new_watch
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import RateLimited, ThreadGone
from sayso.connectors.slack.mrkdwn import links, mentions
from sayso.schemas.slack import Message
from sayso.schemas.ts import Ts, just_before, micros


@dataclass(frozen=True, kw_only=True)
class Slack:
    """One org's Slack: its client and what may be read."""

    client: SlackClient
    suggestions: str | None
    conversations: frozenset[str]
    adjacency: Adjacency


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What one pass found."""

    channel: Batch
    threads: Mapping[Ts, Batch] = field(default_factory=dict)
    new_watches: tuple[Watch, ...] = ()
    gone: frozenset[Ts] = frozenset()
    """Threads whose root is no more."""
    retry_after: float | None = None
    note: str | None = None

    @property
    def replies(self) -> tuple[Message, ...]:
        """Replies to be settled, each once, oldest first."""
        return _ordered(one for batch in self._batches() for one in batch.replies)

    @property
    def others(self) -> tuple[Message, ...]:
        """Other messages, each once, oldest first."""
        return _ordered(one for batch in self._batches() for one in batch.others)

    def _batches(self) -> tuple[Batch, ...]:
        return (self.channel, *self.threads.values())


@dataclass(frozen=True, kw_only=True)
class _Us(Addressing):
    channel: str
    user_id: str

    def mentions(self, text: str) -> bool:
        return mentions(text, self.user_id)

    def linked(self, text: str) -> frozenset[Ts]:
        here = [link for link in links(text) if link.channel == self.channel]
        return frozenset(ts for link in here for ts in (link.ts, link.thread_ts) if ts)


async def read_channel(
    slack: Slack, where: Where, progress: Progress, watches: Mapping[Ts, Watch]
) -> Scan:
    """Read the channel after its cursor and each changed thread after its own.

    One history window reaches back to the oldest watched root: it returns the `latest_reply` of
    every root, so that a quiet thread costs no call. Raises SlackError.
    """
    client = slack.client
    me = await client.identity()
    window = await client.read_window(
        where.channel, oldest=_oldest(progress, watches), tick=where.tick
    )
    fresh = tuple(new_watch(post.ts, post.text) for post in new_posts(window, watches))
    watched = {**watches, **{watch.thread: watch for watch in fresh}}
    roots = {message.ts: message for message in window if message.ts in watched}
    threads: dict[Ts, Batch] = {}
    gone: set[Ts] = set()
    limited: RateLimited | None = None
    for root, watch in watched.items():
        if not is_worth_reading(watch, roots.get(root)):
            continue
        try:
            replies = await _read_thread(client, where, watch, gone)
        except RateLimited as error:
            # What is read so far is published; the other threads keep their cursors.
            limited = error
            break
        threads[root] = thread_batch(watch, replies, where=where)
    scan = Scan(
        channel=channel_batch(
            progress,
            window,
            where=where,
            watches=watched,
            addressing=_Us(channel=where.channel, user_id=me.user_id),
            adjacency=slack.adjacency,
        ),
        threads=threads,
        new_watches=fresh,
        gone=frozenset(gone),
        retry_after=limited.retry_after if limited else None,
        note=f"rate limited on {limited.method}" if limited else None,
    )
    return await _identified(client, scan)


async def read_trigger(slack: Slack, where: Where, ts: Ts, watches: Mapping[Ts, Watch]) -> Scan:
    """Read one message and nothing else."""
    client = slack.client
    me = await client.identity()
    message = await client.read_message(where.channel, ts, tick=where.tick)
    if message is None:
        note = f"there is no message {ts} in {where.channel}"
        return Scan(channel=Batch(newest=BEGINNING, edits=BEGINNING), note=note)
    us = _Us(channel=where.channel, user_id=me.user_id)
    watch = watches.get(message.thread_ts or "")
    message = trigger_answer(message, watch, us, watches)
    is_reply = message.answers is not None
    batch = Batch(
        replies=(message,) if is_reply else (),
        others=() if is_reply else (message,),
        newest=BEGINNING,
        edits=BEGINNING,
    )
    return await _identified(client, Scan(channel=batch))


def _oldest(progress: Progress, watches: Mapping[Ts, Watch]) -> Ts | None:
    edges = [progress.cursor, *(just_before(root) for root in watches)]
    oldest = min(edges, key=micros)
    return None if oldest == BEGINNING else oldest


async def _read_thread(
    client: SlackClient, where: Where, watch: Watch, gone: set[Ts]
) -> tuple[Message, ...]:
    try:
        read = await client.read_thread(
            where.channel, watch.thread, oldest=watch.progress.cursor, tick=where.tick
        )
    except ThreadGone:
        gone.add(watch.thread)
        return ()
    if read.root is not None and read.root.change == "deleted":
        # A post that was withdrawn is not answered any more; what is outstanding goes with it.
        gone.add(watch.thread)
        return ()
    return read.replies


async def _identified(client: SlackClient, scan: Scan) -> Scan:
    """With the authors of replies looked up; who else writes does not matter to a decision."""
    known = {one.ts: one for one in await client.identify(scan.replies)}

    def named(batch: Batch) -> Batch:
        return replace(batch, replies=tuple(known[one.ts] for one in batch.replies))

    return replace(
        scan,
        channel=named(scan.channel),
        threads={root: named(batch) for root, batch in scan.threads.items()},
    )


def _ordered(messages: Iterable[Message]) -> tuple[Message, ...]:
    once: dict[Ts, Message] = {}
    for message in messages:
        once.setdefault(message.ts, message)
    return tuple(once[ts] for ts in sorted(once, key=micros))
