"""A broker that runs, and how it ends."""

import contextlib
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from sayso.streams.broker.log import explain
from sayso.streams.broker.state import read_state, write_state
from sayso.streams.broker.supervisor import GRACE
from sayso.streams.errors import BrokerFailed

LOG = "broker.log"
STOP_WITHIN = GRACE + 5
"""Seconds after which a broker that does not end is killed."""


@dataclass(frozen=True, kw_only=True)
class RunningBroker:
    """A broker that answers. It is stopped with `stop()`, by leaving `with`, or when we end."""

    bootstrap: str
    """host:port for clients."""
    pid: int
    """Of the Java process."""
    data_dir: Path
    started_by_us: bool
    """False for one found running; `stop()` leaves that one alone."""
    _supervisor: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)
    _log_begin: int = field(default=0, repr=False)
    """Where this run begins in the log."""

    def stop(self) -> None:
        """Stop it and wait until it is gone; more than once is harmless."""
        if self._supervisor is None:
            return
        end(self._supervisor, self.pid)
        state = read_state(self.data_dir)
        if state is not None and state.pid == self.pid:
            # A full disk must not turn a clean stop into a failure: a dead process id is harmless.
            with contextlib.suppress(OSError):
                write_state(self.data_dir, state.stopped())

    def wait(self) -> BrokerFailed | None:
        """Wait until it ends by itself and say why; at once None for one not started by us."""
        if self._supervisor is None:
            return None
        self._supervisor.wait()
        return explain(self.data_dir / LOG, self._log_begin, "ended by itself")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def end(watched: "subprocess.Popen[bytes]", pid: int) -> None:
    """Close the supervisor's pipe, which stops Kafka, and wait until both are gone."""
    if watched.stdin is not None:
        watched.stdin.close()
    try:
        watched.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        watched.kill()
        watched.wait()
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).kill()
