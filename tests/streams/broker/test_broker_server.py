import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sayso.streams.broker.errors import (
    DiskFull,
    FolderInUse,
    FolderUnusable,
    KafkaEnded,
    PortTaken,
)
from sayso.streams.broker.progress import BrokerProgress
from sayso.streams.broker.running import RunningBroker
from sayso.streams.broker.server import start_broker
from sayso.streams.broker.state import FolderState, read_state, write_state

pytestmark = pytest.mark.kafka
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
WITHIN = 60
"""Seconds to wait for a process to end."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with start_broker(tmp_path_factory.mktemp("shared")) as broker:
        yield broker


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on loopback that something listens on."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def starter(folder: Path) -> "subprocess.Popen[str]":
    """Another process that starts a broker, prints its process id and waits."""
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from sayso.streams.broker.server import start_broker
        broker = start_broker(Path(sys.argv[1]))
        print(broker.pid, flush=True)
        sys.stdin.read()
    """)
    return subprocess.Popen(
        [sys.executable, "-c", code, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def wait_gone(process: psutil.Process) -> None:
    """Wait for a process that is nobody's of ours; a zombie without a reaper counts as ended."""
    try:
        process.wait(WITHIN)
    except psutil.TimeoutExpired:
        assert process.status() == psutil.STATUS_ZOMBIE


def read_one(bootstrap: str, topic: str) -> bytes:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "read", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(WITHIN)
    consumer.close()
    assert message is not None
    assert message.error() is None
    value = message.value()
    assert value is not None
    return value


def test_data_and_port_are_kept_over_a_restart_and_stop_leaves_nothing(tmp_path: Path) -> None:
    seen: list[BrokerProgress] = []
    with start_broker(tmp_path, on_progress=seen.append) as broker:
        assert broker.started_by_us
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(WITHIN)
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("kept", b"still here")
        assert producer.flush(WITHIN) == 0
        java = psutil.Process(broker.pid)
        supervisor = java.parent()
    assert [p.step for p in seen if p.step != "download"] == ["format", "start", "ready"]
    assert gone(java)
    assert supervisor is not None
    assert gone(supervisor)

    broker.stop()
    seen.clear()
    with start_broker(tmp_path, on_progress=seen.append) as again:
        assert [p.step for p in seen] == ["start", "ready"]
        assert again.bootstrap == broker.bootstrap
        assert read_one(again.bootstrap, "kept") == b"still here"


def test_it_listens_on_loopback_only(shared: RunningBroker) -> None:
    listening = [
        c.laddr.ip
        for c in psutil.Process(shared.pid).net_connections(kind="tcp")
        if c.status == psutil.CONN_LISTEN
    ]
    assert len(listening) == 2
    assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}


def test_topics_are_not_created_by_asking(shared: RunningBroker) -> None:
    admin = AdminClient({"bootstrap.servers": shared.bootstrap})
    admin.list_topics("never-made", timeout=WITHIN)
    assert "never-made" not in admin.list_topics(timeout=WITHIN).topics


def test_a_second_start_on_the_folder_is_refused(shared: RunningBroker) -> None:
    with pytest.raises(FolderInUse, match="choose another folder") as caught:
        start_broker(shared.data_dir)
    assert shared.bootstrap in str(caught.value)


def test_a_running_broker_can_be_used_by_a_second_starter(shared: RunningBroker) -> None:
    with start_broker(shared.data_dir, reuse=True) as used:
        assert (used.bootstrap, used.pid) == (shared.bootstrap, shared.pid)
        assert not used.started_by_us
    assert not gone(psutil.Process(shared.pid))


def test_another_kafka_on_the_data_is_refused_unharmed_even_when_its_state_was_lost(
    tmp_path: Path,
) -> None:
    with start_broker(tmp_path) as broker:
        (tmp_path / "broker.json").unlink()
        files = tmp_path / "metadata" / "__cluster_metadata-0"
        before = {path.name for path in files.iterdir()}
        with pytest.raises(FolderInUse, match="another Kafka holds the data"):
            start_broker(tmp_path)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(WITHIN)
        assert before <= {path.name for path in files.iterdir()}
    with start_broker(tmp_path) as again:
        admin = AdminClient({"bootstrap.servers": again.bootstrap})
        assert "kept" in admin.list_topics(timeout=WITHIN).topics


def test_a_port_in_use_is_refused_before_kafka_starts(tmp_path: Path, taken: int) -> None:
    with pytest.raises(PortTaken, match=f"port {taken} is in use .* --port"):
        start_broker(tmp_path, port=taken)


def test_another_port_is_taken_when_the_last_one_is_in_use(tmp_path: Path, taken: int) -> None:
    write_state(tmp_path, FolderState(cluster_id=CLUSTER, port=taken))
    with start_broker(tmp_path) as broker:
        assert broker.bootstrap != f"127.0.0.1:{taken}"


def test_a_starter_killed_leaves_no_broker_and_the_folder_can_be_used_at_once(
    tmp_path: Path,
) -> None:
    with starter(tmp_path) as other:
        assert other.stdout is not None
        java = psutil.Process(int(other.stdout.readline()))
        supervisor = java.parent()
        other.kill()
        other.wait(WITHIN)
        with start_broker(tmp_path, reuse=True) as broker:
            assert broker.started_by_us
            assert gone(java)
    assert supervisor is not None
    wait_gone(supervisor)


def test_a_starter_killed_leaves_no_broker_when_nobody_starts_again(tmp_path: Path) -> None:
    with starter(tmp_path) as other:
        assert other.stdout is not None
        java = psutil.Process(int(other.stdout.readline()))
        other.kill()
        wait_gone(java)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_killed_supervisor_takes_kafka_with_it(tmp_path: Path) -> None:
    with start_broker(tmp_path) as broker:
        java = psutil.Process(broker.pid)
        supervisor = java.parent()
        assert supervisor is not None
        supervisor.kill()
        wait_gone(java)


def test_a_broker_whose_starter_is_gone_is_stopped_and_started_again(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(WITHIN)
    with start_broker(tmp_path) as stale:
        state = read_state(tmp_path)
        assert state is not None
        write_state(tmp_path, replace(state, owner=ended.pid))
        with start_broker(tmp_path) as broker:
            assert broker.pid != stale.pid
            assert not psutil.pid_exists(stale.pid)


def test_a_process_that_only_has_the_number_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with bystander:
        write_state(tmp_path, FolderState(cluster_id=CLUSTER, port=0, pid=bystander.pid))
        with start_broker(tmp_path):
            assert bystander.poll() is None
        bystander.communicate(b"\n")


def test_a_failed_start_quotes_kafkas_log_and_leaves_nothing(tmp_path: Path) -> None:
    with start_broker(tmp_path):
        pass
    meta = tmp_path / "data" / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(KafkaEnded, match=r"Stored node id 7 .*broker\.log") as caught:
        start_broker(tmp_path)
    assert "\n" not in str(caught.value)
    state = read_state(tmp_path)
    assert state is not None
    assert state.pid is None or not psutil.pid_exists(state.pid)


def test_a_full_disk_is_refused_before_kafka_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sayso.streams.broker.server.ROOM", 1 << 62)
    with pytest.raises(DiskFull, match="free some room"):
        start_broker(tmp_path)
    assert not (tmp_path / "data").exists()


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderUnusable, match="choose another folder"):
        start_broker(tmp_path / "file")


COMMAND = (sys.executable, "-m", "sayso", "broker")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_runs_until_told_to_stop(tmp_path: Path, number: signal.Signals) -> None:
    command = subprocess.Popen(
        [*COMMAND, "--data-dir", tmp_path / "kafka", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    with command:
        assert command.stdout is not None
        found = json.loads(command.stdout.readline())
        assert found["data_dir"] == str(tmp_path / "kafka")
        java = psutil.Process(found["pid"])
        command.send_signal(number)
        _, told = command.communicate(timeout=WITHIN)
    assert command.returncode == 0, told
    assert "Traceback" not in told
    assert gone(java)


def test_the_command_fails_with_one_sentence(shared: RunningBroker) -> None:
    done = subprocess.run(
        [*COMMAND, "--data-dir", shared.data_dir],
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line.strip()]) == 1
    assert "already runs on" in done.stderr


def test_the_command_says_when_kafka_ends_by_itself(tmp_path: Path) -> None:
    command = subprocess.Popen(
        [*COMMAND, "--data-dir", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command:
        assert command.stdout is not None
        assert "kafka.bootstrap is 127.0.0.1:" in command.stdout.readline()
        state = read_state(tmp_path)
        assert state is not None
        assert state.pid is not None
        psutil.Process(state.pid).kill()
        _, told = command.communicate(timeout=WITHIN)
    assert command.returncode == 1
    assert "ended by itself" in told
    assert "broker.log" in told
