"""Find in Kafka's log why it ended or did not start."""

import shutil
from pathlib import Path

from sayso.streams.broker.errors import FolderInUse, KafkaEnded, PortTaken, disk_full
from sayso.streams.errors import BrokerFailed

NO_ROOM = ("No space left on device", "Disk quota exceeded")


def explain(log: Path, begin: int, what: str, *, port: int | None = None) -> BrokerFailed:
    """The error for what the log says from byte `begin` on."""
    with log.open("rb") as stream:
        stream.seek(begin)
        text = stream.read().decode("utf-8", "replace")
    # Where the log itself found no room, only the disk tells.
    if any(said in text for said in NO_ROOM) or shutil.disk_usage(log.parent).free < 1 << 16:
        return disk_full(log.parent)
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
    return KafkaEnded(f"Kafka {what}{quoted} (the whole log is {log})")


def _last_telling_line(text: str) -> str:
    """The last cause, else the last error, else the last line that is no frame or warning."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    errors = [line for line in lines if " ERROR " in line or "Exception" in line.split(":")[0]]
    plain = [
        line for line in lines if not line.startswith(("at ", "...")) and " WARN" not in f" {line}"
    ]
    for found in (causes, errors, plain):
        if found:
            return found[-1].removeprefix("Caused by: ")[:300]
    return ""
