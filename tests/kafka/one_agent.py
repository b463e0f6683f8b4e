"""One agent over `ticks` on a real Faust app, in the test's own process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from confluent_kafka import Producer

from sayso.schemas.tick import Tick
from sayso.schemas.topics import BY_NAME
from sayso.streams.app import Pipeline, create_app
from sayso.streams.codec import encode
from sayso.streams.delivery import Delivery
from sayso.streams.settings import KafkaSettings, WorkerSettings
from sayso.streams.topics import apply_topics, wanted_topics


def prepared(bootstrap: str, prefix: str, *, partitions: int = 1) -> KafkaSettings:
    """Settings of a deployment whose topics are there."""
    settings = KafkaSettings(bootstrap=bootstrap, prefix=prefix, partitions=partitions)
    apply_topics(settings, wanted_topics(settings, tables=()))
    return settings


@asynccontextmanager
async def working(
    kafka: KafkaSettings,
    folder: Path,
    handler: Callable[[Tick, Delivery], Awaitable[None]],
    *,
    parks: bool = False,
    **policy: float,
) -> AsyncIterator[Pipeline]:
    """Run `handler` over the ticks; `policy` are settings of the worker."""
    app = create_app(kafka, data_dir=folder)
    pipeline = Pipeline(
        app=app,
        kafka=kafka,
        worker=WorkerSettings.model_validate(policy),
        specs=(BY_NAME["ticks"],),
    )
    pipeline.consume("ticks", Tick, handler, name="under-test", parks=parks)
    await app.start()
    try:
        yield pipeline
    finally:
        await app.stop()


def publish(kafka: KafkaSettings, *ids: str) -> None:
    """Ticks of these ids, keyed by the channel that the first letter of each names."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "partitioner": "murmur2_random"})
    for tick_id in ids:
        tick = Tick.model_validate(
            {
                "id": tick_id,
                "org": "acme",
                "channel": f"C{tick_id[0].upper()}",
                "cause": "command",
                "at": "2026-01-01T00:00:00Z",
            }
        )
        producer.produce(f"{kafka.prefix}ticks", key=tick.key.encode(), value=encode(tick))
    assert producer.flush(10) == 0


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what no record announces; `holds` may read from the broker."""
    async with asyncio.timeout(30):
        while not await asyncio.to_thread(holds):
            await asyncio.sleep(0.05)
