"""Records that were handed to the producer and that the broker does not have yet.

Counted per delivery, not per record: a future for each record is what costs stock Faust most.
Everything here happens in the event loop's thread.
"""

import asyncio
from typing import Any, Final

from confluent_kafka import KafkaError

from sayso.streams.errors import NotDelivered, NotDeliveredYet

_PASSING: Final = frozenset({KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT})


class Sent:
    """What one delivery has sent. `delivered` is the callback of each of its records."""

    __slots__ = ("_error", "_in_flight", "_open", "_waiter")

    def __init__(self, in_flight: "InFlight") -> None:
        self._in_flight = in_flight
        self._open = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def add(self) -> None:
        """Count one record that is on its way."""
        if not self._open:
            self._in_flight.opened(self)
        self._open += 1

    def delivered(self, error: Any, _message: Any) -> None:
        """Take the broker's word for one record."""
        if error is not None:
            self._refuse(error)
        self._open -= 1
        if not self._open:
            self._in_flight.closed(self)
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)

    async def wait(self) -> None:
        """Return once the broker has all of it. Raises NotDelivered or NotDeliveredYet."""
        self._in_flight.insist_whole()
        if self._open:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _refuse(self, error: KafkaError) -> None:
        kind = NotDeliveredYet if error.code() in _PASSING or error.retriable() else NotDelivered
        failure = kind(f"the broker did not take a record: {error.str()}")
        if self._waiter is not None:
            self._error = failure
        else:
            # Whoever sent it went on. Nothing after it may be acknowledged any more.
            self._in_flight.fail(failure)


class InFlight:
    """Everything that one producer has on its way."""

    def __init__(self) -> None:
        self._open: set[Sent] = set()
        self._failure: Exception | None = None
        self._barriers: list[_Barrier] = []

    @property
    def is_empty(self) -> bool:
        """True when the broker has everything."""
        return not self._open

    def opened(self, sent: Sent) -> None:
        """A delivery has something on its way."""
        self._open.add(sent)

    def closed(self, sent: Sent) -> None:
        """A delivery has nothing on its way any more."""
        self._open.discard(sent)
        for barrier in self._barriers:
            barrier.closed(sent)

    def fail(self, failure: Exception) -> None:
        """Remember that a record is lost whose sender went on; nothing heals that."""
        self._failure = self._failure or failure

    def insist_whole(self) -> None:
        """Raise what was remembered by `fail`."""
        if self._failure is not None:
            raise self._failure

    async def barrier(self) -> None:
        """Return once the broker has what is on its way now; what comes later is not waited for.

        Waiting for an empty queue would never end under load. Raises what `fail` remembers.
        """
        if self._open:
            barrier = _Barrier(self._open)
            self._barriers.append(barrier)
            try:
                await barrier.passed
            finally:
                self._barriers.remove(barrier)
        self.insist_whole()


class _Barrier:
    def __init__(self, waiting: set[Sent]) -> None:
        self._waiting = set(waiting)
        self.passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def closed(self, sent: Sent) -> None:
        self._waiting.discard(sent)
        if not self._waiting and not self.passed.done():
            self.passed.set_result(None)
