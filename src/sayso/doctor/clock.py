"""Whether this machine's clock agrees with Slack's."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout

from sayso.doctor.finding import Finding, ok, warning

_CHECK: Final = "clock"
_BEARABLE: Final = 30.0
"""Seconds by which the clocks may differ: cursors are Slack's, but windows and retries are ours."""
_TIMEOUT: Final = ClientTimeout(total=10)


async def check_clock(
    address: str, *, clock: Callable[[], float] = time.time
) -> tuple[Finding, ...]:
    """Compare with the `Date` of an answer of the server at `address`, whatever it answers."""
    try:
        async with ClientSession(timeout=_TIMEOUT, trust_env=True) as session:
            before = clock()
            async with session.get(f"{address.rstrip('/')}/api.test") as answer:
                said = answer.headers.get("Date", "")
            middle = (before + clock()) / 2
        # The header is cut to whole seconds.
        ahead = middle - parsedate_to_datetime(said).timestamp() - 0.5
    except (ClientError, OSError) as error:
        return (_unknown(f"{address} does not answer ({type(error).__name__})"),)
    except (ValueError, TypeError):
        return (_unknown(f"{address} does not tell the time"),)
    if abs(ahead) > _BEARABLE:
        direction = "ahead of" if ahead > 0 else "behind"
        return (
            warning(
                _CHECK,
                f"this machine's clock is {abs(ahead):.0f} s {direction} Slack's",
                "have it set by NTP",
            ),
        )
    return (ok(_CHECK, f"within {_BEARABLE:.0f} s of Slack's"),)


def _unknown(why: str) -> Finding:
    return warning(_CHECK, f"cannot be compared: {why}", "see what is said about Slack")
