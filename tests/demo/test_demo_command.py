"""`sayso demo` as it is called: what it refuses, and what an interrupt leaves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from sayso.cli.main import app


@pytest.mark.parametrize(
    "arguments",
    [("--real",), ("--channel", "C0REAL"), ("--real", "--channel", "#suggestions")],
)
def test_a_real_workspace_needs_both_words(arguments: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    result = CliRunner().invoke(app, ["demo", "--data-dir", str(folder), *arguments])
    assert result.exit_code == 2
    assert "--channel" in result.output
    assert not folder.exists()


def test_the_help_says_that_nothing_is_posted_anywhere_else() -> None:
    result = CliRunner().invoke(app, ["demo", "--help"])
    assert result.exit_code == 0
    assert "SLACK_BOT_TOKEN" in result.output
    assert "stand-ins on this machine" in " ".join(result.output.replace("│", " ").split())


def test_a_folder_of_somebody_else_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    result = CliRunner().invoke(app, ["demo", "--data-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert "--data-dir" in result.output


@pytest.mark.kafka
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_end_leaves_anything_running(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "sayso", "demo", "--data-dir", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "Sayso posts" in line:
                break
        children = psutil.Process(running.pid).children(recursive=True)
        assert {one.name() for one in children} >= {"java"}
        # A terminal sends Ctrl-C to all of them, others signal the first alone.
        if number is signal.SIGINT:
            os.killpg(running.pid, number)
        else:
            running.send_signal(number)
        _, said = running.communicate(timeout=60)
    assert running.returncode == (-9 if number is signal.SIGKILL else 130), said
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
