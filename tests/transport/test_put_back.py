"""Records that a fetch brought across a rebalance are read again, unless somebody sought since."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from driving import PATIENCE, Driver, Read, create_topic, make_app, publish, running, until
from faust.types import TP

from sayso.streams.settings import KafkaSettings

pytestmark = pytest.mark.kafka

VALUES = [b"%d" % number for number in range(30)]


class Probe:
    """An app whose first fetch that brings anything comes back to another generation."""

    def __init__(self, kafka: KafkaSettings, folder: Path, topic: str) -> None:
        self.seen: list[bytes | None] = []
        self.crossed = False
        self.app: Any = make_app(
            Driver.OURS, kafka, folder=folder, topics=[topic], handle=self._handle
        )

    async def _handle(self, read: Read) -> None:
        self.seen.append(read.value)

    def rebalance_in_flight(self, meanwhile: Callable[[Any], Awaitable[None]]) -> None:
        """Let the generation change after the next fetch, and `meanwhile` happen."""
        consumer = self.app.consumer
        fetch = consumer._getmany

        async def crossed(active: Any, timeout: float) -> Any:  # noqa: ASYNC109 - as Faust's
            fetched = await fetch(active, timeout)
            if fetched:
                del consumer._getmany
                self.app.consumer_generation_id += 1
                await meanwhile(consumer)
                self.crossed = True
            return fetched

        consumer._getmany = crossed


async def nothing(consumer: Any) -> None:
    """The rebalance sought before the fetch: nobody seeks any more."""


async def test_every_record_of_a_fetch_that_crossed_a_rebalance_is_processed(
    kafka: KafkaSettings, tmp_path: Path
) -> None:
    topic = create_topic(kafka, "source", partitions=1)
    publish(kafka, topic, VALUES)
    probe = Probe(kafka, tmp_path, topic)
    probe.rebalance_in_flight(nothing)
    async with running(probe.app):
        await until(lambda: probe.crossed)
        publish(kafka, topic, [b"last"])
        await until(lambda: b"last" in probe.seen)

    assert probe.seen == [*VALUES, b"last"]


async def test_a_gap_behind_the_fetch_changes_nothing(kafka: KafkaSettings, tmp_path: Path) -> None:
    """A transaction's marker, or a record that compaction took, is passed over by the client."""
    topic = create_topic(kafka, "source", partitions=1)
    producer = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{kafka.prefix}writer"}
    )
    producer.init_transactions(PATIENCE)
    producer.begin_transaction()
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    producer.commit_transaction(PATIENCE)
    probe = Probe(kafka, tmp_path, topic)
    probe.rebalance_in_flight(nothing)
    async with running(probe.app):
        await until(lambda: probe.crossed)
        publish(kafka, topic, [b"last"])
        await until(lambda: b"last" in probe.seen)

    assert probe.seen == [*VALUES, b"last"]


async def test_a_seek_made_meanwhile_wins(kafka: KafkaSettings, tmp_path: Path) -> None:
    topic = create_topic(kafka, "source", partitions=1)
    publish(kafka, topic, VALUES)
    probe = Probe(kafka, tmp_path, topic)

    async def seek(consumer: Any) -> None:
        async def in_its_thread() -> None:
            consumer._thread.seek(TP(topic, 0), 10)

        await consumer._thread.call_thread(in_its_thread)

    probe.rebalance_in_flight(seek)
    async with running(probe.app):
        await until(lambda: probe.crossed)
        publish(kafka, topic, [b"last"])
        await until(lambda: b"last" in probe.seen)

    assert probe.seen == [*VALUES[10:], b"last"]
