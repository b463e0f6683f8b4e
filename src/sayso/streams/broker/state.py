"""What a folder remembers of its broker, and the process that may still serve it."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from sayso.streams.broker.kafka import folder_mark

STATE = "broker.json"


@dataclass(frozen=True, kw_only=True)
class FolderState:
    """Kept in the folder as `broker.json`."""

    cluster_id: str
    port: int
    """Of the last start; taken again when it is free."""
    formatted: bool = False
    """Whether Kafka's own files were made to the end."""
    pid: int | None = None
    """Kafka's process, while it runs."""
    owner: int | None = None
    """The process that started it."""
    owner_started: float | None = None
    """When the owner started, seconds since the epoch: a process id alone may be another's."""

    def stopped(self) -> "FolderState":
        """The same with no process."""
        return replace(self, pid=None, owner=None, owner_started=None)

    def owner_lives(self) -> bool:
        """Whether the process that started the broker still runs."""
        if self.owner is None or self.owner_started is None:
            return False
        try:
            process = psutil.Process(self.owner)
            dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            return not dead and abs(process.create_time() - self.owner_started) < 2
        except psutil.Error:
            return False


def read_state(data_dir: Path) -> FolderState | None:
    """What the folder remembers; None when it is new or the file is damaged."""
    try:
        found = json.loads((data_dir / STATE).read_text(encoding="utf-8"))
        state = FolderState(**found)
        return state if isinstance(state.port, int) else None
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        return None


def write_state(data_dir: Path, state: FolderState) -> None:
    """Replace the file in one step."""
    part = data_dir / f"{STATE}.part"
    part.write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
    part.replace(data_dir / STATE)


def broker_process(data_dir: Path, state: FolderState) -> psutil.Process | None:
    """The running Kafka of this folder, known by its command line, never by its number alone."""
    if state.pid is None:
        return None
    try:
        process = psutil.Process(state.pid)
        return process if folder_mark(data_dir) in process.cmdline() else None
    except psutil.Error:
        return None
