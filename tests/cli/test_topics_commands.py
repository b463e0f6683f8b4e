"""`sayso topics` and `sayso status` on a real broker."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from click.testing import Result
from confluent_kafka import Producer
from typer.testing import CliRunner

from sayso.cli import status as status_command
from sayso.cli import topics as topics_command
from sayso.schemas.headers import cloud_headers
from sayso.schemas.status import Status
from sayso.schemas.topics import TOPICS
from sayso.streams.codec import encode
from sayso.worker import TABLES

app = typer.Typer()
app.add_typer(topics_command.app, name="topics")
app.command("status")(status_command.status)

ALL = len(TOPICS) + len(TABLES) + 1
"""The error policy has a table of its own."""
FOLLOW = "import typer; from sayso.cli.status import status; typer.run(status)"


@pytest.fixture
def deployment(
    kafka_bootstrap: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Settings of a deployment of its own; the prefix of its topics."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAYSO_KAFKA__BOOTSTRAP", kafka_bootstrap)
    monkeypatch.setenv("SAYSO_KAFKA__PREFIX", prefix)
    monkeypatch.setenv("SAYSO_KAFKA__PARTITIONS", "2")
    return prefix


@pytest.fixture
def applied(deployment: str) -> str:
    assert run("topics", "apply").exit_code == 0
    return deployment


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def lines(result: Result) -> list[dict[str, object]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def item(name: str, rev: int = 1, *, org: str = "acme", detail: str | None = None) -> Status:
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    return Status(org=org, kind="task", id=name, state=f"r{rev}", rev=rev, at=at, detail=detail)


def publish(prefix: str, *records: Status | tuple[str, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": os.environ["SAYSO_KAFKA__BOOTSTRAP"]})
    for record in records:
        if isinstance(record, Status):
            key, value, headers = record.key, encode(record), cloud_headers(record)
        else:
            (key, value), headers = record, []
        producer.produce(f"{prefix}status", key=key, value=value, headers=headers, partition=0)
    assert producer.flush(10) == 0


def test_apply_creates_everything_and_check_is_content(deployment: str) -> None:
    before = run("topics", "check")
    assert before.exit_code == 1
    assert f"topic {deployment}status does not exist: run `sayso topics apply`" in before.stderr
    dry = run("topics", "apply", "--dry-run")
    assert f"{deployment}status: would be created" in dry.stdout
    assert run("topics", "check").exit_code == 1
    done = run("topics", "apply")
    assert f"{deployment}status: created" in done.stdout
    assert f"{deployment}sayso-{TABLES[0]}-changelog: created" in done.stdout
    assert f"all {ALL} topics are as they should be" in run("topics", "check").stdout
    assert f"{ALL} of {ALL} topics were as they should be" in run("topics", "apply").stdout


def test_check_and_apply_speak_json(deployment: str) -> None:
    problems = json.loads(run("topics", "check", "--json").stdout)["problems"]
    assert len(problems) == ALL
    assert len(json.loads(run("topics", "apply", "--json").stdout)["created"]) == ALL
    assert json.loads(run("topics", "check", "--json").stdout) == {"topics": ALL, "problems": []}


def test_other_partitions_are_refused(applied: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYSO_KAFKA__PARTITIONS", "3")
    for command in ("apply", "check"):
        refused = run("topics", command)
        assert refused.exit_code == 1
        assert f"topic {applied}status has 2 partitions, wanted 3: that cannot" in refused.stderr


def test_an_unknown_topic_lists_the_known_ones(deployment: str) -> None:
    refused = run("topics", "read", "moods")
    assert refused.exit_code == 2
    assert "there is no topic 'moods'" in refused.stderr
    assert "decisions" in refused.stderr


def test_a_broker_that_does_not_answer_is_one_sentence(
    deployment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAYSO_KAFKA__BOOTSTRAP", "127.0.0.1:1")
    for arguments in (("topics", "check"), ("topics", "read", "status"), ("status",)):
        refused = run(*arguments)
        assert refused.exit_code == 1
        assert refused.stderr.strip().endswith("or correct kafka.bootstrap")
        assert "Traceback" not in refused.stderr


def test_read_prints_records_for_people(applied: str) -> None:
    publish(applied, item("a"), ("acme/task/b", None), ("acme/task/c", b"<html>\x1b[2J"))
    result = run("topics", "read", "status")
    first, second, third = result.stdout.splitlines()
    assert "  0:0       acme/task/a  {" in first
    assert second.endswith("acme/task/b  (removed)")
    assert "UNREADABLE the record is not JSON" in third
    assert "\x1b" not in third
    assert "records that this build cannot read: 1" in result.stderr


def test_read_prints_records_for_scripts(applied: str) -> None:
    publish(applied, item("a"), ("acme/task/b", None), ("acme/task/c", b"\xff"))
    good, removed, broken = lines(run("topics", "read", "status", "--json"))
    assert good["topic"] == "status"
    assert (good["partition"], good["offset"], good["key"]) == (0, 0, "acme/task/a")
    assert good["headers"]["ce_id"] == item("a").ce_id  # type: ignore[index]
    assert good["value"] == item("a").model_dump(mode="json")
    assert removed["value"] is None
    assert broken["value_base64"] == "/w=="
    assert str(broken["unreadable"]).startswith("the record is not JSON")


def test_read_keeps_to_what_was_asked_for(applied: str) -> None:
    publish(applied, item("a"), item("b"), item("c", org="other"), item("d"))

    def offsets(*arguments: str) -> list[object]:
        return [
            one["offset"] for one in lines(run("topics", "read", "status", "--json", *arguments))
        ]

    assert offsets("--from", "1", "--to", "3") == [1, 2]
    assert offsets("--key", "acme/task/b") == [1]
    assert offsets("--key", "acme/*") == [0, 1, 3]
    assert offsets("--limit", "2") == [0, 1]
    assert offsets("--from", "1h") == [0, 1, 2, 3]
    assert offsets("--to", "1h") == []


def test_status_shows_what_holds(applied: str) -> None:
    publish(applied, item("a"), item("a", 2, detail="[red]late[/]"), item("b"), item("c", org="x"))
    publish(applied, (item("b").key, None), ("acme/task/z", b"{}"))
    result = run("status", "--org", "acme")
    assert "r2" in result.stdout
    assert "[red]late[/]" in result.stdout
    assert "r1" not in result.stdout
    assert "unreadable: status partition 0 offset 5 key acme/task/z: field org" in result.stderr
    assert [one["id"] for one in lines(run("status", "--json"))] == ["a", "c"]
    assert lines(run("status", "--json", "--kind", "feedback")) == []
    assert run("status", "--kind", "mood").exit_code == 2


def test_status_of_a_fresh_deployment_says_so(applied: str) -> None:
    result = run("status")
    assert (result.stdout, result.stderr) == ("no item has a status yet\n", "")


@pytest.fixture
def following(applied: str) -> Iterator[subprocess.Popen[str]]:
    publish(applied, item("a"))
    process = subprocess.Popen(
        [sys.executable, "-c", FOLLOW, "--follow", "--json"], stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()


def test_status_follows_changes_until_interrupted(
    applied: str, following: subprocess.Popen[str]
) -> None:
    assert following.stdout is not None
    assert json.loads(following.stdout.readline())["id"] == "a"
    publish(applied, item("a", 2), item("a", 1), (item("a").key, None), item("b"))
    read = [json.loads(following.stdout.readline()) for _ in range(3)]
    assert [(one["id"], one["rev"], one.get("removed")) for one in read] == [
        ("a", 2, None),
        ("a", 2, True),
        ("b", 1, None),
    ]
    following.send_signal(signal.SIGINT)
    assert following.wait(timeout=30) == 0
