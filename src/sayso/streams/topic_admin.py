"""The broker's topics through its admin client, its answers as ours."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from pydantic import SecretStr

from sayso.streams.client_config import librdkafka_settings
from sayso.streams.contact import ANSWER_SECONDS, Contact
from sayso.streams.errors import TopicsMismatch
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_plan import ActualTopic, Alteration, WantedTopic

_WORK_SECONDS: Final = 30.0


class TopicAdmin:
    """Reads, creates and changes topics. Everything raises BrokerUnreachable."""

    def __init__(self, kafka: KafkaSettings, *, password: SecretStr | None = None) -> None:
        self._contact = Contact(kafka)
        settings: dict[str, Any] = {**librdkafka_settings(kafka, password=password)}
        settings["error_cb"] = self._contact.heard
        self._client = AdminClient(settings)

    def actual(self, wanted: Iterable[WantedTopic]) -> dict[str, ActualTopic]:
        """Those of the wanted topics that exist."""
        known = self._metadata()
        found = [topic.name for topic in wanted if topic.name in known]
        if not found:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in found]
        answers = self._client.describe_configs(resources, request_timeout=_WORK_SECONDS)
        configs: dict[str, dict[str, str]] = {}
        for resource, answer in answers.items():
            with self._contact.made(self._listen):
                entries = answer.result()
            configs[resource.name] = {name: entry.value for name, entry in entries.items()}
        return {
            name: ActualTopic(
                partitions=len(known[name].partitions),
                replication=min(
                    (len(one.replicas) for one in known[name].partitions.values()), default=0
                ),
                config=configs[name],
            )
            for name in found
        }

    def create(self, topics: Sequence[WantedTopic]) -> None:
        """Create topics; one that another host just created is as good."""
        if not topics:
            return
        new = [
            NewTopic(
                topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication,
                config={**topic.config, **topic.tuning},
            )
            for topic in topics
        ]
        answers = self._client.create_topics(
            new, operation_timeout=_WORK_SECONDS, request_timeout=_WORK_SECONDS
        )
        self._settle("created", answers, but=KafkaError.TOPIC_ALREADY_EXISTS)

    def alter(self, alterations: Sequence[Alteration]) -> None:
        """Change settings of topics."""
        if not alterations:
            return
        entries: dict[str, list[ConfigEntry]] = {}
        for one in alterations:
            operation = AlterConfigOpType.SET
            entry = ConfigEntry(one.setting, one.wanted, incremental_operation=operation)
            entries.setdefault(one.topic, []).append(entry)
        resources = [
            ConfigResource(ResourceType.TOPIC, name, incremental_configs=changed)
            for name, changed in entries.items()
        ]
        answers = self._client.incremental_alter_configs(resources, request_timeout=_WORK_SECONDS)
        self._settle("changed", {one.name: answer for one, answer in answers.items()})

    def wait_for(self, topics: Sequence[WantedTopic]) -> None:
        """Wait until every partition has a leader, as a worker needs it."""
        deadline = time.monotonic() + _WORK_SECONDS
        while waiting := self._not_ready(topics):
            if time.monotonic() > deadline:
                raise TopicsMismatch(
                    [f"topic {name} was created but has no leader yet" for name in waiting]
                )
            time.sleep(0.05)

    def _not_ready(self, topics: Sequence[WantedTopic]) -> list[str]:
        if not topics:
            return []
        known = self._metadata()
        not_ready = [
            topic.name
            for topic in topics
            if topic.name not in known
            or len(known[topic.name].partitions) < topic.partitions
            or any(one.leader < 0 for one in known[topic.name].partitions.values())
        ]
        return not_ready or self._not_led(topics)

    def _not_led(self, topics: Sequence[WantedTopic]) -> list[str]:
        # A broker is named leader a moment before it knows of it itself.
        spec: Any = OffsetSpec  # its functions carry no types
        asked = {
            TopicPartition(topic.name, number): spec.latest()
            for topic in topics
            for number in range(topic.partitions)
        }
        answers = self._client.list_offsets(asked, request_timeout=_WORK_SECONDS)
        return sorted({at.topic for at, answer in answers.items() if answer.exception()})

    def _metadata(self) -> Mapping[str, Any]:
        with self._contact.made(self._listen):
            topics: Mapping[str, Any] = self._client.list_topics(timeout=ANSWER_SECONDS).topics
        return topics

    def _listen(self) -> None:
        self._client.poll(0)

    def _settle(self, done: str, answers: Mapping[str, Any], *, but: int | None = None) -> None:
        problems = []
        for name, answer in answers.items():
            try:
                with self._contact.made(self._listen):
                    answer.result()
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() != but:
                    problems.append(f"topic {name} cannot be {done}: {error.str()}")
        if problems:
            raise TopicsMismatch(problems)
