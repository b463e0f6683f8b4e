"""Rounds of the engine job, Sayso and Quix Streams in turn on one broker."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from job import INPUT, OUTPUT, PARTITIONS, STATUS, expected, orders
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_admin import TopicAdmin
from sayso.streams.topic_plan import WantedTopic
from sayso.streams.topics import app_id, changelog_name

HERE = Path(__file__).parent
_STALL = 120.0
"""Seconds without progress after which a worker is given up."""
_STOP = 20.0
_LOOK = 0.05


class BenchFailed(Exception):
    """A measurement would not mean anything; the message says why."""


@dataclass(frozen=True)
class Round:
    """One engine, one round."""

    engine: str
    records_per_s: float
    cpu_s_per_1000: float
    peak_mb: float


@dataclass(frozen=True)
class Engine:
    """How to start one engine's worker."""

    name: str
    python: str
    script: str


def engines(quix_python: str) -> tuple[Engine, Engine]:
    """The two that are compared."""
    return (
        Engine("sayso", sys.executable, "sayso_worker.py"),
        Engine("quix streams", quix_python, "quix_worker.py"),
    )


def run_round(
    engine: Engine, *, bootstrap: str, count: int, folder: Path, done: Callable[[float], None]
) -> Round:
    """Fill the input, start the worker, and measure from its first output to its last.

    `done` is told the share of the work that is done. Raises BenchFailed when the outputs are not
    those that the job has to come to.
    """
    prefix = f"b{uuid.uuid4().hex[:8]}."
    kafka = KafkaSettings(bootstrap=bootstrap, prefix=prefix, partitions=PARTITIONS)
    _prepare(kafka, count)
    wanted = expected(count)
    state = folder / prefix
    state.mkdir(parents=True)
    with _worker(engine, kafka, state) as worker:
        watched = _watch(worker, kafka, len(wanted), done)
    stamps = []
    for topic in (OUTPUT, STATUS):
        records = list(read_topic(kafka, topic))
        found = {json.loads(record.value or b"{}")["id"] for record in records}
        if found != wanted:
            raise BenchFailed(
                f"{engine.name} did not do the job: {topic} holds {len(found & wanted)} of "
                f"{len(wanted)} ids, and {len(found - wanted)} others"
            )
        stamps += [record.timestamp_ms for record in records]
    shutil.rmtree(state)
    seconds = max((max(stamps) - min(stamps)) / 1000, 0.001)
    return Round(
        engine=engine.name,
        records_per_s=count / seconds,
        cpu_s_per_1000=watched.cpu_per_status * len(wanted) / count * 1000,
        peak_mb=watched.peak_mb,
    )


def _prepare(kafka: KafkaSettings, count: int) -> None:
    # The broker stamps the records: engines differ in the time that they give an output.
    stamped = {"message.timestamp.type": "LogAppendTime"}
    topics = [
        *(_topic(kafka.prefix + name, stamped) for name in (INPUT, OUTPUT, STATUS, "dead")),
        # Quix Streams makes its changelog itself, with the same policy.
        _topic(changelog_name(app_id(kafka), "seen"), {"cleanup.policy": "compact"}),
    ]
    admin = TopicAdmin(kafka)
    admin.create(topics)
    admin.wait_for(topics)
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "log_level": 0,
            "linger.ms": 20,
            "partitioner": "murmur2_random",
            "queue.buffering.max.messages": count + 1,
        }
    )
    for order in orders(count):
        producer.produce(kafka.prefix + INPUT, key=order.id, value=order.model_dump_json().encode())
    if producer.flush(120):
        raise BenchFailed("the input could not be written")


def _topic(name: str, config: dict[str, str]) -> WantedTopic:
    return WantedTopic(name=name, partitions=PARTITIONS, replication=1, config=config)


@contextmanager
def _worker(engine: Engine, kafka: KafkaSettings, state: Path) -> Iterator[subprocess.Popen[bytes]]:
    log = state.with_suffix(".log")
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [engine.python, str(HERE / engine.script), kafka.bootstrap, kafka.prefix, str(state)],
            # Kept open while we live, so that a worker never outlives us.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(HERE)},
            # An interrupt is ours to handle; the worker is then stopped below.
            start_new_session=True,
        )
    try:
        yield worker
    except BenchFailed as error:
        said = log.read_text(encoding="utf-8", errors="replace")[-2_000:]
        raise BenchFailed(f"{engine.name}: {error}\n{said}") from error
    finally:
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(_STOP)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        if worker.stdin is not None:
            worker.stdin.close()


@dataclass(frozen=True)
class _Watched:
    cpu_per_status: float
    """Seconds, start-up left out."""
    peak_mb: float


def _watch(
    worker: subprocess.Popen[bytes],
    kafka: KafkaSettings,
    wanted: int,
    done: Callable[[float], None],
) -> _Watched:
    process = psutil.Process(worker.pid)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    first: tuple[int, float] | None = None
    last, moved, peak = 0, time.monotonic(), 0.0
    while True:
        if worker.poll() is not None:
            raise BenchFailed(f"the worker stopped with exit code {worker.returncode}")
        cpu = sum(process.cpu_times()[:2])
        peak = max(peak, process.memory_info().rss / 1e6)
        written = _written(admin, kafka)
        if written and first is None:
            first = (written, cpu)
        if first is not None and written >= wanted:
            return _Watched((cpu - first[1]) / max(written - first[0], 1), peak)
        if written != last:
            last, moved = written, time.monotonic()
            done(written / wanted)
        elif time.monotonic() - moved > _STALL:
            raise BenchFailed(f"no progress for {_STALL:.0f} s at {written} of {wanted}")
        time.sleep(_LOOK)


def _written(admin: AdminClient, kafka: KafkaSettings) -> int:
    spec: Any = OffsetSpec  # its functions carry no types
    asked = {
        TopicPartition(kafka.prefix + STATUS, number): spec.latest() for number in range(PARTITIONS)
    }
    return sum(future.result(10).offset for future in admin.list_offsets(asked).values())
