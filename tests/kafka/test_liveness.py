"""A worker that no longer moves ends itself, and one that only waits does not."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from unittest.mock import AsyncMock, patch

import pytest
from one_agent import prepared, publish, until, working
from structlog.testing import capture_logs

from sayso.schemas.tick import Tick
from sayso.streams import liveness
from sayso.streams.app import Pipeline
from sayso.streams.broker.server import start_broker
from sayso.streams.delivery import Delivery
from sayso.streams.liveness import EXIT_STUCK, LOOKS
from sayso.streams.settings import KafkaSettings

pytestmark = pytest.mark.kafka

STUCK_AFTER = 2.0

BLOCKED = f"""
import asyncio, time
from sayso.streams.liveness import Liveness

async def blocked():
    watching = asyncio.create_task(Liveness(None).watch({STUCK_AFTER}))
    await asyncio.sleep(0)
    time.sleep(60)

asyncio.run(blocked())
"""


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    return prepared(kafka_bootstrap, prefix)


class Ended:
    """Stands where the process would end."""

    def __init__(self) -> None:
        self.codes: list[int] = []

    def exit(self, code: int) -> None:
        self.codes.append(code)
        # Nothing after this line would happen.
        raise asyncio.CancelledError


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    stand_in = Ended()
    monkeypatch.setattr(liveness.os, "_exit", stand_in.exit)
    return stand_in


@asynccontextmanager
async def watched(pipeline: Pipeline) -> AsyncIterator[AsyncMock]:
    """What is yielded counts the looks; a look waits for the client's thread."""
    watching = pipeline.liveness
    with patch.object(watching, "_stuck", AsyncMock(wraps=watching._stuck)) as look:
        task = asyncio.create_task(watching.watch(STUCK_AFTER))
        try:
            yield look
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_record_that_never_ends_stops_the_worker(
    kafka: KafkaSettings, tmp_path: Path, ended: Ended
) -> None:
    released = asyncio.Event()

    async def hangs(tick: Tick, delivery: Delivery) -> None:
        await released.wait()

    publish(kafka, "a0")
    async with working(kafka, tmp_path, hangs) as pipeline, watched(pipeline):
        await until(lambda: ended.codes == [EXIT_STUCK])
        released.set()


async def test_one_that_waits_as_it_was_asked_to_does_not(
    kafka: KafkaSettings, tmp_path: Path, ended: Ended
) -> None:
    done: list[str] = []

    async def waits(tick: Tick, delivery: Delivery) -> None:
        await delivery.pause(2 * STUCK_AFTER)
        done.append(tick.id)

    publish(kafka, "a0")
    async with working(kafka, tmp_path, waits) as pipeline, watched(pipeline):
        await until(lambda: done == ["a0"])
    assert ended.codes == []


async def test_one_that_has_nothing_to_do_does_not(
    kafka: KafkaSettings, tmp_path: Path, ended: Ended
) -> None:
    done: list[str] = []

    async def handler(tick: Tick, delivery: Delivery) -> None:
        done.append(tick.id)

    publish(kafka, "a0")
    async with working(kafka, tmp_path, handler) as pipeline, watched(pipeline) as look:
        await until(lambda: done == ["a0"] and look.await_count > 2 * LOOKS)
    assert ended.codes == []


async def test_one_whose_broker_is_away_does_not(
    tmp_path: Path, prefix: str, ended: Ended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "_ANSWER_SECONDS", 0.5)
    done: list[str] = []
    with start_broker(tmp_path / "kafka") as broker:
        kafka = prepared(broker.bootstrap, prefix)
        began, is_away = asyncio.Event(), asyncio.Event()

        async def waits(tick: Tick, delivery: Delivery) -> None:
            began.set()
            await is_away.wait()
            await delivery.confirm_mine()
            done.append(tick.id)

        publish(kafka, "a0")
        async with working(kafka, tmp_path, waits) as pipeline:
            await asyncio.wait_for(began.wait(), 30)
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                with capture_logs() as logs:
                    async with watched(pipeline):
                        is_away.set()
                        await until(lambda: bool(logs or ended.codes))
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            assert ended.codes == []
            assert [line["event"] for line in logs] == ["nothing moves and no Kafka answers"]
            await until(lambda: done == ["a0"])


def test_an_event_loop_that_is_blocked_stops_the_worker() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=50, check=False
    )
    assert ran.returncode == EXIT_STUCK
    assert "in blocked" in ran.stderr
    assert "the event loop is blocked" in ran.stdout + ran.stderr
