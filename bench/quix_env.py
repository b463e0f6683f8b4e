"""The environment of Quix Streams, whose dependencies are not ours."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from engine import BenchFailed

ROOT = Path(__file__).parent.parent
_VENV = ROOT / ".venv-bench"
_LOCK = ROOT / "requirements" / "bench.lock"


def quix_python(tell: Callable[[str], None]) -> str:
    """The interpreter of `.venv-bench`, which is made when the lock is newer than it.

    Raises BenchFailed when it cannot be made.
    """
    ready, python = _VENV / ".ready", _VENV / "bin" / "python"
    if ready.exists() and ready.stat().st_mtime >= _LOCK.stat().st_mtime:
        return str(python)
    tell("installing Quix Streams into .venv-bench")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    commands = (
        [sys.executable, "-m", "venv", str(_VENV)],
        [*pip, "--require-hashes", "-r", str(_LOCK)],
    )
    for command in commands:
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            raise BenchFailed(f"Quix Streams cannot be installed:\n{made.stderr[-2_000:]}")
    ready.touch()
    return str(python)


def quix_version() -> str:
    """The version that the lock names."""
    return _LOCK.read_text(encoding="utf-8").split("quixstreams==")[1].split()[0]
