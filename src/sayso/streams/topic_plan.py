"""What has to be done so that the broker's topics are what this build needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class WantedTopic:
    """One topic as it has to be."""

    name: str
    """As the broker knows it, prefix included."""
    partitions: int
    replication: int
    config: Mapping[str, str]
    """What a worker relies on: kept how, for how long, how large a record."""
    tuning: Mapping[str, str] = field(default_factory=dict)
    """Set by `apply`, but a broker that insists on other values keeps nobody from working."""


@dataclass(frozen=True, kw_only=True)
class ActualTopic:
    """One topic as the broker has it."""

    partitions: int
    replication: int
    config: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Alteration:
    """One setting of a topic to be changed."""

    topic: str
    setting: str
    now: str
    wanted: str
    matters: bool
    """False for tuning."""

    def __str__(self) -> str:
        return f"topic {self.topic} has {self.setting} {self.now}, wanted {self.wanted}"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The way from what is to what is wanted."""

    create: tuple[WantedTopic, ...]
    alter: tuple[Alteration, ...]
    refused: tuple[str, ...]
    """What cannot be changed, a sentence each with the mend."""

    @property
    def problems(self) -> list[str]:
        """What keeps a worker from starting, a sentence each with the mend."""
        mend = "run `sayso topics apply`"
        return [
            *(f"topic {topic.name} does not exist: {mend}" for topic in self.create),
            *(f"{alteration}: {mend}" for alteration in self.alter if alteration.matters),
            *self.refused,
        ]


def make_plan(wanted: Sequence[WantedTopic], actual: Mapping[str, ActualTopic]) -> Plan:
    """Compare; `actual` holds at least those of the wanted topics that exist."""
    here = [(topic, actual[topic.name]) for topic in wanted if topic.name in actual]
    return Plan(
        create=tuple(topic for topic in wanted if topic.name not in actual),
        alter=tuple(one for topic, is_ in here for one in _alterations(topic, is_)),
        refused=tuple(one for topic, is_ in here for one in _refusals(topic, is_)),
    )


def _alterations(topic: WantedTopic, actual: ActualTopic) -> Iterator[Alteration]:
    for values, matters in ((topic.config, True), (topic.tuning, False)):
        for setting, value in values.items():
            now = actual.config.get(setting, "unset")
            if now != value:
                yield Alteration(
                    topic=topic.name, setting=setting, now=now, wanted=value, matters=matters
                )


def _refusals(topic: WantedTopic, actual: ActualTopic) -> Iterator[str]:
    if actual.partitions != topic.partitions:
        yield (
            f"topic {topic.name} has {actual.partitions} partitions, wanted {topic.partitions}: "
            "that cannot be changed, since each table's rows stay on the partition of their key; "
            f"set kafka.partitions to {actual.partitions}, or start afresh under another "
            "kafka.prefix and replay"
        )
    if actual.replication < topic.replication:
        yield (
            f"topic {topic.name} has replication {actual.replication}, wanted {topic.replication}: "
            "add replicas with Kafka's kafka-reassign-partitions, or set kafka.replication to "
            f"{actual.replication}"
        )
