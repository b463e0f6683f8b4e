"""The writing side: records straight to librdkafka, counted per delivery."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from confluent_kafka import KafkaException
from confluent_kafka import Producer as Librdkafka
from faust.transport import producer as faust_producer
from faust.types import TP, HeadersArg, RecordMetadata
from mode.utils.objects import cached_property

from sayso.streams.errors import NotDelivered, NotDeliveredYet
from sayso.streams.transport.sent import InFlight, Sent

Delivered = Callable[[Any, Any], None]
"""librdkafka's callback: an error or None, and the message."""

FULL: Final = 50_000
"""Records on their way at which senders wait."""
_QUEUE: Final = 4 * FULL
_POLL: Final = 0.002
"""Seconds between looks for what the broker took, while anything is on its way."""
_STOP: Final = 30.0
_NO_PARTITION: Final = -1


class CountingProducer(faust_producer.Producer):
    """Faust's producer on librdkafka: idempotent, keys where Java's default puts them."""

    def __post_init__(self) -> None:
        """Set up what lives as long as the service."""
        self.in_flight = InFlight()
        self._polling: asyncio.TimerHandle | None = None

    @cached_property
    def client(self) -> Librdkafka:
        """The client; made when it is first needed."""
        app: Any = self.app  # ours, with the settings that Faust has no place for
        return Librdkafka(
            {
                **app.librdkafka_settings,
                "acks": "all",
                "enable.idempotence": True,
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                "message.max.bytes": self.max_request_size,
                "queue.buffering.max.messages": _QUEUE,
                "queue.buffering.max.kbytes": 262_144,
            }
        )

    @property
    def is_full(self) -> bool:
        """True when senders have to wait for `room`."""
        return len(self.client) >= FULL

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        delivered: Delivered,
        partition: int = _NO_PARTITION,
        headers: Sequence[tuple[str, bytes]] | None = None,
        timestamp_ms: int = 0,
    ) -> None:
        """Hand over one record. Raises NotDelivered when it can never be sent."""
        while True:
            try:
                self.client.produce(
                    topic,
                    value,
                    key,
                    partition,
                    delivered,
                    timestamp=timestamp_ms,
                    headers=cast(Any, headers),
                )
            except BufferError:
                # One delivery alone sent more than the queue holds.
                self.client.poll(0.1)
            except KafkaException as error:
                raise NotDelivered(
                    f"{topic} does not take the record: {error.args[0].str()}"
                ) from error
            else:
                break
        if self._polling is None:
            self._polling = self.loop.call_later(_POLL, self._poll)

    async def room(self) -> None:
        """Return once there is room for more. Raises what was not delivered."""
        while self.is_full:
            self.in_flight.insist_whole()
            await asyncio.sleep(_POLL)

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: HeadersArg | None,
        *,
        transactional_id: str | None = None,
    ) -> Awaitable[RecordMetadata]:
        """Faust's way to send: a future per record. Agents' outputs go through `produce`."""
        sent = Sent(self.in_flight)
        sent.add()
        future: asyncio.Future[RecordMetadata] = self.loop.create_future()

        def delivered(error: Any, message: Any) -> None:
            sent.delivered(error, message)
            if future.done():
                return
            if error is not None:
                future.set_exception(KafkaException(error))
                return
            tp = TP(message.topic(), message.partition())
            kind, stamp = message.timestamp()
            future.set_result(
                RecordMetadata(tp.topic, tp.partition, tp, message.offset(), stamp / 1000, kind)
            )

        self.produce(
            topic,
            key,
            value,
            partition=_NO_PARTITION if partition is None else partition,
            headers=None if headers is None else [*dict(headers).items()],
            timestamp_ms=int(timestamp * 1000) if timestamp else 0,
            delivered=delivered,
        )
        return future

    async def send_and_wait(self, *args: Any, **kwargs: Any) -> RecordMetadata:
        """As `send`, once the broker has the record."""
        return await (await self.send(*args, **kwargs))

    async def flush(self) -> None:
        """Return once the broker has what is on its way now.

        Raises NotDelivered or NotDeliveredYet when something sent before is lost.
        """
        await self.buffer.flush()
        await self.in_flight.barrier()

    async def on_stop(self) -> None:
        """Wait a while for what is on its way; what is left is produced again after a restart."""
        await super().on_stop()
        # What is still on its way then, or lost, was not committed either.
        with contextlib.suppress(TimeoutError, NotDelivered, NotDeliveredYet):
            async with asyncio.timeout(_STOP):
                await self.in_flight.barrier()
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None

    def key_partition(self, topic: str, key: bytes) -> TP:
        """The partition of a key, the one that Java's default partitioner gives it."""
        from aiokafka.partitioner import murmur2

        count = len(self.client.list_topics(topic, timeout=10).topics[topic].partitions)
        return TP(topic, (murmur2(key) & 0x7FFFFFFF) % count)

    def supports_headers(self) -> bool:
        """Every broker that we run on has them."""
        return True

    def _poll(self) -> None:
        self.client.poll(0)
        self._polling = None if self.in_flight.is_empty else self.loop.call_later(_POLL, self._poll)
