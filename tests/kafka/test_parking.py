"""Later records of a key wait in order behind one that died, on a real Faust app."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from one_agent import prepared, publish, until, working

from sayso.schemas.audit import AuditEntry
from sayso.schemas.tick import Tick
from sayso.streams.app import Pipeline
from sayso.streams.codec import decode
from sayso.streams.dead_letters import Case, read_cases
from sayso.streams.delivery import Delivery
from sayso.streams.reader import read_topic
from sayso.streams.requeue import PutBack, Requeue
from sayso.streams.settings import KafkaSettings

pytestmark = pytest.mark.kafka


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    return prepared(kafka_bootstrap, prefix, partitions=2)


class Worker:
    """An agent that fails on the ids in `bad` and keeps what it did."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._kafka = kafka
        self.bad: set[str] = set()
        self.done: list[str] = []

    async def handle(self, tick: Tick, delivery: Delivery) -> None:
        if tick.id in self.bad:
            raise ZeroDivisionError(f"cannot do {tick.id}")
        self.done.append(tick.id)

    def running(self, folder: Path) -> AbstractAsyncContextManager[Pipeline]:
        return working(
            self._kafka, folder, self.handle, parks=True, dead_ratio=1, dead_consecutive=100
        )


def open_cases(kafka: KafkaSettings) -> list[Case]:
    return [case for case in read_cases(kafka).by_id.values() if case.state == "open"]


async def act(
    kafka: KafkaSettings, do: Callable[[Requeue, Case], PutBack], *, case: Case | None = None
) -> PutBack:
    (only,) = [case] if case is not None else await asyncio.to_thread(open_cases, kafka)
    return await asyncio.to_thread(do, Requeue(kafka), only)


def requeue(requeueing: Requeue, case: Case) -> PutBack:
    return requeueing.requeue(case, reason="mended", wait=20)


def drop(requeueing: Requeue, case: Case) -> PutBack:
    return requeueing.drop(case, wait=20)


def empty(folder: Path) -> None:
    """Remove what a worker keeps on disk, except for its name in the group.

    A new name would have to wait until the broker gives the old one up.
    """
    for kept in folder.iterdir():
        if kept.name != "instance-id":
            shutil.rmtree(kept)


async def test_records_of_a_key_wait_behind_a_dead_one_and_come_back_in_order(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    worker = Worker(kafka)
    worker.bad = {"a1"}
    publish(kafka, "a0", "a1", "a2", "b0", "a3", "b1")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [2])
        await until(lambda: "b1" in worker.done)
        # Other keys go on.
        assert [one for one in worker.done if one[0] == "a"] == ["a0"]
        assert [one for one in worker.done if one[0] == "b"] == ["b0", "b1"]
        worker.bad = set()
        assert await act(kafka, requeue) == PutBack(records=3)
        assert [one for one in worker.done if one[0] == "a"] == ["a0", "a1", "a2", "a3"]
        # The key is free again.
        publish(kafka, "a4")
        await until(lambda: worker.done[-1] == "a4")

    assert open_cases(kafka) == []
    (case,) = read_cases(kafka).by_id.values()
    assert (case.state, case.letter.error) == ("requeued", "ZeroDivisionError")
    (entry,) = (decode(AuditEntry, raw.value or b"") for raw in read_topic(kafka, "audit"))
    assert (entry.action, entry.target, entry.reason) == ("dead.requeue", case.id, "mended")


async def test_what_was_held_is_held_after_a_restart_on_an_empty_folder(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    worker = Worker(kafka)
    worker.bad = {"a0"}
    publish(kafka, "a0", "a1")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [1])
    worker.bad = set()
    publish(kafka, "a2")
    empty(tmp_path)
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [2])
        assert worker.done == []
        await act(kafka, requeue)
    assert worker.done == ["a0", "a1", "a2"]


async def test_a_dropped_record_is_passed_over_and_those_behind_it_are_not(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    worker = Worker(kafka)
    worker.bad = {"a0"}
    publish(kafka, "a0", "a1", "a2")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [2])
        await act(kafka, drop)

    assert worker.done == ["a1", "a2"]
    assert [case.state for case in read_cases(kafka).by_id.values()] == ["dropped"]


async def test_one_that_dies_in_its_turn_holds_those_behind_it(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    worker = Worker(kafka)
    worker.bad = {"a0", "a2"}
    publish(kafka, "a0", "a1", "a2", "a3")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [3])
        again = await act(kafka, requeue)
        assert again.problem is not None
        assert again.problem.startswith("it died again")
        worker.bad = {"a2"}
        later = await act(kafka, requeue)
        assert later.problem is not None
        assert "which waited, died" in later.problem
        assert worker.done == ["a0", "a1"]
        worker.bad = set()
        assert await act(kafka, requeue) == PutBack(records=2)

    assert worker.done == ["a0", "a1", "a2", "a3"]
    assert open_cases(kafka) == []


async def test_putting_back_twice_changes_nothing(kafka: KafkaSettings, tmp_path: Path) -> None:
    worker = Worker(kafka)
    worker.bad = {"a0"}
    publish(kafka, "a0", "a1", "a2")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [2])
        (case,) = open_cases(kafka)
        worker.bad = set()
        await act(kafka, requeue, case=case)
        await act(kafka, requeue, case=case)
        publish(kafka, "a3")
        await until(lambda: worker.done[-1] == "a3")

    # A dead record may be taken up twice, as any; those that waited are not, nor out of order.
    assert worker.done == ["a0", "a1", "a2", "a0", "a3"]


async def test_without_a_worker_it_says_so_and_can_be_done_again(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    worker = Worker(kafka)
    worker.bad = {"a0"}
    publish(kafka, "a0", "a1")
    async with worker.running(tmp_path):
        await until(lambda: [len(case.waiting) for case in open_cases(kafka)] == [1])
    worker.bad = set()
    alone = await act(kafka, lambda requeueing, case: requeueing.requeue(case, wait=0))
    assert alone.problem is not None
    assert alone.problem.startswith("no worker")
    async with worker.running(tmp_path):
        await until(lambda: worker.done == ["a0", "a1"])
        await until(lambda: open_cases(kafka) == [])
