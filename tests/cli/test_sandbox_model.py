"""`sayso sandbox model` refuses in one sentence, and serves until interrupted."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from typer.testing import CliRunner

from sayso.cli.sandbox import app
from sayso.connectors.anthropic.sandbox.server import ModelSandbox


def test_a_taken_port_names_the_mend() -> None:
    with ModelSandbox() as running:
        port = running.url.rsplit(":", 1)[1]
        result = CliRunner().invoke(app, ["model", "--port", port])
    assert result.exit_code == 1
    assert f"port {port} cannot be opened" in result.stderr
    assert "--port" in result.stderr


@pytest.mark.parametrize("content", [None, "{}", '[{"fault": "no such fault"}]', "[{"])
def test_a_script_that_cannot_be_read_is_named(tmp_path: Path, content: str | None) -> None:
    script = tmp_path / "script.json"
    if content is not None:
        script.write_text(content)
    result = CliRunner().invoke(app, ["model", "--script", str(script)])
    assert result.exit_code == 1
    assert str(script) in result.stderr
    assert result.stderr.count("\n") == 1


def test_it_serves_its_script_and_ends_with_an_interrupt(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"fault": "overloaded"}]))
    code = "from sayso.cli.sandbox import app; app()"
    command = [sys.executable, "-u", "-c", code, "model", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline()
            assert "stand-in" in said
            url = said.split()[2]
            response = httpx2.post(
                f"{url}/v1/messages",
                json={"model": "m", "max_tokens": 9, "messages": [{"role": "user"}]},
                headers={"x-api-key": "k", "anthropic-version": "2026-10-21"},
                timeout=30,
            )
            assert response.status_code == 529
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=30) == 0
        finally:
            running.kill()
