"""What one check found."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    """What was looked at: `settings`, `broker`, `slack acme`."""
    state: State
    """`warning` is for what works now and may not later, or not as wanted."""
    detail: str
    mend: str | None = None
    """What to do about it."""


Check = Callable[[], Awaitable[tuple[Finding, ...]]]
"""Looks at one thing; never raises for what may be wrong with it."""


def ok(check: str, detail: str) -> Finding:
    """All is well."""
    return Finding(check=check, state="ok", detail=detail)


def warning(check: str, detail: str, mend: str | None = None) -> Finding:
    """It works, but."""
    return Finding(check=check, state="warning", detail=detail, mend=mend)


def failed(check: str, detail: str, mend: str | None = None) -> Finding:
    """It does not work."""
    return Finding(check=check, state="failed", detail=detail, mend=mend)
