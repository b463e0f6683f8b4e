"""Find in Kafka's log why it did not start."""

from pathlib import Path

from sayso.streams.broker.errors import DidNotStart, DiskFull, FolderInUse, PortTaken
from sayso.streams.errors import BrokerFailed


def explain(log: Path, begin: int, what: str, *, port: int | None = None) -> BrokerFailed:
    """The error for what the log says from byte `begin` on."""
    with log.open("rb") as stream:
        stream.seek(begin)
        text = stream.read().decode("utf-8", "replace")
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DiskFull(f"the disk of {log.parent} is full: free some room, or choose another")
    if "Address already in use" in text:
        return PortTaken(
            f"port {port} was taken on loopback while Kafka started: start again, or choose "
            "another with --port"
        )
    if "Failed to acquire lock on file" in text:
        return FolderInUse(
            f"another Kafka holds the data of {log.parent}: stop it, or choose another folder"
        )
    line = _last_telling_line(text)
    quoted = f": {line}" if line else " and said nothing"
    return DidNotStart(f"Kafka {what}{quoted} (the whole log is {log})")


def _last_telling_line(text: str) -> str:
    """The last error, else the last line that is no stack frame."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    errors = [line for line in lines if " ERROR " in line or "Exception" in line.split(":")[0]]
    plain = [line for line in lines if not line.startswith(("at ", "..."))]
    for found in (causes, errors, plain):
        if found:
            return found[-1].removeprefix("Caused by: ")[:300]
    return ""
