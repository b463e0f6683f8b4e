"""Rounds of the engine job, Sayso and Quix Streams in turn on one broker."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from job import INPUT, OUTPUT, PARTITIONS, STATUS, expected, orders
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import app_id, changelog_name

HERE = Path(__file__).parent
_STALL = 120.0


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


def engines(bench_python: str) -> tuple[Engine, Engine]:
    """The two that are compared."""
    return (
        Engine("sayso", sys.executable, "sayso_worker.py"),
        Engine("quix streams", bench_python, "quix_worker.py"),
    )


def run_round(
    engine: Engine, *, bootstrap: str, count: int, folder: Path, advance: Callable[[], None]
) -> Round:
    """Fill the input, start the worker, and measure from its first output to its last.

    Raises RuntimeError when the outputs are not those that the job has to come to.
    """
    prefix = f"b{uuid.uuid4().hex[:8]}."
    kafka = KafkaSettings(bootstrap=bootstrap, prefix=prefix, partitions=PARTITIONS)
    _prepare(kafka, count)
    state = folder / prefix
    state.mkdir(parents=True)
    wanted = expected(count)
    with (folder / f"{engine.name}.log").open("ab") as log:
        worker = subprocess.Popen(
            [engine.python, str(HERE / engine.script), bootstrap, prefix, str(state)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(HERE)},
        )
    try:
        cpu, peak = _watch(worker, kafka, len(wanted))
    finally:
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    records = list(read_topic(kafka, OUTPUT))
    ids = {json.loads(record.value or b"{}")["id"] for record in records}
    states = {json.loads(one.value or b"{}")["id"] for one in read_topic(kafka, STATUS)}
    if ids != wanted or states != wanted:
        raise RuntimeError(
            f"{engine.name} did not do the job: {len(ids)} outputs and {len(states)} statuses "
            f"of {len(wanted)}; see {folder / engine.name}.log"
        )
    stamps = [record.timestamp_ms for record in records]
    seconds = max((max(stamps) - min(stamps)) / 1000, 0.001)
    shutil.rmtree(state)
    advance()
    return Round(
        engine=engine.name,
        records_per_s=count / seconds,
        cpu_s_per_1000=cpu / count * 1000,
        peak_mb=peak,
    )


def spread(values: list[float]) -> str:
    """Median, least and most."""
    return f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"


def _prepare(kafka: KafkaSettings, count: int) -> None:
    names = [kafka.prefix + name for name in (INPUT, OUTPUT, STATUS, "dead")]
    # The broker stamps the records: engines differ in the time that they give an output.
    stamped = {"message.timestamp.type": "LogAppendTime"}
    topics = [NewTopic(name, PARTITIONS, 1, config=stamped) for name in names]
    changelog = changelog_name(app_id(kafka), "seen")
    topics.append(NewTopic(changelog, PARTITIONS, 1, config={"cleanup.policy": "compact"}))
    for future in _admin(kafka).create_topics(topics).values():
        future.result(30)
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
        raise RuntimeError("the input could not be written")


def _watch(
    worker: subprocess.Popen[bytes], kafka: KafkaSettings, wanted: int
) -> tuple[float, float]:
    """CPU seconds from the first output on, and the most megabytes seen."""
    process = psutil.Process(worker.pid)
    started, peak = 0.0, 0.0
    last, moved = 0, time.monotonic()
    while True:
        if worker.poll() is not None:
            raise RuntimeError(f"the worker stopped with exit code {worker.returncode}")
        times = process.cpu_times()
        peak = max(peak, process.memory_info().rss / 1e6)
        done = _written(kafka, STATUS)
        if done and not last:
            started = times.user + times.system
        if done >= wanted:
            return times.user + times.system - started, peak
        if done != last:
            last, moved = done, time.monotonic()
        elif time.monotonic() - moved > _STALL:
            raise RuntimeError(f"no progress at {done} of {wanted}")
        time.sleep(0.05)


def _written(kafka: KafkaSettings, topic: str) -> int:
    asked = {
        TopicPartition(kafka.prefix + topic, number): OffsetSpec.latest()
        for number in range(PARTITIONS)
    }
    return sum(future.result(10).offset for future in _admin(kafka).list_offsets(asked).values())


@cache
def _client(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def _admin(kafka: KafkaSettings) -> AdminClient:
    return _client(kafka.bootstrap)
