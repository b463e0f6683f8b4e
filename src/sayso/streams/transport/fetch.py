"""A fetch: what one partition had ready, as one Faust message."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from aiokafka.structs import ConsumerRecord
from faust.serializers.schemas import Schema
from faust.types import AppT, Message

Records: TypeAlias = Sequence[ConsumerRecord[bytes, bytes]]
"""The records of a fetch as the client read them: raw bytes, in order, at least one."""


class Fetch:
    """A fetch on its way through the agents that read its topic.

    `offset` is that of its last record. Each agent notes how far it came, so that a commit in the
    middle of a fetch covers what every one of them has settled.
    """

    __slots__ = ("_reached", "_readers", "records")

    def __init__(self, records: Records) -> None:
        self.records = records
        self._reached: dict[str, int] = {}
        self._readers = 0

    def settle(self, reader: str, offset: int, *, readers: int) -> None:
        """Note that `reader`, one of `readers` that still work on it, settled up to `offset`."""
        if not self._readers:
            # Nobody is done with a fetch before having noted its first record.
            self._readers = readers
        self._reached[reader] = offset

    @property
    def settled(self) -> int | None:
        """The newest offset up to which every reader settled it; None before the first."""
        if not self._reached or len(self._reached) < self._readers:
            return None
        return min(self._reached.values())


class FetchSchema(Schema[None, Fetch]):
    """Passes a fetch to agents and tables as it is."""

    def compile(self, app: AppT, **_: Any) -> Callable[..., Awaitable[Any]]:
        """A function that makes an event of a message whose value is a `Fetch`."""
        create_event = app.create_event

        async def decode(message: Message, *, propagate: bool = False) -> Any:
            return create_event(None, message.value, message.headers, message)

        return decode
