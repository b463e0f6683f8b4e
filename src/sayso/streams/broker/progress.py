"""What a starting broker reports while one waits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class BrokerProgress:
    """One step on the way to a running broker."""

    step: Literal["download", "format", "start", "ready"]
    text: str
    """What is being done, for people."""
    done: int = 0
    """Jars fetched so far; 0 outside of `download`."""
    total: int = 0
    """Jars to fetch; 0 outside of `download`."""
    fetched: int = 0
    """Bytes fetched so far; 0 outside of `download`."""


OnProgress = Callable[[BrokerProgress], None]


def ignore_progress(progress: BrokerProgress) -> None:
    """Report nothing."""
