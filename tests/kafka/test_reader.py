"""Reading a real broker: complete, in order, from and to where asked."""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer

from sayso.schemas.status import Status
from sayso.streams.codec import encode
from sayso.streams.errors import BrokerUnreachable, TopicsMismatch
from sayso.streams.latest import Latest, latest_by_key
from sayso.streams.reader import RawRecord, read_topic
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import apply_topics, wanted_topics

pytestmark = pytest.mark.kafka

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    settings = KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=2)
    wanted = wanted_topics(settings, tables=())
    apply_topics(settings, [one for one in wanted if one.name.endswith(("status", "ticks"))])
    return settings


def publish(
    kafka: KafkaSettings,
    topic: str,
    records: Sequence[tuple[str, bytes | None]],
    *,
    partition: int = 0,
    at: datetime = NOON,
) -> None:
    """Write records a minute apart."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
    for number, (key, value) in enumerate(records):
        when = at + timedelta(minutes=number)
        producer.produce(
            kafka.prefix + topic,
            key=key,
            value=value,
            partition=partition,
            timestamp=int(when.timestamp() * 1000),
            headers=[("ce_id", b"1")],
        )
    assert producer.flush(10) == 0


def status(item: str, rev: int, *, epoch: int = 0) -> bytes:
    return encode(Status(org="acme", kind="task", id=item, state=f"r{rev}", rev=rev, epoch=epoch))


def values(records: Iterator[RawRecord]) -> list[bytes | None]:
    return [record.value for record in records]


FIVE = [(f"acme/{number}", str(number).encode()) for number in range(5)]


def test_everything_there_is_read_in_the_order_of_its_partition(kafka: KafkaSettings) -> None:
    publish(kafka, "ticks", FIVE, partition=0)
    publish(kafka, "ticks", FIVE, partition=1)
    records = list(read_topic(kafka, "ticks"))
    assert len(records) == 10
    for partition in (0, 1):
        mine = [record for record in records if record.partition == partition]
        assert [record.offset for record in mine] == list(range(5))
        assert [record.value for record in mine] == [value for _, value in FIVE]
    assert records[0].topic == "ticks"
    assert records[0].key == b"acme/0"
    assert records[0].timestamp_ms == int(NOON.timestamp() * 1000)
    assert records[0].headers == (("ce_id", b"1"),)


def test_an_empty_topic_ends_at_once(kafka: KafkaSettings) -> None:
    assert list(read_topic(kafka, "ticks")) == []


def test_offsets_bound_what_is_read(kafka: KafkaSettings) -> None:
    publish(kafka, "ticks", FIVE)
    assert values(read_topic(kafka, "ticks", start=2, end=4)) == [b"2", b"3"]
    assert values(read_topic(kafka, "ticks", start={0: 4})) == [b"4"]
    assert values(read_topic(kafka, "ticks", start=99)) == []
    assert values(read_topic(kafka, "ticks", end=99)) == [value for _, value in FIVE]


def test_times_bound_what_is_read(kafka: KafkaSettings) -> None:
    publish(kafka, "ticks", FIVE)
    minute = timedelta(minutes=1)
    between = read_topic(kafka, "ticks", start=NOON + minute, end=NOON + 3 * minute)
    assert values(between) == [b"1", b"2"]
    assert values(read_topic(kafka, "ticks", start=NOON + 9 * minute)) == []


def test_a_record_out_of_order_is_held_to_its_own_time(kafka: KafkaSettings) -> None:
    hour = timedelta(hours=1)
    publish(kafka, "ticks", [("acme/1", b"late"), ("acme/1", b"in time")], at=NOON + 2 * hour)
    publish(kafka, "ticks", [("acme/1", b"early")], at=NOON - 2 * hour)
    publish(kafka, "ticks", [("acme/1", b"end")], at=NOON + 4 * hour)
    assert values(read_topic(kafka, "ticks", start=NOON)) == [b"late", b"in time", b"end"]
    assert values(read_topic(kafka, "ticks", end=NOON + hour)) == [b"early"]


def test_keys_are_whole_or_the_start_of_one(kafka: KafkaSettings) -> None:
    publish(kafka, "ticks", [("acme/1", b"a"), ("acme/10", b"b"), ("other/1", b"c")])
    assert values(read_topic(kafka, "ticks", key="acme/1")) == [b"a"]
    assert values(read_topic(kafka, "ticks", key="acme/1*")) == [b"a", b"b"]


def test_following_goes_on_with_what_is_written_later(kafka: KafkaSettings) -> None:
    publish(kafka, "ticks", FIVE)
    following = read_topic(kafka, "ticks", start=4, follow=True)
    assert next(following).value == b"4"
    later = threading.Thread(target=publish, args=(kafka, "ticks", [("acme/6", b"later")]))
    later.start()
    assert next(following).value == b"later"
    later.join()
    following.close()


def test_a_topic_that_does_not_exist_is_named(kafka: KafkaSettings) -> None:
    with pytest.raises(TopicsMismatch, match="feedback does not exist: run `sayso topics apply`"):
        list(read_topic(kafka, "feedback"))


def test_no_broker_is_one_sentence() -> None:
    with pytest.raises(BrokerUnreachable, match="Connection refused"):
        list(read_topic(KafkaSettings(bootstrap="127.0.0.1:1"), "ticks"))


def test_the_latest_of_each_key_holds(kafka: KafkaSettings) -> None:
    publish(
        kafka,
        "status",
        [
            ("acme/task/a", status("a", 1)),
            ("acme/task/b", status("b", 1)),
            ("acme/task/c", status("c", 1)),
            ("acme/task/a", status("a", 2)),
            ("acme/task/b", None),
            ("acme/task/c", b"<html>"),
            ("acme/task/d", status("d", 1).replace(b'version":1', b'version":7')),
        ],
    )
    latest = latest_by_key(kafka, "status", Status)
    assert {key: record.rev for key, record in latest.records.items()} == {
        "acme/task/a": 2,
        "acme/task/c": 1,
    }
    first, second = latest.unreadable
    assert str(first).startswith(
        "status partition 0 offset 5 key acme/task/c: the record is not JSON"
    )
    assert str(second).endswith("the record has schema version 7, and this build reads 1")
    assert latest.next_offsets == {0: 7}


def test_a_status_of_lower_rank_never_holds(kafka: KafkaSettings) -> None:
    key = "acme/task/a"
    publish(
        kafka,
        "status",
        [
            (key, status("a", 5, epoch=1)),
            (key, status("a", 9, epoch=0)),
            (key, status("a", 4, epoch=1)),
            (key, status("a", 5, epoch=1).replace(b"r5", b"again")),
        ],
    )
    record = latest_by_key(kafka, "status", Status).records[key]
    assert (record.rev, record.state) == (5, "r5")


def test_a_late_status_does_not_bring_back_what_was_removed() -> None:
    latest = Latest(Status)
    written = [status("a", 5), None, status("a", 4)]
    applied = [
        latest.apply(
            RawRecord(
                topic="status",
                partition=0,
                offset=offset,
                timestamp_ms=0,
                key=b"acme/task/a",
                value=value,
                headers=(),
            )
        )
        for offset, value in enumerate(written)
    ]
    assert applied == [True, True, False]
    assert latest.records == {}
