"""What differs between the broker's topics and ours is named with its mend."""

from collections.abc import Mapping

from sayso.schemas.topics import BY_NAME, DAY_MS, TOPICS
from sayso.streams.settings import KafkaSettings
from sayso.streams.topic_plan import ActualTopic, WantedTopic, make_plan
from sayso.streams.topics import app_id, changelog_name, wanted_topics

KAFKA = KafkaSettings(prefix="here.", partitions=4, replication=2)
WANTED = wanted_topics(KAFKA, tables=("rows",))


def wanted(name: str) -> WantedTopic:
    return next(topic for topic in WANTED if topic.name == name)


def actual(topic: WantedTopic, config: Mapping[str, str] = {}) -> ActualTopic:
    return ActualTopic(
        partitions=topic.partitions,
        replication=topic.replication,
        config={"compression.type": "producer", **topic.config, **topic.tuning, **config},
    )


def test_every_topic_and_changelog_is_wanted_under_the_prefix() -> None:
    assert [topic.name for topic in WANTED] == [
        *(f"here.{spec.name}" for spec in TOPICS),
        "here.sayso-rows-changelog",
        "here.sayso-parked_keys-changelog",
    ]
    assert {(topic.partitions, topic.replication) for topic in WANTED} == {(4, 2)}


def test_changelogs_are_named_as_faust_names_them() -> None:
    import faust

    app = faust.App(app_id(KAFKA), web_enabled=False)
    table = app.Table("rows", key_type=bytes, value_type=bytes)
    assert table.changelog_topic.get_topic_name() == changelog_name(app_id(KAFKA), "rows")


def test_topics_are_kept_as_their_spec_says() -> None:
    assert wanted("here.ticks").config["cleanup.policy"] == "delete"
    assert wanted("here.ticks").config["retention.ms"] == str(DAY_MS)
    assert wanted("here.decisions").config["retention.ms"] == "-1"
    assert wanted("here.decisions").config["retention.bytes"] == "-1"
    assert wanted("here.status").config["cleanup.policy"] == "compact"
    assert wanted("here.sayso-rows-changelog").config["cleanup.policy"] == "compact"
    assert wanted("here.dead").config["max.message.bytes"] == str(BY_NAME["dead"].max_message_bytes)


def test_nothing_is_left_to_do_when_all_is_there() -> None:
    plan = make_plan(WANTED, {topic.name: actual(topic) for topic in WANTED})
    assert (plan.create, plan.alter, plan.refused, plan.problems) == ((), (), (), [])


def test_a_missing_topic_is_named() -> None:
    topic = wanted("here.status")
    assert make_plan([topic], {}).problems == [
        "topic here.status does not exist: run `sayso topics apply`"
    ]


def test_a_setting_that_differs_is_named_with_both_values() -> None:
    topic = wanted("here.status")
    plan = make_plan([topic], {topic.name: actual(topic, {"cleanup.policy": "delete"})})
    assert plan.problems == [
        "topic here.status has cleanup.policy delete, wanted compact: run `sayso topics apply`"
    ]


def test_tuning_is_changed_but_stops_nobody() -> None:
    topic = wanted("here.status")
    plan = make_plan([topic], {topic.name: actual(topic, {"segment.ms": "1"})})
    assert [one.setting for one in plan.alter] == ["segment.ms"]
    assert plan.problems == []


def test_other_partitions_are_refused_with_the_reason() -> None:
    topic = wanted("here.ticks")
    for partitions in (3, 5):
        is_ = ActualTopic(partitions=partitions, replication=2, config=topic.config)
        plan = make_plan([topic], {topic.name: is_})
        assert len(plan.refused) == 1
        assert (
            f"here.ticks has {partitions} partitions, wanted 4: that cannot be changed"
            in (plan.refused[0])
        )
        assert f"set kafka.partitions to {partitions}" in plan.refused[0]


def test_too_few_replicas_are_refused_and_more_are_fine() -> None:
    topic = wanted("here.ticks")
    one, three = (
        make_plan(
            [topic],
            {topic.name: ActualTopic(partitions=4, replication=count, config=topic.config)},
        )
        for count in (1, 3)
    )
    assert "has replication 1, wanted 2: add replicas" in one.refused[0]
    assert three.problems == []
