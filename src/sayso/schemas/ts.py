"""Slack's timestamp: a string of ten digits, a point and six digits.

It names a message within a channel and orders messages, so it is compared as integer
microseconds and never passes through a float: `1796000000.1` is read by Slack as `.000001`.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import AfterValidator

_SHAPE: Final = re.compile(r"[0-9]{10}\.[0-9]{6}")
_MICROS_PER_SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def checked_ts(value: str) -> str:
    """Return `value` when it is seconds and six digits, else raise ValueError naming it."""
    if not _SHAPE.fullmatch(value):
        raise ValueError(f"ts {value[:40]!r} is not ten digits, a point and six digits")
    return value


Ts = Annotated[str, AfterValidator(checked_ts)]


def micros(ts: str) -> int:
    """Microseconds since the epoch of a well-formed ts."""
    seconds, fraction = checked_ts(ts).split(".")
    return int(seconds) * _MICROS_PER_SECOND + int(fraction)


def from_micros(value: int) -> str:
    """The ts of a number of microseconds since the epoch."""
    seconds, fraction = divmod(value, _MICROS_PER_SECOND)
    return f"{seconds:010d}.{fraction:06d}"


def just_before(ts: str) -> str:
    """The ts one microsecond earlier.

    Slack leaves out a message stamped exactly at `oldest`, so reading from here returns it again.
    """
    return from_micros(micros(ts) - 1)


def as_datetime(ts: str) -> datetime:
    """The moment a ts names, by Slack's clock."""
    return _EPOCH + timedelta(microseconds=micros(ts))
