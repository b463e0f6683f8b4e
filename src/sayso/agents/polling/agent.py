"""The owner of each polled channel: reads it on a tick, and moves its cursors on outcomes."""

import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from sayso.agents.polling.reading import Where
from sayso.agents.polling.rules import channel_after, watch_after
from sayso.agents.polling.scan import Scan, Slack, read_channel, read_trigger
from sayso.agents.polling.state import ChannelState, Watch, new_watch
from sayso.connectors.slack.errors import RateLimited, SlackError
from sayso.schemas.effect import EffectResult
from sayso.schemas.keys import channel_key, key
from sayso.schemas.tick import (
    ReplySettled,
    Tick,
    TickFailed,
    TickRead,
    TickResult,
    TickStarted,
)
from sayso.schemas.ts import Ts, micros
from sayso.streams.app import Pipeline
from sayso.streams.delivery import Delivery
from sayso.streams.errors import UnreadableState
from sayso.streams.tables import ModelTable

CHANNELS: Final = "channels"
WATCHES: Final = "watches"
_TICKS_KEPT: Final = 64
_STALE: Final = timedelta(minutes=10)
"""A scheduled tick older than this is skipped: newer ones follow it."""


class PollingAgent:
    """Polls Slack, keyed by org/channel."""

    def __init__(self, pipeline: Pipeline, *, orgs: Mapping[str, Slack]) -> None:
        self._orgs = orgs
        self._worker = socket.gethostname()
        self._channels = ModelTable(pipeline.app, name=CHANNELS, model=ChannelState)
        self._watches = ModelTable(pipeline.app, name=WATCHES, model=Watch)
        pipeline.consume("ticks", Tick, self.on_tick, name="polling.tick", fetch=1, parks=False)
        pipeline.consume(
            "tick-results", TickResult, self.on_result, name="polling.cursor", parks=False
        )
        pipeline.consume(
            "effect-results", EffectResult, self.on_effect, name="polling.watch", parks=False
        )

    async def on_tick(self, tick: Tick, delivery: Delivery) -> None:
        """Read the channel and publish what is new; a tick that is done sends its result again."""
        try:
            state = self._channels.get(tick.key) or ChannelState()
        except UnreadableState as error:
            await delivery.emit("tick-results", _failed(tick, str(error)))
            return
        if tick.id in state.ticks:
            if state.last_read is not None and state.last_read.tick == tick.id:
                await delivery.emit("tick-results", state.last_read)
            return
        if tick.cause == "schedule" and datetime.now(UTC) - tick.at > _STALE:
            await self._done(tick, _noted(tick, "skipped: newer ticks follow"), delivery)
            return
        await delivery.emit("tick-results", _started(tick, self._worker))
        slack = self._orgs.get(tick.org)
        refusal = _not_read(tick, slack)
        if slack is None or refusal is not None:
            await self._done(tick, _noted(tick, refusal or "not read"), delivery)
            return
        await self._poll(tick, slack, state, delivery)

    async def _poll(
        self, tick: Tick, slack: Slack, state: ChannelState, delivery: Delivery
    ) -> None:
        where = Where(org=tick.org, channel=tick.channel, tick=tick.id)
        calls = slack.client.calls
        try:
            watches = self._watched(tick, state)
            if tick.trigger_ts is not None:
                scan = await read_trigger(slack, where, tick.trigger_ts, watches)
            else:
                scan = await read_channel(slack, where, state, watches)
            await delivery.confirm_mine()
        except RateLimited as error:
            note = f"rate limited on {error.method}"
            read = _noted(tick, note, api_calls=slack.client.calls - calls)
            read = read.model_copy(update={"retry_after": error.retry_after})
            await self._done(tick, read, delivery)
            return
        except (SlackError, UnreadableState) as error:
            await delivery.emit("tick-results", _failed(tick, str(error)))
            await self._done(tick, None, delivery)
            return
        await self._publish(tick, scan, delivery, api_calls=slack.client.calls - calls)

    async def _publish(self, tick: Tick, scan: Scan, delivery: Delivery, *, api_calls: int) -> None:
        state = self._channels.get(tick.key) or ChannelState()
        replies, others = scan.replies, scan.others
        if state.blocked_by is not None and tick.trigger_ts is None:
            replies = tuple(one for one in replies if one.ts == state.blocked_by)
            others = ()
        for message in others:
            await delivery.emit("slack.messages", message)
        await delivery.settle()
        # Replies enter the state before they are published: their outcomes may be back at once.
        if state.blocked_by is None and tick.trigger_ts is None:
            self._move(tick, scan)
            await delivery.settle()
        for message in replies:
            await delivery.emit("slack.messages", message)
        await delivery.settle()
        read = TickRead(
            tick=tick.id,
            org=tick.org,
            channel=tick.channel,
            replies=tuple(dict.fromkeys(one.ts for one in replies)),
            messages=len(others) + len(replies),
            api_calls=api_calls,
            retry_after=scan.retry_after,
            note=scan.note,
        )
        await self._done(tick, read, delivery)

    def _move(self, tick: Tick, scan: Scan) -> None:
        """Take a scan into the state. Rows are read anew: outcomes arrived during the scan."""
        for post in scan.new_watches:
            if self._watch(tick, post.thread) is None:
                self._watches.put(self._watch_key(tick, post.thread), post)
        for thread, batch in scan.threads.items():
            watch = self._watch(tick, thread)
            if watch is not None:
                self._watches.put(self._watch_key(tick, thread), watch_after(watch, batch))
        state = self._channels.get(tick.key) or ChannelState()
        moved = channel_after(
            state,
            scan.channel,
            born=(post.thread for post in scan.new_watches),
            gone=scan.gone,
            left=scan.left,
        )
        self._channels.put(tick.key, moved)

    async def _done(self, tick: Tick, read: TickRead | None, delivery: Delivery) -> None:
        state = self._channels.get(tick.key) or ChannelState()
        self._channels.put(
            tick.key,
            state.model_copy(
                update={"ticks": (*state.ticks, tick.id)[-_TICKS_KEPT:], "last_read": read}
            ),
        )
        if read is not None:
            await delivery.emit("tick-results", read)

    async def on_result(self, result: TickResult, delivery: Delivery) -> None:
        """Move the cursor of the thread, or of the channel, that a settled reply held."""
        outcome = result.root
        if not isinstance(outcome, ReplySettled):
            return
        where = channel_key(outcome.org, outcome.channel)
        state = self._channels.get(where) or ChannelState()
        if outcome.unreadable or state.blocked_by == outcome.ts:
            blocked = outcome.ts if outcome.unreadable else None
            state = state.model_copy(update={"blocked_by": blocked})
            self._channels.put(where, state)
        if outcome.status not in ("processed", "ignored"):
            return
        watch_key = key(outcome.org, outcome.channel, outcome.thread)
        watch = self._watches.get(watch_key) if outcome.thread != outcome.ts else None
        if watch is not None:
            moved = watch.progress.settled(outcome.ts)
            self._watches.put(watch_key, watch.model_copy(update={"progress": moved}))
        else:
            progress = state.progress.settled(outcome.ts)
            self._channels.put(where, state.model_copy(update={"progress": progress}))

    async def on_effect(self, result: EffectResult, delivery: Delivery) -> None:
        """Watch a thread from the moment we posted its root."""
        action = result.action
        slack = self._orgs.get(result.org)
        if (
            result.state != "done"
            or result.ts is None
            or action.thread_ts is not None
            or slack is None
            or action.channel != slack.suggestions
        ):
            return
        where = channel_key(result.org, action.channel)
        watch_key = key(result.org, action.channel, result.ts)
        if self._watches.get(watch_key) is None:
            self._watches.put(watch_key, new_watch(result.ts, action.text))
        state = self._channels.get(where) or ChannelState()
        roots = tuple(sorted({*state.roots, result.ts}, key=micros))
        self._channels.put(where, state.model_copy(update={"roots": roots}))

    def _watched(self, tick: Tick, state: ChannelState) -> dict[Ts, Watch]:
        watches = {}
        for root in state.roots:
            watch = self._watch(tick, root)
            if watch is None:
                raise UnreadableState(f"watch {self._watch_key(tick, root)} is missing")
            watches[root] = watch
        return watches

    def _watch(self, tick: Tick, root: Ts) -> Watch | None:
        return self._watches.get(self._watch_key(tick, root))

    @staticmethod
    def _watch_key(tick: Tick, root: Ts) -> str:
        return key(tick.org, tick.channel, root)


def _not_read(tick: Tick, slack: Slack | None) -> str | None:
    if slack is None:
        return f"orgs.{tick.org} is not in this worker's settings"
    if slack.suggestions != tick.channel:
        return f"{tick.channel} is not the suggestions channel of orgs.{tick.org}"
    if tick.channel not in slack.conversations:
        return (
            f"{tick.channel} is not among orgs.{tick.org}.scan.conversations, so it is not read; "
            "add it there"
        )
    return None


def _started(tick: Tick, worker: str) -> TickStarted:
    return TickStarted(tick=tick.id, org=tick.org, channel=tick.channel, worker=worker)


def _failed(tick: Tick, refusal: str) -> TickFailed:
    return TickFailed(tick=tick.id, org=tick.org, channel=tick.channel, refusal=refusal)


def _noted(tick: Tick, note: str, *, api_calls: int = 0) -> TickRead:
    return TickRead(
        tick=tick.id, org=tick.org, channel=tick.channel, note=note, api_calls=api_calls
    )
