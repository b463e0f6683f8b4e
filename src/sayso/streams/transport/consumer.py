"""The reading side: a message per partition and fetch, commits that trail what is delivered."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final

from faust.transport.drivers import aiokafka
from faust.types import TP, ConsumerMessage, Message

from sayso.streams.transport.fetch import Fetch, Records
from sayso.streams.transport.ledger import Ledger

FETCH_RECORDS: Final = 500
"""The most records of one message, where a topic has no limit of its own."""
_BUSY_WAIT: Final = 0.05
"""Seconds to wait for data while partitions are left out for being full; they may want more."""


class FetchConsumer(aiokafka.Consumer):
    """Faust's consumer, fed by the fetch and committing by the ledger."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ledger = Ledger()
        self._room = asyncio.Event()

    async def getmany(
        self,
        timeout: float,  # noqa: ASYNC109 - Faust calls it by this name
    ) -> AsyncIterator[tuple[TP, Message]]:
        """Yield what is there, partition by partition in turn."""
        if not self.flow_active:
            await self.wait(self.can_resume_flow.wait())
        active = self._get_active_partitions()
        if not active:
            await self._until_room(timeout)
            return
        generation = self.app.consumer_generation_id
        wait = min(timeout, _BUSY_WAIT) if self._buffered_partitions else timeout
        fetched = await self._getmany(active, wait)
        if not fetched or self.should_stop:
            return
        if not self.flow_active:
            # Whatever the fetcher gave out meanwhile is read again from the committed offsets.
            await self.perform_seek()
            return
        slices = _in_turn(fetched, self._most)
        for tp, records in slices:
            if not self.flow_active or generation != self.app.consumer_generation_id:
                await self._put_back([(tp, records), *slices])
                break
            message = _message(tp, records, generation)
            if tp.topic in self.app.topics.acking_topics:
                self._ledger.hand_out(message)
            yield tp, message

    def on_buffer_drop(self, tp: TP) -> None:
        """Read a partition again whose buffer was full."""
        super().on_buffer_drop(tp)
        self._room.set()

    def resume_partitions(self, tps: Any) -> None:
        """Read partitions again."""
        super().resume_partitions(tps)
        self._room.set()

    def ack(self, message: Message) -> bool:
        """Take an agent's word that a fetch is settled."""
        if message.acked and message not in self._unacked_messages:
            return False
        message.acked = True
        self._unacked_messages.discard(message)
        self._ledger.acknowledge(message.tp)
        self._n_acked += 1
        return True

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Commit what is settled while the partitions are still ours, then forget them."""
        await self.commit()
        await super().on_partitions_revoked(revoked)
        self._ledger.forget(revoked)

    def _most(self, topic: str) -> int:
        limits: Mapping[str, int] = getattr(self.app, "fetch_limits", {})
        return limits.get(topic, FETCH_RECORDS)

    async def behind(self) -> dict[TP, int | None]:
        """Partitions with records unread or uncommitted, and the offset committed of each."""
        unread = await self._thread.call_thread(self._unread)
        acking = self.app.topics.acking_topics
        return {
            tp: self._committed_offset[tp]
            for tp in self.assignment()
            if tp.topic in acking and (tp in unread or self._is_uncommitted(tp))
        }

    def _is_uncommitted(self, tp: TP) -> bool:
        if self._ledger.is_waiting(tp):
            return True
        settled = self._ledger.committable(tp)
        return settled is not None and settled != self._committed_offset[tp]

    async def _unread(self) -> set[TP]:
        # In the client's thread, whose state it is.
        consumer = self._thread._ensure_consumer()
        unread = set()
        for tp in consumer.assignment():
            state = consumer._subscription.subscription.assignment.state_value(tp)
            if state is None or not state.has_valid_position or state.highwater is None:
                continue
            if state.position < state.highwater:
                unread.add(TP(tp.topic, tp.partition))
        return unread

    async def _put_back(self, rest: Iterable[tuple[TP, Records]]) -> None:
        """Have what was fetched and not handed out read again.

        A rebalance seeks too, but it may have done so before these were fetched: the client would
        go on behind them, and they would be lost.
        """
        spans: dict[TP, tuple[int, int]] = {}
        for tp, records in rest:
            first, _ = spans.get(tp, (records[0].offset, 0))
            spans[tp] = first, records[-1].offset + 1
        await self._thread.call_thread(self._seek_back, spans)

    async def _seek_back(self, spans: Mapping[TP, tuple[int, int]]) -> None:
        # Runs in the client's thread without waiting, so that no other seek comes between.
        consumer = self._thread._ensure_consumer()
        for tp, (first, after) in spans.items():
            state = consumer._subscription.subscription.assignment.state_value(tp)
            # A position before `after` was sought since, and says better where to go on. One behind
            # it was not: markers of transactions and what compaction took are passed over.
            if state is not None and state.has_valid_position and state.position >= after:
                consumer.seek(tp, first)

    async def _until_room(self, seconds: float) -> None:
        self._room.clear()
        if not self._get_active_partitions():
            await self.wait_first(self._room.wait(), timeout=seconds)

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Nothing to note: the ledger holds messages in order, not single offsets."""

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        return (tp for tp in self._ledger if topics is None or tp in topics or tp.topic in topics)

    def _new_offset(self, tp: TP) -> int | None:
        return self._ledger.committable(tp)

    async def _commit_offsets(
        self, offsets: Mapping[TP, int], start_new_transaction: bool = True
    ) -> bool:
        # The offsets were taken before this waits, so what is sent while it waits delays nothing.
        stores = [table.data for table in self.app.tables.values()]
        for store in stores:
            store.begin_write()
        await self.app.producer.flush()
        for store in stores:
            store.end_write()
        mine = {tp: offset for tp, offset in offsets.items() if tp in self.assignment()}
        if not mine or not await self._commit(mine):
            return False
        self._committed_offset.update(mine)
        self.app.monitor.on_tp_commit(mine)
        return True


def _in_turn(fetched: Mapping[TP, Records], most: Any) -> Iterator[tuple[TP, Records]]:
    """Slices of at most so many records, one of each partition after the other."""
    slices = {
        tp: iter([records[at : at + size] for at in range(0, len(records), size)])
        for tp, records in fetched.items()
        for size in (most(tp.topic),)
    }
    while slices:
        for tp, rest in tuple(slices.items()):
            records = next(rest, None)
            if records is None:
                del slices[tp]
            else:
                yield tp, records


def _message(tp: TP, records: Records, generation: int) -> ConsumerMessage:
    last = records[-1]
    return ConsumerMessage(
        tp.topic,
        tp.partition,
        last.offset,
        last.timestamp / 1000,
        last.timestamp_type,
        None,
        None,
        Fetch(records),  # type: ignore[arg-type]
        None,
        tp=tp,
        generation_id=generation,
    )
