"""The error wrapper on a real Faust app: passing errors, unknown ones, and their limits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from sayso.schemas.dead import DeadLetter
from sayso.schemas.tick import Tick
from sayso.schemas.topics import BY_NAME
from sayso.streams import guard
from sayso.streams.app import Pipeline, create_app
from sayso.streams.codec import decode, encode
from sayso.streams.delivery import Delivery
from sayso.streams.errors import Transient
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings, WorkerSettings
from sayso.streams.topics import apply_topics, wanted_topics

pytestmark = pytest.mark.kafka


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    settings = KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=1)
    apply_topics(settings, wanted_topics(settings, tables=()))
    return settings


@asynccontextmanager
async def working(
    kafka: KafkaSettings,
    folder: Path,
    handler: Callable[[Tick, Delivery], Awaitable[None]],
    **policy: float,
) -> AsyncIterator[None]:
    app = create_app(kafka, data_dir=folder)
    pipeline = Pipeline(
        app=app,
        kafka=kafka,
        worker=WorkerSettings.model_validate(policy),
        specs=(BY_NAME["ticks"], BY_NAME["dead"]),
    )
    pipeline.consume("ticks", Tick, handler, name="under-test", parks=False)
    await app.start()
    try:
        yield
    finally:
        await app.stop()


def publish(kafka: KafkaSettings, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(count):
        tick = Tick.model_validate(
            {
                "id": str(number),
                "org": "acme",
                "channel": "C1",
                "cause": "command",
                "at": "2026-01-01T00:00:00Z",
            }
        )
        producer.produce(f"{kafka.prefix}ticks", key=b"acme/C1", value=encode(tick))
    assert producer.flush(10) == 0


def dead(kafka: KafkaSettings) -> list[DeadLetter]:
    return [decode(DeadLetter, raw.value or b"") for raw in read_topic(kafka, "dead")]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.05)


async def test_a_passing_error_is_tried_again_in_place_and_in_order(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    seen: list[str] = []

    async def handler(tick: Tick, delivery: Delivery) -> None:
        seen.append(tick.id)
        if tick.id == "1" and seen.count("1") < 3:
            raise Transient("busy", retry_after=0.01)

    publish(kafka, 3)
    async with working(kafka, tmp_path, handler):
        await until(lambda: "2" in seen)

    assert seen == ["0", "1", "1", "1", "2"]
    assert dead(kafka) == []


async def test_one_that_does_not_pass_counts_as_unknown(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    seen: list[str] = []

    async def handler(tick: Tick, delivery: Delivery) -> None:
        seen.append(tick.id)
        if tick.id == "0":
            raise Transient("busy", retry_after=86_400)

    publish(kafka, 2)
    async with working(kafka, tmp_path, handler, transient_tries=2, transient_wait=0.01):
        await until(lambda: "1" in seen)

    (letter,) = dead(kafka)
    assert (letter.reason, letter.error, letter.attempt) == ("unknown", "Transient", 2)
    assert seen == ["0", "0", "1"]


async def test_too_many_unknown_errors_stop_the_worker_before_it_acknowledges(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes: list[int] = []
    stopped = asyncio.Event()

    def stop(code: int) -> None:
        codes.append(code)
        stopped.set()
        # The process would be gone here: nothing after this line happens.
        raise asyncio.CancelledError

    monkeypatch.setattr(guard.os, "_exit", stop)
    seen: list[str] = []

    async def failing(tick: Tick, delivery: Delivery) -> None:
        seen.append(tick.id)
        raise ZeroDivisionError

    publish(kafka, 4)
    async with working(kafka, tmp_path, failing, dead_consecutive=2, dead_ratio=1):
        await asyncio.wait_for(stopped.wait(), 30)

    assert codes[0] == 70
    assert [letter.source.offset for letter in dead(kafka)] == [0, 1]
    again: list[str] = []

    async def handler(tick: Tick, delivery: Delivery) -> None:
        again.append(tick.id)

    async with working(kafka, tmp_path, handler):
        await until(lambda: "3" in again)
    # The record that stopped it was not acknowledged.
    assert again == ["2", "3"]
