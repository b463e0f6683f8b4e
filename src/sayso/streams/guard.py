"""The one wrapper around every agent: no error ever leaks into Faust.

Faust acknowledges the record of an agent that raised, and goes on. So every outcome is settled
here: done, dead with the raw bytes, tried again in place, or the process stops before the record
is acknowledged.
"""

import asyncio
import os
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, Generic, NoReturn, TypeVar

import faust
import structlog
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord
from pydantic import BaseModel

from sayso import __version__
from sayso.logs import described
from sayso.schemas.dead import DeadLetter, DeadReason, Header
from sayso.streams.codec import decode
from sayso.streams.delivery import Delivery, current
from sayso.streams.errors import PartitionLost, Poison, Transient
from sayso.streams.limits import DeadLimit
from sayso.streams.membership import Membership
from sayso.streams.outputs import Outputs
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
        model: type[M],
        handler: Handler[M],
        outputs: Outputs,
        settings: WorkerSettings,
        limit: DeadLimit,
    ) -> None:
        self._name = name
        self._app = app
        self._membership = membership
        self._model = model
        self._handler = handler
        self._outputs = outputs
        self._settings = settings
        self._limit = limit

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
            if record.value is not None and not await self._process(record, message.generation_id):
                return False
            fetch.settle(self._name, record.offset, readers=message.refcount)
        return True

    async def _process(self, record: ConsumerRecord[bytes, bytes], generation: int | None) -> bool:
        """Settle one record; False when it is no longer ours to acknowledge."""
        delivery = Delivery(
            membership=self._membership,
            record=record,
            generation=generation,
            outputs=self._outputs,
        )
        token = current.set(delivery)
        try:
            await self._settle(delivery)
        except PartitionLost:
            return False
        except Exception as failure:  # noqa: BLE001 - Faust would acknowledge and forget
            log.error("the error policy itself failed", **described(failure))
            await self._stop_unacknowledged(delivery)
        finally:
            current.reset(token)
        return delivery.is_mine

    async def _settle(self, delivery: Delivery) -> None:
        wait = _FIRST_WAIT
        for attempt in range(1, self._settings.transient_tries + 1):
            try:
                # What was fetched before the process was stopped may be another worker's by now.
                await delivery.confirm_mine()
                await self._handler(decode(self._model, delivery.record.value), delivery)
            except PartitionLost:
                raise
            except Poison as error:
                await self._bury(delivery, "poison", error, attempt)
                return
            except Exception as error:  # noqa: BLE001 - the policy for what nobody foresaw
                if attempt == self._settings.transient_tries or not _passes(error):
                    await self._die_or_bury(delivery, error, attempt)
                    return
                # The handler runs again from its start and sends again what it had sent.
                asked = getattr(error, "retry_after", None) or wait
                pause = min(asked, self._settings.transient_wait)
                log.warning("passing error", attempt=attempt, pause=pause, **described(error))
                await asyncio.sleep(pause)
                wait *= 2
            else:
                self._limit.passed()
                return

    async def _die_or_bury(self, delivery: Delivery, error: Exception, attempt: int) -> None:
        position = delivery.position
        log.error("unknown error", position=position.model_dump(), **described(error))
        if self._limit.allows_another():
            await self._bury(delivery, "unknown", error, attempt)
        else:
            await self._stop_unacknowledged(delivery)

    async def _bury(
        self, delivery: Delivery, reason: DeadReason, error: Exception, attempt: int
    ) -> None:
        record = delivery.record
        letter = DeadLetter(
            source=delivery.position,
            timestamp_ms=record.timestamp,
            group=self._app.conf.id,
            reason=reason,
            error=type(error).__name__,
            refusal=str(error)[:2_000],
            source_key=_base64(record.key),
            source_value=_base64(record.value),
            headers=tuple(
                Header(name=name, value=_base64(value)) for name, value in record.headers
            ),
            attempt=attempt,
            build=__version__,
            at=datetime.now(UTC),
        )
        # What cannot be kept is not acknowledged either: a failure here stops the worker.
        await delivery.emit("dead", letter)
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


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()
