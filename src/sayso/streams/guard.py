"""The one wrapper around every agent: no error ever leaks into Faust.

Faust acknowledges the record of an agent that raised, and goes on. So every outcome is settled
here: done, dead with the raw bytes, tried again in place, or the process stops before the record
is acknowledged.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, NoReturn, TypeVar

import faust
import structlog
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord
from pydantic import BaseModel

from sayso.logs import described
from sayso.schemas.dead import DeadReason
from sayso.schemas.parked import Requeued
from sayso.streams.codec import decode
from sayso.streams.delivery import Delivery, current
from sayso.streams.errors import PartitionLost, Poison, Transient
from sayso.streams.letters import dead_letter, parked_record
from sayso.streams.limits import DeadLimit
from sayso.streams.liveness import Liveness
from sayso.streams.membership import Membership
from sayso.streams.outputs import Outputs
from sayso.streams.parking import REQUEUED, Parking, Turn, place_of, turn_of
from sayso.streams.settings import WorkerSettings
from sayso.streams.transport.fetch import Fetch

EXIT_UNKNOWN_ERROR: Final = 70
"""Exit code of a worker that stopped over an unknown error; the record is still unacknowledged."""
_FIRST_WAIT: Final = 0.5
_BREATH: Final = 50
"""Records after which the event loop gets its turn."""

log = structlog.get_logger(__name__)

M = TypeVar("M", bound=BaseModel)
Handler = Callable[[M, Delivery], Awaitable[None]]


class Guard(Generic[M]):
    """Runs one agent's handler over its records under the error policy."""

    def __init__(
        self,
        *,
        name: str,
        app: faust.App,
        membership: Membership,
        liveness: Liveness,
        model: type[M],
        handler: Handler[M],
        outputs: Outputs,
        settings: WorkerSettings,
        limit: DeadLimit,
        parking: Parking | None,
    ) -> None:
        self._name = name
        self._app = app
        self._membership = membership
        self._liveness = liveness
        self._model = model
        self._handler = handler
        self._outputs = outputs
        self._settings = settings
        self._limit = limit
        self._parking = parking
        """None where later records of a key do not depend on the ones before."""

    async def run(self, stream: Any) -> None:
        """Process a stream of fetches. One is acknowledged only when all of it is settled.

        Acknowledging by hand matters when a rebalance cancels the agent in mid-fetch: Faust
        would acknowledge what was cut short.
        """
        async for event in stream.noack().events():
            if await self._process_all(event.value, event.message):
                event.ack()

    async def _process_all(self, fetch: Fetch, message: Any) -> bool:
        """Settle a fetch in order; False when the rest of it is no longer ours."""
        producer = self._outputs.producer
        for number, record in enumerate(fetch.records):
            if number % _BREATH == _BREATH - 1:
                # Heartbeats, commits and callbacks of the producer run in between.
                await asyncio.sleep(0)
                await producer.room()
            if _is_empty(record):
                continue
            if not await self._process(record, message.generation_id):
                return False
            fetch.settle(self._name, record.offset, readers=message.refcount)
        return True

    async def _process(self, record: ConsumerRecord[bytes, bytes], generation: int | None) -> bool:
        """Settle one record; False when it is no longer ours to acknowledge."""
        delivery = Delivery(
            membership=self._membership,
            liveness=self._liveness,
            record=record,
            generation=generation,
            outputs=self._outputs,
        )
        token = current.set(delivery)
        try:
            await self._take(delivery)
        except PartitionLost:
            return False
        except Exception as failure:  # noqa: BLE001 - Faust would acknowledge and forget
            log.error("the error policy itself failed", **described(failure))
            await self._stop_unacknowledged(delivery)
        finally:
            current.reset(token)
        return delivery.is_mine

    async def _take(self, delivery: Delivery) -> None:
        """Process a record in its turn."""
        # What was fetched before the process was stopped may be another worker's by now.
        await delivery.confirm_mine()
        try:
            place = place_of(delivery.record.headers)
        except Poison as error:
            await self._bury(delivery, "poison", error, attempt=1, place=None)
            return
        parking = self._parking
        if parking is None:
            await self._settle(delivery, place)
            return
        held = parking.held(self._name, delivery)
        turn = turn_of(held, delivery.record.offset, place)
        if turn is Turn.WAIT and held is not None:
            parking.wait(self._name, delivery, held)
            await self._park(delivery, behind=held.dead)
        if turn not in (Turn.PROCESS, Turn.RELEASE):
            return
        is_settled = await self._settle(delivery, place)
        if is_settled and turn is Turn.RELEASE:
            # The next in turn must not come before what this one sent.
            await delivery.settle()
            parking.release(self._name, delivery, place)

    async def _settle(self, delivery: Delivery, place: Requeued | None) -> bool:
        """Run the handler under the policy; False when the record died."""
        if place is not None and place.dropped:
            return True
        wait = _FIRST_WAIT
        for attempt in range(1, self._settings.transient_tries + 1):
            try:
                await self._handler(decode(self._model, delivery.record.value), delivery)
            except PartitionLost:
                raise
            except Poison as error:
                await self._bury(delivery, "poison", error, attempt=attempt, place=place)
                return False
            except Exception as error:  # noqa: BLE001 - the policy for what nobody foresaw
                if attempt == self._settings.transient_tries or not _passes(error):
                    await self._die_or_bury(delivery, error, attempt=attempt, place=place)
                    return False
                # The handler runs again from its start and sends again what it had sent.
                asked = getattr(error, "retry_after", None) or wait
                pause = min(asked, self._settings.transient_wait)
                log.warning("passing error", attempt=attempt, pause=pause, **described(error))
                await delivery.pause(pause)
                wait *= 2
                await delivery.confirm_mine()
            else:
                break
        self._limit.passed()
        return True

    async def _die_or_bury(
        self, delivery: Delivery, error: Exception, *, attempt: int, place: Requeued | None
    ) -> None:
        position = delivery.position
        log.error("unknown error", position=position.model_dump(), **described(error))
        if self._limit.allows_another():
            if self._parking is not None:
                self._parking.hold(self._name, delivery, place)
            await self._bury(delivery, "unknown", error, attempt=attempt, place=place)
        else:
            await self._stop_unacknowledged(delivery)

    async def _bury(
        self,
        delivery: Delivery,
        reason: DeadReason,
        error: Exception,
        *,
        attempt: int,
        place: Requeued | None,
    ) -> None:
        source = delivery.position
        if place is not None:
            source = source.model_copy(update={"offset": place.offset})
        letter = dead_letter(
            delivery.record,
            source=source,
            group=self._app.conf.id,
            reason=reason,
            error=error,
            attempt=attempt,
        )
        # What cannot be kept is not acknowledged either: a failure here stops the worker.
        await delivery.emit("dead", letter)
        await delivery.settle()

    async def _park(self, delivery: Delivery, *, behind: int) -> None:
        log.warning("record waits", position=delivery.position.model_dump(), behind=behind)
        parked = parked_record(
            delivery.record, source=delivery.position, agent=self._name, behind=behind
        )
        await delivery.emit("parked", parked)
        await delivery.settle()

    async def _stop_unacknowledged(self, delivery: Delivery) -> NoReturn:
        position = delivery.position
        log.critical(
            "worker stops before acknowledging",
            topic=position.topic,
            partition=position.partition,
            offset=position.offset,
            mend="mend the cause named above and start the worker again",
        )
        # What came before is acknowledged and committed; this record is not, so a restart
        # processes it again. Leaving through Faust would acknowledge it.
        await self._app.consumer.commit()
        os._exit(EXIT_UNKNOWN_ERROR)


def _passes(error: Exception) -> bool:
    """True for an error that time heals: one that says so, or the broker's passing ones."""
    return isinstance(error, Transient) or (isinstance(error, KafkaError) and error.retriable)


def _is_empty(record: ConsumerRecord[bytes, bytes]) -> bool:
    """True for a tombstone, but for one that stands in for a dropped record."""
    if record.value is not None:
        return False
    return not record.headers or record.headers[0][0] != REQUEUED
