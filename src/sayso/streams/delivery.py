"""One record on its way through an agent: what it is, what it sends, and when that is safe."""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from aiokafka.structs import ConsumerRecord
from faust.types import TP

from sayso.schemas.feedback import Position
from sayso.schemas.output import Output
from sayso.schemas.record import Record
from sayso.streams.errors import PartitionLost
from sayso.streams.liveness import Liveness
from sayso.streams.membership import Membership
from sayso.streams.outputs import Outputs

current: Final[ContextVar["Delivery"]] = ContextVar("current")
"""The delivery that is being processed in this task."""


class Delivery:
    """One delivery of one record.

    What it sends is counted in `sent`. The source offset is committed only once the broker has all
    of it; `settle()` waits for that where an order matters.
    """

    def __init__(
        self,
        *,
        membership: Membership,
        liveness: Liveness,
        record: ConsumerRecord[bytes, bytes],
        generation: int | None,
        outputs: Outputs,
    ) -> None:
        self._membership = membership
        self._liveness = liveness
        self._generation = generation
        self._outputs = outputs
        self.record = record
        self.sent = outputs.new_sent()

    @property
    def generation(self) -> int | None:
        """Of the consumer group, when the record was fetched. Tables are anew in each."""
        return self._generation

    @property
    def partition(self) -> int:
        """The partition of the record, and so of every table row that it may touch."""
        number: int = self.record.partition
        return number

    @property
    def position(self) -> Position:
        """Where the record stands; the topic without its prefix is the same in every deployment."""
        record = self.record
        return Position(topic=record.topic, partition=record.partition, offset=record.offset)

    @property
    def timestamp(self) -> datetime:
        """When the record was written, by its producer or broker."""
        return datetime.fromtimestamp(self.record.timestamp / 1000, UTC)

    @property
    def is_mine(self) -> bool:
        """False once a rebalance took the partition away, or gave it back, in the meantime.

        The record is then delivered again to whoever owns the partition; what this delivery
        learned since must not be written any more.
        """
        return self._membership.holds(self._generation)

    def insist_mine(self) -> None:
        """Raise PartitionLost unless the partition is still ours; asked before every write."""
        if not self.is_mine:
            raise PartitionLost

    async def confirm_mine(self) -> None:
        """The same, asked of the broker: after every long wait and right before a call that counts.

        Only the broker knows whether a worker that was stopped meanwhile still has the partition.
        Raises PartitionLost.
        """
        if not await self._membership.confirm(self._generation):
            raise PartitionLost

    async def pause(self, seconds: float) -> None:
        """Sleep because something outside asks for it; nobody takes the worker for stuck then."""
        self._liveness.pausing(TP(self.record.topic, self.record.partition), seconds)
        await asyncio.sleep(seconds)

    async def send(self, outputs: Iterable[Output]) -> None:
        """Send what rules gave, in their order."""
        for output in outputs:
            await self.emit(output.topic, output.record, key=output.key)

    async def emit(self, topic: str, record: Record, *, key: str | None = None) -> None:
        """Send a record; `key` where the topic is keyed by something else than the record.

        Raises PartitionLost, and NotDelivered for one that its topic cannot take.
        """
        self.insist_mine()
        self._outputs.produce(topic, record, sent=self.sent, key=key)

    async def settle(self) -> None:
        """Wait until the broker has everything sent and written so far.

        Raises NotDelivered or NotDeliveredYet.
        """
        await self.sent.wait()
