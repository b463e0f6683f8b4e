"""`--embedded`: a broker, and where needed a worker, for the length of one command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sayso.settings import Settings


@contextmanager
def with_broker(settings: "Settings", *, embedded: bool) -> Iterator["Settings"]:
    """The settings, pointing at an embedded broker whose topics exist when `embedded`."""
    if not embedded:
        yield settings
        return
    from sayso.cli.broker import shown_progress
    from sayso.streams.broker.server import start_broker
    from sayso.streams.topics import apply_topics, wanted_topics
    from sayso.worker import TABLES

    with (
        shown_progress() as progress,
        start_broker(settings.data_dir / "kafka", reuse=True, on_progress=progress) as broker,
    ):
        kafka = settings.kafka.model_copy(update={"bootstrap": broker.bootstrap})
        apply_topics(kafka, wanted_topics(kafka, tables=TABLES))
        yield settings.model_copy(update={"kafka": kafka})


@contextmanager
def with_worker(
    settings: "Settings", *, embedded: bool
) -> Iterator[tuple["Settings", "subprocess.Popen[bytes] | None"]]:
    """With `embedded` a broker and a worker of our own; else the settings and no process."""
    with with_broker(settings, embedded=embedded) as running:
        if not embedded:
            yield running, None
            return
        with worker_process(running, schedule=False) as worker:
            yield running, worker


@contextmanager
def worker_process(settings: "Settings", *, schedule: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of its own process on these settings, stopped at the end.

    Raises WrongSettings here, before anything starts, when a secret is missing.
    """
    for org in settings.orgs:
        settings.slack_token(org)
    settings.model_key()
    command = [sys.executable, "-m", "sayso", "worker", "--stop-with-input"]
    if not schedule:
        command.append("--no-schedule")
    environment = {
        **os.environ,
        "SAYSO_KAFKA__BOOTSTRAP": settings.kafka.bootstrap,
        "SAYSO_DATA_DIR": str(settings.data_dir),
    }
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with (settings.data_dir / "worker.log").open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command,
            env=environment,
            # Kept open while we live, so that a worker never outlives us.
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()
