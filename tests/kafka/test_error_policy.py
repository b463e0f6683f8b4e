"""The error wrapper on a real Faust app: passing errors, unknown ones, and their limits."""

import asyncio
from pathlib import Path

import pytest
from one_agent import prepared, publish, until, working

from sayso.schemas.dead import DeadLetter
from sayso.schemas.tick import Tick
from sayso.streams import guard
from sayso.streams.codec import decode
from sayso.streams.delivery import Delivery
from sayso.streams.errors import Transient
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings

pytestmark = pytest.mark.kafka


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    return prepared(kafka_bootstrap, prefix)


def dead(kafka: KafkaSettings) -> list[DeadLetter]:
    return [decode(DeadLetter, raw.value or b"") for raw in read_topic(kafka, "dead")]


async def test_a_passing_error_is_tried_again_in_place_and_in_order(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    seen: list[str] = []

    async def handler(tick: Tick, delivery: Delivery) -> None:
        seen.append(tick.id)
        if tick.id == "1" and seen.count("1") < 3:
            raise Transient("busy", retry_after=0.01)

    publish(kafka, "0", "1", "2")
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

    publish(kafka, "0", "1")
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

    publish(kafka, "0", "1", "2", "3")
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
