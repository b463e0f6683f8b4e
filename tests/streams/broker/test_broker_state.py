import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from sayso.streams.broker.state import FolderState, broker_process, read_state, write_state

STARTED = psutil.Process().create_time()


def owned_by(owner: int | None, started: float | None) -> FolderState:
    return FolderState(cluster_id="c", port=1, owner=owner, owner_started=started)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    state = FolderState(cluster_id="c", port=9092, formatted=True, pid=1, owner=2, owner_started=3)
    write_state(tmp_path, state)
    assert read_state(tmp_path) == state
    assert state.stopped() == FolderState(cluster_id="c", port=9092, formatted=True)


@pytest.mark.parametrize("text", ["", "{ half", "[]", "{}", '{"cluster_id": "c", "port": "x"}'])
def test_a_damaged_file_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "broker.json").write_text(text)
    assert read_state(tmp_path) is None


def test_an_owner_lives_only_under_its_own_start_time() -> None:
    assert owned_by(os.getpid(), STARTED).owner_lives()
    assert not owned_by(os.getpid(), STARTED - 60).owner_lives()
    assert not owned_by(None, None).owner_lives()


def test_an_owner_that_ended_does_not_live_even_while_nobody_has_collected_it() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    started = psutil.Process(ended.pid).create_time()
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not owned_by(ended.pid, started).owner_lives()
    ended.wait()
    assert not owned_by(ended.pid, time.time()).owner_lives()


def test_a_process_of_another_command_is_not_the_broker(tmp_path: Path) -> None:
    assert broker_process(tmp_path, FolderState(cluster_id="c", port=1)) is None
    mine = FolderState(cluster_id="c", port=1, pid=os.getpid())
    assert broker_process(tmp_path, mine) is None
