"""Asking a worker over Kafka: publish a record, then follow what comes back on another topic."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from pydantic import BaseModel, SecretStr

from sayso.schemas.headers import cloud_headers
from sayso.schemas.record import Record
from sayso.streams.client_config import librdkafka_settings
from sayso.streams.codec import decode, encode
from sayso.streams.errors import BrokerUnreachable, Poison
from sayso.streams.group import count_workers
from sayso.streams.patience import patiently
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import app_id

M = TypeVar("M", bound=BaseModel)

_TIMEOUT: Final = 10.0
_POLL: Final = 0.2


class Asking(Generic[M]):
    """A question to the workers. A context manager: results count from the moment it is entered."""

    def __init__(
        self,
        kafka: KafkaSettings,
        *,
        results: str,
        model: type[M],
        password: SecretStr | None = None,
    ) -> None:
        self._kafka = kafka
        self._model = model
        self._password = password
        self._results = kafka.prefix + results
        self._connection = librdkafka_settings(kafka, password=password)
        self._consumer = Consumer(
            {
                **self._connection,
                # Without a group: nothing is committed, and other askers are not disturbed.
                "group.id": "sayso-unused",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
            }
        )

    def __enter__(self) -> Self:
        try:
            known = self._consumer.list_topics(self._results, timeout=_TIMEOUT)
            partitions = [
                TopicPartition(self._results, number, self._end(number))
                for number in known.topics[self._results].partitions
            ]
        except KafkaException as error:
            self._consumer.close()
            raise _unreachable(self._kafka, error) from error
        self._consumer.assign(partitions)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._consumer.close()

    def publish(self, topic: str, record: Record) -> None:
        """Publish the question and wait for its acknowledgement."""
        failures: list[KafkaError] = []
        producer = Producer({**self._connection, "acks": "all", "partitioner": "murmur2_random"})

        def delivered(failure: KafkaError | None, _: Any) -> None:
            if failure is not None:
                failures.append(failure)

        producer.produce(
            self._kafka.prefix + topic,
            key=record.key.encode(),
            value=encode(record),
            headers=list(cloud_headers(record)),
            on_delivery=delivered,
        )
        left = producer.flush(_TIMEOUT)
        if failures or left:
            raise _unreachable(self._kafka, failures[0] if failures else "no acknowledgement")

    def results(self) -> Iterator[M | None]:
        """Results as they come, for ever; None about five times a second while none do."""
        while True:
            message = self._consumer.poll(_POLL)
            if message is None:
                yield None
                continue
            value = message.value()
            if message.error() is None and value is not None:
                try:
                    yield decode(self._model, value)
                except Poison:
                    # Nobody's answer to us: the worker reports what it cannot read.
                    continue

    def workers(self) -> int:
        """How many workers are in the group now."""
        try:
            return count_workers(self._kafka, password=self._password)
        except KafkaException as error:
            raise _unreachable(self._kafka, error) from error

    def undone(self, topic: str) -> int:
        """How many records of a topic the workers have not committed yet."""
        name = self._kafka.prefix + topic
        try:
            parts = [
                TopicPartition(name, number)
                for number in self._consumer.list_topics(name, timeout=_TIMEOUT)
                .topics[name]
                .partitions
            ]
            asked = ConsumerGroupTopicPartitions(app_id(self._kafka), parts)
            admin = AdminClient(self._connection)
            (committed,) = admin.list_consumer_group_offsets([asked]).values()
            done = {
                part.partition: max(part.offset, 0) for part in committed.result().topic_partitions
            }
            ends = [
                self._consumer.get_watermark_offsets(part, timeout=_TIMEOUT)[1] for part in parts
            ]
        except KafkaException as error:
            raise _unreachable(self._kafka, error) from error
        return sum(end - done.get(part.partition, 0) for part, end in zip(parts, ends, strict=True))

    def _end(self, partition: int) -> int:
        at = TopicPartition(self._results, partition)
        for attempt in patiently(on=KafkaException, timeout=_TIMEOUT):
            # A topic made a moment ago may not have its leaders yet.
            with attempt:
                _, end = self._consumer.get_watermark_offsets(at, timeout=_TIMEOUT)
        return int(end)


def _unreachable(kafka: KafkaSettings, why: object) -> BrokerUnreachable:
    return BrokerUnreachable(
        f"no Kafka answers at {kafka.bootstrap} ({why}): start one with `sayso broker`, "
        "or correct kafka.bootstrap"
    )
