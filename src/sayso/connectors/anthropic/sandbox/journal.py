"""Every question that reached the stand-in, in order."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request for a message that passed the checks of key and shape."""

    number: int
    """From 1, in order of arrival."""
    request_id: str
    model: str
    org: str | None
    """With channel and ts the identity of the reply; None for a prompt that is not Sayso's."""
    channel: str | None
    ts: str | None
    reply: str
    outcome: str
    """`answer`, or the name of the fault played."""


class Journal:
    """Appended by the server's thread, read by any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._requests = 0

    def count_request(self) -> int:
        """Count one HTTP request of any kind; its number."""
        with self._lock:
            self._requests += 1
            return self._requests

    def add(self, entry: Entry) -> None:
        """Note a question."""
        with self._lock:
            self._entries.append(entry)

    def clear(self) -> None:
        """Forget the questions; numbers go on rising."""
        with self._lock:
            self._entries.clear()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The questions so far."""
        with self._lock:
            return tuple(self._entries)

    @property
    def requests(self) -> int:
        """HTTP requests of any kind since the start, the control endpoints left out."""
        with self._lock:
            return self._requests
