"""Topics on the broker: named, created, changed and checked by us, never by Faust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from sayso.schemas.topics import DAY_MS, TOPICS, TopicSpec
from sayso.streams.errors import TopicsMismatch
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_admin import TopicAdmin
from sayso.streams.topic_plan import Alteration, Plan, WantedTopic, make_plan

PARKED_KEYS: Final = "parked_keys"
"""The table that every app has: keys that are held, by agent and record key."""

_CHANGELOG_BYTES: Final = 1_048_588

_COMPACTED: Final = {
    "cleanup.policy": "compact",
    # Longer than a consumer may be away; one that comes later misses removals.
    "delete.retention.ms": str(7 * DAY_MS),
    # What was removed is gone from the disk after this.
    "max.compaction.lag.ms": str(7 * DAY_MS),
}
_COMPACTED_TUNING: Final = {
    "min.cleanable.dirty.ratio": "0.2",
    # The newest segment is never compacted.
    "segment.ms": str(60 * 60 * 1000),
}


@dataclass(frozen=True, kw_only=True)
class ApplyReport:
    """What `apply_topics` did."""

    created: tuple[str, ...]
    altered: tuple[Alteration, ...]
    unchanged: tuple[str, ...]


def app_id(kafka: KafkaSettings) -> str:
    """The Faust app's id: its consumer group, and the start of its changelogs' names."""
    return f"{kafka.prefix}sayso"


def changelog_name(app: str, table: str) -> str:
    """The changelog topic of a table, as Faust names it."""
    return f"{app}-{table}-changelog"


def wanted_topics(kafka: KafkaSettings, *, tables: Sequence[str]) -> tuple[WantedTopic, ...]:
    """Every topic of this build under the prefix: those of records, then the tables' changelogs."""
    return (
        *(_records(kafka, spec) for spec in TOPICS),
        *(
            _changelog(kafka, changelog_name(app_id(kafka), table))
            for table in (*tables, PARKED_KEYS)
        ),
    )


def plan_topics(
    kafka: KafkaSettings, wanted: Sequence[WantedTopic], *, password: SecretStr | None = None
) -> Plan:
    """What `apply_topics` would do. Raises BrokerUnreachable."""
    return make_plan(wanted, TopicAdmin(kafka, password=password).actual(wanted))


def check_topics(
    kafka: KafkaSettings, wanted: Sequence[WantedTopic], *, password: SecretStr | None = None
) -> None:
    """Raise TopicsMismatch with a sentence per problem and its mend; BrokerUnreachable."""
    problems = plan_topics(kafka, wanted, password=password).problems
    if problems:
        raise TopicsMismatch(problems)


def apply_topics(
    kafka: KafkaSettings, wanted: Sequence[WantedTopic], *, password: SecretStr | None = None
) -> ApplyReport:
    """Create what is missing, change what may change; return once all of it can be used.

    Raises TopicsMismatch, before anything is done, when something differs that cannot be changed;
    also when the broker refuses. Raises BrokerUnreachable.
    """
    admin = TopicAdmin(kafka, password=password)
    plan = make_plan(wanted, admin.actual(wanted))
    if plan.refused:
        raise TopicsMismatch(plan.refused)
    admin.create(plan.create)
    admin.alter(plan.alter)
    admin.wait_for(plan.create)
    touched = {*(topic.name for topic in plan.create), *(one.topic for one in plan.alter)}
    return ApplyReport(
        created=tuple(topic.name for topic in plan.create),
        altered=plan.alter,
        unchanged=tuple(topic.name for topic in wanted if topic.name not in touched),
    )


def _records(kafka: KafkaSettings, spec: TopicSpec) -> WantedTopic:
    size = {"max.message.bytes": str(spec.max_message_bytes)}
    if spec.compacted:
        return _compacted(kafka, kafka.prefix + spec.name, size)
    return WantedTopic(
        name=kafka.prefix + spec.name,
        partitions=kafka.partitions,
        replication=kafka.replication,
        config={
            "cleanup.policy": "delete",
            "retention.ms": str(spec.retention_ms),
            # A cluster's own limit in bytes would cut short what is kept for ever.
            "retention.bytes": "-1",
            **size,
        },
    )


def _changelog(kafka: KafkaSettings, name: str) -> WantedTopic:
    # Compacted only: a worker hangs in recovery when retention empties a changelog.
    return _compacted(kafka, name, {"max.message.bytes": str(_CHANGELOG_BYTES)})


def _compacted(kafka: KafkaSettings, name: str, size: Mapping[str, str]) -> WantedTopic:
    return WantedTopic(
        name=name,
        partitions=kafka.partitions,
        replication=kafka.replication,
        config={**_COMPACTED, **size},
        tuning=_COMPACTED_TUNING,
    )
