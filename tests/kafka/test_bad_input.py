"""Bad input on a real Kafka: a clear refusal, and nothing lost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from deployment import CHANNEL, LEAD, ORG, Deployment

from sayso.agents.polling.state import ChannelState
from sayso.connectors.anthropic.sandbox.script import Line
from sayso.connectors.slack.sandbox.faults import Fault
from sayso.schemas.dead import DeadLetter
from sayso.schemas.slack import Message
from sayso.schemas.tick import TickFailed, TickRead
from sayso.streams.codec import encode
from sayso.streams.topics import app_id, changelog_name

pytestmark = pytest.mark.kafka

Deploy = Callable[..., Deployment]


def produce(run: Deployment, topic: str, key: str, value: bytes, **options: Any) -> None:
    producer = Producer(
        {"bootstrap.servers": run.settings.kafka.bootstrap, "partitioner": "murmur2_random"}
    )
    producer.produce(topic, key=key.encode(), value=value, **options)
    assert producer.flush(10) == 0


def changelog(run: Deployment, table: str) -> str:
    return changelog_name(app_id(run.settings.kafka), table)


@pytest.mark.parametrize(
    ("value", "refusal"),
    [
        (b"\xff\xfe not json", "not JSON"),
        (b'{"schema_version": 9, "org": "acme"}', "schema version 9"),
        (b'{"schema_version": 1, "org": "acme"}', "channel"),
    ],
    ids=["unreadable record", "unknown schema version", "missing field"],
)
def test_poison_goes_to_dead_with_its_bytes(deploy: Deploy, value: bytes, refusal: str) -> None:
    run = deploy()
    topic = f"{run.settings.kafka.prefix}slack.messages"
    produce(run, topic, "acme/C1/1", value, headers=[("ce_id", b"x")])
    root = run.post()
    good = run.reply(root, "set target_margin to 0.4")
    run.start_worker()

    _, outcomes = run.tick()

    assert outcomes[good].status == "processed"
    run.until(lambda: len(run.records("dead", DeadLetter)) == 1)
    letter = run.records("dead", DeadLetter)[0]
    assert letter.raw_value == value
    assert letter.raw_key == b"acme/C1/1"
    assert (letter.source.topic, letter.reason) == (topic, "poison")
    assert refusal in letter.refusal
    assert [header.name for header in letter.headers] == ["ce_id"]


def test_a_row_of_a_newer_build_stops_the_scan_and_is_never_overwritten(deploy: Deploy) -> None:
    run = deploy()
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")
    row = json.dumps({"schema_version": 9, "from": "the future"}).encode()
    produce(run, changelog(run, "rows"), f"{ORG}/{CHANNEL}/{ts}", row)
    run.start_worker()

    _, outcomes = run.tick()

    assert outcomes[ts].unreadable
    assert "schema version 9" in str(outcomes[ts].refusal)
    assert f"{ORG}/{CHANNEL}/{ts}" in str(outcomes[ts].refusal)
    assert run.model.journal == ()
    later = run.reply(root, "set positioning to premium")
    read, outcomes = run.tick()
    assert isinstance(read, TickRead)
    assert read.replies == (ts,)
    assert later not in run.rows()


@pytest.mark.parametrize("missing", ["thread", "text", "progress"])
def test_a_watch_that_lacks_something_refuses_the_scan(deploy: Deploy, missing: str) -> None:
    run = deploy()
    root = run.post()
    run.reply(root, "set target_margin to 0.4")
    watch = {
        "thread": root,
        "text": "Shall we?",
        "progress": {"cursor": root, "seen": root},
    }
    del watch[missing]
    where = f"{ORG}/{CHANNEL}"
    # Faust keeps a table row on the partition of the record that wrote it: the channel's.
    produce(run, changelog(run, "channels"), where, encode(ChannelState(roots=(root,))))
    partition = partition_of(run, changelog(run, "channels"))
    produce(
        run,
        changelog(run, "watches"),
        f"{where}/{root}",
        json.dumps(watch).encode(),
        partition=partition,
    )
    run.start_worker()

    end, outcomes = run.tick()

    assert isinstance(end, TickFailed)
    assert f"watches row {where}/{root}" in end.refusal
    assert missing in end.refusal
    assert outcomes == {}
    assert run.model.journal == ()


def partition_of(run: Deployment, topic: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": run.settings.kafka.bootstrap, "group.id": "unused"})
    try:
        for number in range(run.settings.kafka.partitions):
            if consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)[1]:
                return number
    finally:
        consumer.close()
    raise AssertionError(f"{topic} is empty")


@pytest.mark.parametrize(
    ("fault", "refusal"),
    [
        (Fault(kind="html", method="conversations.history"), "conversations.history"),
        (Fault(kind="empty", method="conversations.history"), "conversations.history"),
        (Fault(kind="code", code="fatal_error", method="conversations.history"), "fatal_error"),
        (Fault(kind="endless", method="conversations.history", times=None), "did not end"),
        (Fault(kind="bad_ts", code="soon", method="conversations.history"), "soon"),
        (Fault(kind="code", code="missing_scope", method="conversations.history"), "scope"),
        (Fault(kind="code", code="not_in_channel", method="conversations.history"), CHANNEL),
    ],
    ids=lambda value: value.kind + value.code if isinstance(value, Fault) else "",
)
def test_what_slack_answers_wrong_fails_the_scan_and_the_next_tick_goes_on(
    deploy: Deploy, fault: Fault, refusal: str
) -> None:
    run = deploy("[orgs.acme.feedback]\nconfirm = false")
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")
    run.slack.faults.add(fault)
    run.start_worker()

    end, outcomes = run.tick()

    assert isinstance(end, TickFailed)
    assert refusal in end.refusal
    assert outcomes == {}
    run.slack.faults.clear()
    _, outcomes = run.tick()
    assert outcomes[ts].status == "processed"


def test_a_failure_that_cannot_be_recorded_leaves_the_row_pending(deploy: Deploy) -> None:
    run = deploy()
    # The refused answer makes the row too large for the topic; before the worker starts the
    # limit is as it should be.
    run.model.script.add(
        Line(answer={"statement": "y" * 3_900, "quote": "what nobody said"}, times=1)
    )
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")
    run.start_worker()
    run.until(lambda: run.slack.calls.total() == 0 and run_is_ready(run))
    limit_size(run, "feedback", 3_000)

    _, outcomes = run.tick()

    assert outcomes[ts].unmarked
    assert outcomes[ts].refusal
    assert run.rows()[ts].status == "pending"
    _, outcomes = run.tick()
    assert outcomes[ts].status == "processed"
    assert run.rows()[ts].attempt_count == 2


def run_is_ready(run: Deployment) -> bool:
    return "worker ready" in (run.folder / "worker.log").read_text()


def limit_size(run: Deployment, topic: str, size: int) -> None:
    entry = ConfigEntry("max.message.bytes", str(size), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(
        ConfigResource.Type.TOPIC,
        run.settings.kafka.prefix + topic,
        incremental_configs=[entry],
    )
    admin = AdminClient({"bootstrap.servers": run.settings.kafka.bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)


def test_a_worker_refuses_topics_that_do_not_fit(deploy: Deploy) -> None:
    run = deploy()
    limit_size(run, "feedback", 2_000)
    worker = run.start_worker()

    assert worker.wait(30) == 1

    said = (run.folder / "worker.log").read_text()
    assert "feedback" in said
    assert "sayso topics apply" in said
    assert "Traceback" not in said


def test_unknown_errors_stop_the_worker_before_it_acknowledges(
    deploy: Deploy, tmp_path: Path
) -> None:
    run = deploy("[worker]\ndead_consecutive = 1")
    topic = f"{run.settings.kafka.prefix}slack.messages"
    # Table writes fail for a reason nobody foresaw: the message's key holds a slash too many.
    message = Message(
        org=ORG,
        channel="C/1",
        ts="1796000000.000001",
        author={"id": LEAD, "kind": "member"},
        text="x",
        answers={"ts": "1796000000.000000", "text": "?", "via": "thread"},
        read_by="t",
    )
    for number in range(3):
        copy = message.model_copy(update={"ts": f"179600000{number}.000001"})
        # Of a key each: later ones of the same key would only wait.
        produce(run, topic, f"key/{number}", encode(copy), partition=0)
    worker = run.start_worker()

    assert worker.wait(60) == 70

    letters = run.records("dead", DeadLetter)
    assert [letter.reason for letter in letters] == ["unknown"]
    # The record that stopped it is still there for the next start, which stops over it again.
    again = run.start_worker(name="worker-again")
    assert again.wait(60) == 70
