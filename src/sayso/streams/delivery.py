"""One record on its way through an agent: what it is, what it sends, and when that is safe."""

import asyncio
from asyncio import Future
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from sayso.schemas.feedback import Position
from sayso.schemas.headers import cloud_headers
from sayso.schemas.output import Output
from sayso.schemas.record import Record
from sayso.streams.codec import encode
from sayso.streams.errors import PartitionLost
from sayso.streams.membership import Membership

current: Final[ContextVar["Delivery | None"]] = ContextVar("current", default=None)
"""The delivery that is being processed in this task."""


class Outputs:
    """The topics an app writes to, by their name without the prefix."""

    def __init__(self, topics: Mapping[str, Any]) -> None:
        self._topics = topics

    def __getitem__(self, name: str) -> Any:
        return self._topics[name]


class Delivery:
    """One delivery of one record.

    What it sends is collected in `pending`; the source offset moves only after `settle()`.
    """

    def __init__(self, *, membership: Membership, event: Any, outputs: Outputs) -> None:
        self._membership = membership
        self._message = event.message
        self._outputs = outputs
        self.pending: list[Future[Any]] = []

    @property
    def position(self) -> Position:
        """Where the record stands; the topic without its prefix is the same in every deployment."""
        message = self._message
        return Position(topic=message.topic, partition=message.partition, offset=message.offset)

    @property
    def timestamp(self) -> datetime:
        """When the record was written, by its producer or broker."""
        return datetime.fromtimestamp(self._message.timestamp, UTC)

    @property
    def is_mine(self) -> bool:
        """False once a rebalance took the partition away, or gave it back, in the meantime.

        The record is then delivered again to whoever owns the partition; what this delivery
        learned since must not be written any more.
        """
        return self._membership.holds(self._message.generation_id)

    def insist_mine(self) -> None:
        """Raise PartitionLost unless the partition is still ours; asked before every write."""
        if not self.is_mine:
            raise PartitionLost

    async def confirm_mine(self) -> None:
        """The same, asked of the broker: after every long wait and right before a call that counts.

        Only the broker knows whether a worker that was stopped meanwhile still has the partition.
        Raises PartitionLost.
        """
        if not await self._membership.confirm(self._message.generation_id):
            raise PartitionLost

    async def send(self, outputs: Iterable[Output]) -> None:
        """Send what rules gave, in their order."""
        for output in outputs:
            await self.emit(output.topic, output.record, key=output.key)

    async def emit(self, topic: str, record: Record, *, key: str | None = None) -> None:
        """Send a record; `key` where the topic is keyed by something else than the record.

        Raises PartitionLost.
        """
        self.insist_mine()
        future = await self._outputs[topic].send(
            key=(key or record.key).encode(),
            value=encode(record),
            headers=cloud_headers(record),
        )
        self.pending.append(future)

    async def settle(self) -> None:
        """Wait until the broker has everything sent and written so far.

        Raises the first delivery error.
        """
        pending, self.pending[:] = list(self.pending), []
        if pending:
            await asyncio.gather(*pending)
