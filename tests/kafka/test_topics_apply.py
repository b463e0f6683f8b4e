"""Topics on a real broker: created, changed, checked, refused."""

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from sayso.streams.errors import BrokerUnreachable, TopicsMismatch
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_plan import WantedTopic
from sayso.streams.topics import apply_topics, check_topics, wanted_topics

pytestmark = pytest.mark.kafka


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    return KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=2)


@pytest.fixture
def wanted(kafka: KafkaSettings) -> tuple[WantedTopic, ...]:
    return wanted_topics(kafka, tables=("rows",))


def create(kafka: KafkaSettings, name: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topic = NewTopic(kafka.prefix + name, num_partitions=kafka.partitions, config=config)
    admin.create_topics([topic])[kafka.prefix + name].result()


def test_a_fresh_broker_is_told_and_mended(
    kafka: KafkaSettings, wanted: tuple[WantedTopic, ...]
) -> None:
    with pytest.raises(TopicsMismatch) as raised:
        check_topics(kafka, wanted)
    assert len(raised.value.problems) == len(wanted)
    assert f"topic {kafka.prefix}status does not exist: run `sayso topics apply`" in str(
        raised.value
    )
    report = apply_topics(kafka, wanted)
    assert report.created == tuple(topic.name for topic in wanted)
    check_topics(kafka, wanted)


def test_applying_again_changes_nothing(
    kafka: KafkaSettings, wanted: tuple[WantedTopic, ...]
) -> None:
    apply_topics(kafka, wanted)
    report = apply_topics(kafka, wanted)
    assert (report.created, report.altered) == ((), ())
    assert len(report.unchanged) == len(wanted)


def test_settings_that_may_change_are_changed(
    kafka: KafkaSettings, wanted: tuple[WantedTopic, ...]
) -> None:
    create(kafka, "status", **{"cleanup.policy": "delete"})
    with pytest.raises(TopicsMismatch, match=r"status has cleanup\.policy delete, wanted compact"):
        check_topics(kafka, wanted)
    report = apply_topics(kafka, wanted)
    assert f"{kafka.prefix}status" not in report.created
    assert ("cleanup.policy", "delete", "compact") in {
        (one.setting, one.now, one.wanted) for one in report.altered
    }
    check_topics(kafka, wanted)


def test_other_partitions_are_refused_before_anything_is_done(kafka: KafkaSettings) -> None:
    create(kafka, "status")
    more = kafka.model_copy(update={"partitions": 3})
    wanted = wanted_topics(more, tables=())
    for refuse in (apply_topics, check_topics):
        with pytest.raises(TopicsMismatch, match=r"status has 2 partitions, wanted 3: that cannot"):
            refuse(more, wanted)
    names = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics().topics
    assert [name for name in names if name.startswith(kafka.prefix)] == [f"{kafka.prefix}status"]


def test_what_the_broker_refuses_is_told_with_its_words(kafka: KafkaSettings) -> None:
    wanted = wanted_topics(kafka.model_copy(update={"replication": 9}), tables=())
    with pytest.raises(TopicsMismatch, match=r"status cannot be created: .*replication"):
        apply_topics(kafka, wanted)


def test_no_broker_is_one_sentence() -> None:
    # Port 1 needs root to listen on, and nothing does.
    with pytest.raises(BrokerUnreachable, match=r"no Kafka answers at 127\.0\.0\.1:1 \("):
        check_topics(KafkaSettings(bootstrap="127.0.0.1:1"), ())
