"""When the next call of a method may go out: our own pace, and what Slack asked for.

Slack counts per method and workspace, so one budget belongs to one workspace and a method that
is held does not hold the others.
"""

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Final

from aiolimiter import AsyncLimiter

from sayso.connectors.slack.errors import RateLimited

_MINUTE: Final = 60.0
_SHORT_WAIT: Final = 1.0
"""Seconds that may be slept; a tick never sleeps longer on a rate limit."""
_UNSAID: Final = 30.0
"""Seconds to wait when Slack limits us without saying for how long."""
_LONGEST: Final = 3_600.0
"""Seconds after which asking again costs one call at most."""


class Budget:
    """The pace of one workspace, per method."""

    def __init__(
        self, *, calls_per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = calls_per_minute
        self._clock = clock
        self._paces: dict[str, AsyncLimiter] = {}
        self._held: dict[str, float] = {}

    async def admit(self, method: str) -> None:
        """Take one call of the method; sleeps under a second. Raises RateLimited."""
        wait = self.wait(method)
        if wait > 0:
            raise RateLimited(method, retry_after=wait)
        pace = self._paces.setdefault(method, AsyncLimiter(self._rate, _MINUTE))
        spacing = _MINUTE / self._rate
        if spacing >= _SHORT_WAIT and not pace.has_capacity():
            raise RateLimited(method, retry_after=spacing)
        await pace.acquire()

    def hold(self, method: str, seconds: float) -> None:
        """Let no call of the method out for that long."""
        self._held[method] = max(self._held.get(method, 0.0), self._clock() + seconds)

    def wait(self, method: str) -> float:
        """Seconds that Slack wants the method to rest; 0 when it may be called."""
        return max(0.0, self._held.get(method, 0.0) - self._clock())


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float:
    """Seconds to wait, from the `Retry-After` header: a number, a date, absent or garbage.

    `now` is in seconds since the epoch; the local clock by default.
    """
    said = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    if said is None:
        return _UNSAID
    try:
        seconds = float(said)
    except ValueError:
        try:
            until = parsedate_to_datetime(said).timestamp()
        except (ValueError, OverflowError):
            return _UNSAID
        seconds = until - (time.time() if now is None else now)
    if not isfinite(seconds) or seconds < 0:
        return _UNSAID
    return min(seconds, _LONGEST)
