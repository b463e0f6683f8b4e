"""A worker that the group gave up on, and that does not know it yet."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka.protocol.group import LeaveGroupRequest
from confluent_kafka import Producer

from sayso.schemas.tick import Tick
from sayso.schemas.topics import BY_NAME
from sayso.streams import membership
from sayso.streams.app import Pipeline, create_app
from sayso.streams.codec import encode
from sayso.streams.delivery import Delivery
from sayso.streams.errors import PartitionLost
from sayso.streams.settings import KafkaSettings, WorkerSettings
from sayso.streams.topics import apply_topics, wanted_topics

pytestmark = pytest.mark.kafka


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    settings = KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=1)
    apply_topics(settings, wanted_topics(settings, tables=()))
    tick = Tick.model_validate(
        {
            "id": "one",
            "org": "acme",
            "channel": "C1",
            "cause": "command",
            "at": "2026-01-01T00:00:00Z",
        }
    )
    producer = Producer({"bootstrap.servers": settings.bootstrap})
    producer.produce(f"{prefix}ticks", key=b"acme/C1", value=encode(tick))
    assert producer.flush(10) == 0
    return settings


async def put_out(app: Any) -> None:
    """Let the broker drop the worker as after a lapsed session; nobody tells the worker."""
    thread = app.consumer._thread
    coordinator = thread._ensure_consumer()._coordinator
    await thread.call_thread(
        coordinator._send_req, LeaveGroupRequest(coordinator.group_id, coordinator.member_id)
    )


async def run_until(
    kafka: KafkaSettings,
    folder: Path,
    handler: Callable[[Any, Delivery], Awaitable[None]],
    ended: asyncio.Event,
) -> None:
    app = create_app(kafka, data_dir=folder)
    pipeline = Pipeline(
        app=app,
        kafka=kafka,
        worker=WorkerSettings(),
        specs=(BY_NAME["ticks"], BY_NAME["dead"]),
    )

    async def run(tick: Tick, delivery: Delivery) -> None:
        await handler(app, delivery)

    pipeline.consume("ticks", Tick, run, name="under-test")
    await app.start()
    try:
        await asyncio.wait_for(ended.wait(), 30)
    finally:
        await app.stop()


async def test_it_is_told_before_what_counts_and_the_record_comes_again(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As after a stop: the last sign of life is too old to count.
    monkeypatch.setattr(membership, "_FRESH", 0.0)
    seen: list[str] = []
    again = asyncio.Event()

    async def handler(app: Any, delivery: Delivery) -> None:
        if seen:
            seen.append("again")
            again.set()
            return
        await put_out(app)
        seen.append(f"believes {delivery.is_mine}")
        try:
            await delivery.confirm_mine()
        except PartitionLost:
            seen.append(f"told {delivery.is_mine}")
            raise
        seen.append("acted")

    await run_until(kafka, tmp_path, handler, again)

    assert seen == ["believes True", "told False", "again"]


async def test_a_broker_that_heard_from_it_a_moment_ago_is_not_asked(
    kafka: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asyncio.Event()
    asked = 0

    async def handler(app: Any, delivery: Delivery) -> None:
        nonlocal asked
        thread = app.consumer._thread
        call = thread.call_thread

        def counted(*args: Any) -> Any:
            nonlocal asked
            asked += 1
            return call(*args)

        monkeypatch.setattr(thread, "call_thread", counted)
        await delivery.confirm_mine()
        await delivery.confirm_mine()
        monkeypatch.undo()
        done.set()

    await run_until(kafka, tmp_path, handler, done)

    assert asked == 0
