"""One pass over a channel: history once, and a call per thread that changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sayso.agents.polling.reading import (
    Addressing,
    Adjacency,
    Batch,
    Bounds,
    Stretch,
    Where,
    bounds_to_read,
)
from sayso.agents.polling.rules import (
    channel_batch,
    is_worth_reading,
    new_posts,
    thread_batch,
    together,
    trigger_answer,
)
from sayso.agents.polling.state import BEGINNING, ChannelState, Watch, new_watch
from sayso.connectors.slack.client import SlackClient, ThreadRead
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
    left: Ts | None = None
    """Where reading the channel was cut short: older messages come with the next tick."""
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
    slack: Slack, where: Where, state: ChannelState, watches: Mapping[Ts, Watch]
) -> Scan:
    """Read the channel after its cursor and each changed thread after its own.

    One history window reaches back to the oldest watched root: it returns the `latest_reply` of
    every root, so that a quiet thread costs no call. What a rate limit leaves unread is named in
    the scan, and everything read until then counts. Raises SlackError.
    """
    client = slack.client
    me = await client.identity()
    history = await _read_history(client, where, state)
    posts = [post for part in history.stretches for post in new_posts(part.messages, watches)]
    fresh = {post.ts: new_watch(post.ts, post.text) for post in posts}
    watched = {**watches, **fresh}
    threads = await _read_threads(client, where, history, watched)
    addressing = _Us(channel=where.channel, user_id=me.user_id)
    batches = [
        channel_batch(
            state.progress,
            part,
            where=where,
            watches=watched,
            addressing=addressing,
            adjacency=slack.adjacency,
        )
        for part in history.stretches
    ]
    limited = history.limited or threads.limited
    scan = Scan(
        channel=together(batches),
        threads=threads.batches,
        new_watches=tuple(fresh.values()),
        gone=frozenset(threads.gone),
        left=history.left,
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


@dataclass(frozen=True, kw_only=True)
class _History:
    stretches: tuple[Stretch, ...]
    left: Ts | None
    """Messages of the channel older than this are still to be read in this round."""
    limited: RateLimited | None

    def root(self, ts: Ts) -> Message | None:
        for part in self.stretches:
            for message in part.messages:
                if message.ts == ts:
                    return message
        return None

    def covers(self, ts: Ts) -> bool:
        return any(part.covers(ts) for part in self.stretches)


async def _read_history(client: SlackClient, where: Where, state: ChannelState) -> _History:
    stretches: list[Stretch] = []
    left: Ts | None = None
    limited: RateLimited | None = None
    for bounds in bounds_to_read(state.progress, state.roots, state.sweep_to):
        oldest = None if bounds.oldest == BEGINNING else bounds.oldest
        try:
            read = await client.read_part(
                where.channel, oldest=oldest, latest=bounds.latest, tick=where.tick
            )
        except RateLimited as error:
            if not stretches:
                raise
            # What the tick before left is left still.
            left, limited = bounds.latest, error
            break
        left, limited = read.left, read.limited
        edge = bounds.oldest if left is None else just_before(left)
        covered = Bounds(oldest=edge, latest=bounds.latest)
        stretches.append(Stretch(messages=read.messages, bounds=covered))
        if limited is not None:
            break
    return _History(stretches=tuple(stretches), left=left, limited=limited)


@dataclass(kw_only=True)
class _Threads:
    batches: dict[Ts, Batch] = field(default_factory=dict)
    gone: set[Ts] = field(default_factory=set)
    limited: RateLimited | None = None


async def _read_threads(
    client: SlackClient, where: Where, history: _History, watched: Mapping[Ts, Watch]
) -> _Threads:
    result = _Threads()
    roots = {ts: history.root(ts) for ts in watched}
    due = [
        watch
        for ts, watch in watched.items()
        if (watch.progress.outstanding or history.covers(ts)) and is_worth_reading(watch, roots[ts])
    ]
    # What is new comes before what was refused already, so that no retry starves it.
    for watch in sorted(due, key=lambda one: bool(one.progress.outstanding)):
        try:
            read = await client.read_thread(
                where.channel, watch.thread, oldest=watch.progress.cursor, tick=where.tick
            )
        except ThreadGone:
            read, is_gone = ThreadRead(replies=(), root=None), True
        except RateLimited as error:
            # The threads not reached keep their cursors.
            result.limited = error
            break
        else:
            is_gone = read.root is not None and read.root.change == "deleted"
        # A post that was withdrawn is not answered any more; what is outstanding goes with it, and
        # the watch ends once that is settled.
        replies = () if is_gone else read.replies
        if is_gone and not watch.progress.outstanding:
            result.gone.add(watch.thread)
        whole = is_gone or read.limited is None
        result.batches[watch.thread] = thread_batch(watch, replies, where=where, whole=whole)
        if read.limited is not None:
            result.limited = read.limited
            break
    return result


async def _identified(client: SlackClient, scan: Scan) -> Scan:
    """With the authors of replies looked up; who else writes does not matter to a decision.

    Only its profile may tell that an author is a bot: what it wrote is then no reply, and nothing
    will settle it.
    """
    known = {one.ts: one for one in await client.identify(scan.replies)}

    def named(batch: Batch) -> Batch:
        found = [known[one.ts] for one in batch.replies]
        machines = [one for one in found if one.change != "deleted" and not one.author.is_person]
        return replace(
            batch,
            replies=tuple(one for one in found if one not in machines),
            others=(*batch.others, *(_unanswering(one) for one in machines)),
        )

    return replace(
        scan,
        channel=named(scan.channel),
        threads={root: named(batch) for root, batch in scan.threads.items()},
    )


def _unanswering(message: Message) -> Message:
    return message.model_copy(update={"answers": None})


def _ordered(messages: Iterable[Message]) -> tuple[Message, ...]:
    once: dict[Ts, Message] = {}
    for message in messages:
        once.setdefault(message.ts, message)
    return tuple(once[ts] for ts in sorted(once, key=micros))
