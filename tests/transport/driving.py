"""One Faust app with one agent over some topics, on stock Faust's driver or on ours."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import faust
from confluent_kafka import Consumer, Producer, TopicPartition

from sayso.streams.app import create_app
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_admin import TopicAdmin
from sayso.streams.topic_plan import WantedTopic
from sayso.streams.topics import app_id
from sayso.streams.transport.fetch import FetchSchema

PATIENCE = 60.0
"""Seconds within which what is awaited has come even on a slow machine."""


class Driver(StrEnum):
    """The scheme of the broker's address, by which Faust chooses its driver."""

    STOCK = "aiokafka"
    OURS = "sayso"


@dataclass(frozen=True)
class Read:
    """One record as an agent got it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp: float
    """Seconds."""


Handle = Callable[[Read], Awaitable[None]]


def make_app(
    driver: Driver,
    kafka: KafkaSettings,
    *,
    folder: Path,
    topics: Sequence[str],
    handle: Handle,
    **settings: Any,
) -> faust.App:
    """An app whose one agent hands every record to `handle`, partition by partition in order."""
    folder.mkdir(exist_ok=True)
    if driver is Driver.OURS:
        app = create_app(kafka, data_dir=folder)
        _read_fetches(app, topics, handle)
    else:
        app = faust.App(
            app_id(kafka),
            broker=f"{driver}://{kafka.bootstrap}",
            autodiscover=False,
            broker_commit_interval=1.0,
            consumer_auto_offset_reset="earliest",
            datadir=str(folder),
            stream_buffer_maxsize=16,
            stream_wait_empty=False,
            table_standby_replicas=0,
            topic_allow_declare=False,
            topic_disable_leader=True,
            topic_partitions=kafka.partitions,
            web_enabled=False,
        )
        _read_records(app, topics, handle)
    for name, value in settings.items():
        setattr(app.conf, name, value)
    return app


def _read_fetches(app: faust.App, topics: Sequence[str], handle: Handle) -> None:
    channel = app.topic(*topics, key_type=bytes, value_type=bytes, schema=FetchSchema())

    async def read(stream: Any) -> None:
        async for event in stream.noack().events():
            message = event.message
            for one in event.value.records:
                await handle(
                    Read(
                        one.topic,
                        one.partition,
                        one.offset,
                        one.key,
                        one.value,
                        tuple(one.headers),
                        one.timestamp / 1000,
                    )
                )
                event.value.settle("read", one.offset, readers=message.refcount)
            event.ack()

    app.agent(channel, name="read", isolated_partitions=True)(read)


def _read_records(app: faust.App, topics: Sequence[str], handle: Handle) -> None:
    channel = app.topic(*topics, key_type=bytes, value_type=bytes, allow_empty=True)

    async def read(stream: Any) -> None:
        async for event in stream.events():
            one = event.message
            await handle(
                Read(
                    one.topic,
                    one.partition,
                    one.offset,
                    one.key,
                    one.value,
                    tuple(one.headers),
                    one.timestamp,
                )
            )

    app.agent(channel, name="read", isolated_partitions=True)(read)


@asynccontextmanager
async def running(app: faust.App) -> AsyncIterator[Any]:
    """The app, started, and stopped afterwards."""
    await app.start()
    try:
        yield app
    finally:
        await app.stop()


def create_topic(
    kafka: KafkaSettings, name: str, *, partitions: int | None = None, **config: str
) -> str:
    """Create a topic and return its name, prefix included."""
    topic = WantedTopic(
        name=kafka.prefix + name,
        partitions=partitions or kafka.partitions,
        replication=1,
        config={key.replace("_", "."): value for key, value in config.items()},
    )
    admin = TopicAdmin(kafka)
    admin.create([topic])
    admin.wait_for([topic])
    return topic.name


def publish(
    kafka: KafkaSettings,
    topic: str,
    values: Sequence[bytes],
    *,
    partition: int = 0,
    key: bytes | None = None,
) -> None:
    """Write values to one partition in their order."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5})
    for value in values:
        while True:
            try:
                producer.produce(topic, value, key, partition)
            except BufferError:
                producer.poll(0.1)
            else:
                break
    assert producer.flush(PATIENCE) == 0


def committed(kafka: KafkaSettings, topic: str, *, partitions: int | None = None) -> dict[int, int]:
    """The group's offset in each partition; 0 where it has none."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": app_id(kafka)})
    try:
        asked = [TopicPartition(topic, one) for one in range(partitions or kafka.partitions)]
        found = consumer.committed(asked, timeout=PATIENCE)
    finally:
        consumer.close()
    return {one.partition: max(one.offset, 0) for one in found}


def written(kafka: KafkaSettings, topic: str, *, partitions: int | None = None) -> list[Read]:
    """Everything in a topic, each partition in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": f"{kafka.prefix}reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        ends = {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=PATIENCE)
            for number in range(partitions or kafka.partitions)
        }
        open_ = {number for number, (low, high) in ends.items() if low < high}
        consumer.assign([TopicPartition(topic, number, ends[number][0]) for number in open_])
        found = []
        while open_:
            message: Any = consumer.poll(PATIENCE)
            assert message is not None, "the topic could not be read to its end"
            assert message.error() is None, message.error()
            found.append(
                Read(
                    topic,
                    message.partition(),
                    message.offset(),
                    message.key(),
                    message.value(),
                    tuple(message.headers() or ()),
                    message.timestamp()[1] / 1000,
                )
            )
            if message.offset() + 1 >= ends[message.partition()][1]:
                open_.discard(message.partition())
    finally:
        consumer.close()
    return found


async def until(holds: Callable[[], object], *, seconds: float = PATIENCE) -> None:
    """Return once it holds; asked in a thread, since it may ask the broker."""
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(holds):
            await asyncio.sleep(0.05)


def by_partition(reads: Sequence[Read]) -> Mapping[int, list[Read]]:
    """What was read of each partition, in order."""
    parts: dict[int, list[Read]] = {}
    for read in reads:
        parts.setdefault(read.partition, []).append(read)
    return parts
