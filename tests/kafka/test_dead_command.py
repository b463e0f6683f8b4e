"""`sayso dead` as an operator uses it, with a worker that fails and one that is mended."""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import typer
from click.testing import Result
from confluent_kafka import Producer
from one_agent import prepared, publish, until, working
from typer.testing import CliRunner

from sayso.cli import dead
from sayso.schemas.audit import AuditEntry
from sayso.schemas.tick import Tick
from sayso.streams.app import Pipeline
from sayso.streams.codec import decode
from sayso.streams.dead_letters import read_cases
from sayso.streams.delivery import Delivery
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings

pytestmark = pytest.mark.kafka

app = typer.Typer()
app.add_typer(dead.app, name="dead")

DIED, WAITS, POISON = "ticks:0:0", "ticks:0:1", "ticks:0:2"


@pytest.fixture
def kafka(
    kafka_bootstrap: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> KafkaSettings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAYSO_KAFKA__BOOTSTRAP", kafka_bootstrap)
    monkeypatch.setenv("SAYSO_KAFKA__PREFIX", prefix)
    monkeypatch.setenv("SAYSO_KAFKA__PARTITIONS", "1")
    return prepared(kafka_bootstrap, prefix)


class Worker:
    """Fails on the ids in `bad`, in words that a terminal must not obey."""

    def __init__(self, kafka: KafkaSettings, folder: Path) -> None:
        self._kafka, self._folder = kafka, folder
        self.bad = {"a0"}
        self.done: list[str] = []

    async def handle(self, tick: Tick, delivery: Delivery) -> None:
        if tick.id in self.bad:
            raise ZeroDivisionError("[bold]no\x1b[2Jway")
        self.done.append(tick.id)

    def running(self) -> AbstractAsyncContextManager[Pipeline]:
        return working(self._kafka, self._folder, self.handle, parks=True, dead_ratio=1)


@pytest.fixture
async def worker(kafka: KafkaSettings, tmp_path: Path) -> Worker:
    """One that left a record that died, one that waits for it, and one that cannot be read."""
    worker = Worker(kafka, tmp_path)
    publish(kafka, "a0", "a1")
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce(f"{kafka.prefix}ticks", key=b"acme/CB", value=b"{no json")
    assert producer.flush(10) == 0
    publish(kafka, "c0")
    async with worker.running():
        await until(lambda: worker.done == ["c0"])
    worker.bad = set()
    return worker


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, ["dead", *arguments])


def ids(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line)["id"] for line in result.stdout.splitlines()]


def states(kafka: KafkaSettings) -> dict[str, str]:
    prefix = kafka.prefix
    return {name.removeprefix(prefix): case.state for name, case in read_cases(kafka).by_id.items()}


async def test_without_letters_each_says_so(kafka: KafkaSettings) -> None:
    assert "no dead letters" in (await run("list")).stdout
    assert ids(await run("list", "--json")) == []
    assert "no dead letters" in (await run("requeue", "--all")).stdout


async def test_list_and_show(kafka: KafkaSettings, worker: Worker) -> None:
    died, poison = (f"{kafka.prefix}{one}" for one in (DIED, POISON))
    assert ids(await run("list", "--json")) == [died, poison]
    assert ids(await run("list", "--json", "--error", "ZeroDivisionError")) == [died]
    assert ids(await run("list", "--json", "--topic", "status")) == []
    assert ids(await run("list", "--json", "--from", "1h")) == [died, poison]
    assert ids(await run("list", "--json", "--to", "1h")) == []

    table = (await run("list")).stdout
    assert died in table
    assert "[bold]no" in table
    assert "\x1b" not in table

    shown = (await run("show", died)).stdout
    assert "unknown: ZeroDivisionError" in shown
    assert f"{kafka.prefix}{WAITS}" in shown
    (line,) = (await run("show", died, "--json")).stdout.splitlines()
    case = json.loads(line)
    assert (case["state"], case["waiting"]) == ("open", [f"{kafka.prefix}{WAITS}"])
    assert "{no json" in (await run("show", poison)).stdout


async def test_wrong_use_changes_nothing(kafka: KafkaSettings, worker: Worker) -> None:
    died = f"{kafka.prefix}{DIED}"
    assert (await run("requeue")).exit_code == 2
    assert (await run("requeue", died, "--all")).exit_code == 2
    assert (await run("list", "--from", "yesterday-ish")).exit_code == 2
    unknown = await run("drop", died, "ticks:9:9")
    assert unknown.exit_code == 1
    assert "there is no dead letter ticks:9:9" in unknown.stderr
    dry = await run("requeue", died, "--dry-run")
    assert dry.stdout == f"{died} would be put back, and 1 that wait for it\n"
    assert states(kafka) == {DIED: "open", POISON: "open"}


async def test_requeue_brings_back_what_waits_and_drop_closes(
    kafka: KafkaSettings, worker: Worker
) -> None:
    died, poison = (f"{kafka.prefix}{one}" for one in (DIED, POISON))
    async with worker.running():
        back = await run("requeue", died, "--reason", "mended", "--json")
        assert ids(back) == [died]
        assert json.loads(back.stdout)["records"] == 2
        await until(lambda: worker.done == ["c0", "a0", "a1"])
        dropped = await run("drop", "--all", "--reason", "test data")
        assert dropped.stdout == f"{poison} dropped\n"
        again = await run("requeue", died)
        assert again.exit_code == 0

    assert states(kafka) == {DIED: "requeued", POISON: "dropped"}
    assert ids(await run("list", "--json")) == []
    assert ids(await run("list", "--json", "--closed")) == [died, poison]
    reasons = [decode(AuditEntry, raw.value or b"").reason for raw in read_topic(kafka, "audit")]
    assert reasons[:2] == ["mended", "test data"]


async def test_without_a_worker_it_says_what_is_missing(
    kafka: KafkaSettings, worker: Worker
) -> None:
    result = await run("requeue", f"{kafka.prefix}{DIED}", "--wait", "0")
    assert result.exit_code == 1
    assert "no worker has taken it up yet" in result.stderr
