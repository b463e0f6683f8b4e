"""Start and stop the embedded Kafka: one node, loopback only, its data in one folder."""

import base64
import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from filelock import FileLock

from sayso.streams.broker import kafka, supervisor
from sayso.streams.broker.errors import (
    FolderInUse,
    FolderUnusable,
    PortTaken,
    disk_full,
    from_os_error,
)
from sayso.streams.broker.jars import ensure_jars
from sayso.streams.broker.java import find_java
from sayso.streams.broker.log import explain
from sayso.streams.broker.ports import choose_port, free_port
from sayso.streams.broker.progress import BrokerProgress, OnProgress, ignore_progress
from sayso.streams.broker.ready import wait_until_ready
from sayso.streams.broker.running import LOG, STOP_WITHIN, RunningBroker, end
from sayso.streams.broker.state import (
    FolderState,
    broker_process,
    read_state,
    write_state,
)

ROOM = 64 << 20
"""Bytes below which Kafka is not started: it maps its indexes and dies where a page has no room."""
START_TRIES = 3
"""A free port may be taken between our look and Kafka's; then others are tried."""


def start_broker(
    data_dir: Path,
    *,
    port: int | None = None,
    reuse: bool = False,
    cache: Path | None = None,
    on_progress: OnProgress = ignore_progress,
) -> RunningBroker:
    """Start Kafka on a folder and return once it answers clients.

    Without `port` the folder's last port is taken again when it is free, else any free one. With
    `reuse` a broker that already runs on the folder is returned instead of refused. One whose
    starter was killed is stopped and started again. `cache` keeps the jars (default: per user).

    Raises a BrokerFailed: DownloadBroken, JarRefused, NoJava, PortTaken, FolderInUse, DiskFull,
    FolderUnusable or KafkaEnded.
    """
    data_dir = data_dir.expanduser().resolve()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        # Two starts on one folder take turns; the second then sees the first one's broker.
        with FileLock(data_dir / "start.lock"):
            state = read_state(data_dir) or _new_state(data_dir)
            running = _running(data_dir, state)
            if running is not None:
                if reuse:
                    return running
                raise FolderInUse(
                    f"a broker already runs on {data_dir} at {running.bootstrap} (process "
                    f"{running.pid}): use it, stop it, or choose another folder"
                )
            if shutil.disk_usage(data_dir).free < ROOM:
                raise disk_full(data_dir)
            jars = ensure_jars(cache=cache, on_progress=on_progress)
            launch = _Launch(data_dir, find_java(), jars, on_progress)
            return launch.start(state, port)
    except OSError as error:
        raise from_os_error(error, data_dir) from error


def _running(data_dir: Path, state: FolderState) -> RunningBroker | None:
    """The live broker of the folder; a stale one is stopped."""
    process = broker_process(data_dir, state)
    if process is None:
        return None
    if state.owner_lives():
        return RunningBroker(
            bootstrap=f"{kafka.HOST}:{state.port}",
            pid=process.pid,
            data_dir=data_dir,
            started_by_us=False,
        )
    with contextlib.suppress(psutil.Error):
        process.terminate()
        try:
            process.wait(STOP_WITHIN)
        except psutil.TimeoutExpired:
            process.kill()
            process.wait(STOP_WITHIN)
    return None


def _new_state(data_dir: Path) -> FolderState:
    """A cluster id for a new folder; that of Kafka's own files where ours was lost."""
    meta = data_dir / kafka.LOG_DIR / "meta.properties"
    if meta.exists():
        for line in meta.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            if name == "cluster.id" and value:
                return FolderState(cluster_id=value, port=0, formatted=True)
        raise FolderUnusable(
            f"{meta} names no cluster.id, so the data cannot be opened: restore the file, or "
            "choose another folder"
        )
    random = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    # Kafka's tool would read a leading dash as an option.
    return FolderState(
        cluster_id=random.replace("-", "A", 1) if random[0] == "-" else random, port=0
    )


@dataclass(frozen=True)
class _Launch:
    """Everything one start needs."""

    data_dir: Path
    java: Path
    jars: tuple[Path, ...]
    on_progress: OnProgress

    def start(self, state: FolderState, port: int | None) -> RunningBroker:
        for attempt in range(1, START_TRIES + 1):
            chosen = choose_port(port, remembered=state.port)
            controller_port = free_port(other_than=chosen)
            kafka.write_properties(self.data_dir, port=chosen, controller_port=controller_port)
            state = replace(state.stopped(), port=chosen)
            write_state(self.data_dir, state)
            if not state.formatted:
                self._format(state)
                state = replace(state, formatted=True)
                write_state(self.data_dir, state)
            try:
                return self._serve(state)
            except PortTaken:
                if port is not None or attempt == START_TRIES:
                    raise
        raise AssertionError("unreachable")

    def _format(self, state: FolderState) -> None:
        """Prepare the folder, once; what an interrupted attempt left holds no records."""
        for folder in (kafka.LOG_DIR, kafka.METADATA_DIR):
            shutil.rmtree(self.data_dir / folder, ignore_errors=True)
        self.on_progress(BrokerProgress(step="format", text="preparing the data folder"))
        command = kafka.format_command(self.java, self.jars, cluster_id=state.cluster_id)
        with (self.data_dir / LOG).open("ab") as log:
            begin = log.tell()
            code = subprocess.run(  # noqa: S603 - our own command
                command,
                cwd=self.data_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            ).returncode
        if code != 0:
            raise explain(self.data_dir / LOG, begin, "could not prepare its folder")

    def _serve(self, state: FolderState) -> RunningBroker:
        self.on_progress(BrokerProgress(step="start", text="starting Kafka"))
        bootstrap = f"{kafka.HOST}:{state.port}"
        command = kafka.server_command(self.java, self.jars, data_dir=self.data_dir)
        with (self.data_dir / LOG).open("ab") as log:
            begin = log.tell()
            watched = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-I", "-S", supervisor.__file__, *command],
                cwd=self.data_dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        pid = 0
        try:
            if watched.stdout is not None:
                with watched.stdout as said:
                    pid = int(said.readline() or b"0")
            started = psutil.Process().create_time()
            owned = replace(state, pid=pid, owner=os.getpid(), owner_started=started)
            write_state(self.data_dir, owned)
            answers = wait_until_ready(
                bootstrap, cluster_id=state.cluster_id, alive=lambda: watched.poll() is None
            )
            if not answers:
                raise explain(self.data_dir / LOG, begin, "did not start", port=state.port)
        except BaseException:
            end(watched, pid)
            raise
        self.on_progress(BrokerProgress(step="ready", text=f"Kafka answers at {bootstrap}"))
        return RunningBroker(
            bootstrap=bootstrap,
            pid=pid,
            data_dir=self.data_dir,
            started_by_us=True,
            _supervisor=watched,
            _log_begin=begin,
        )
