"""Points in a topic as people write them: a time, an age or an offset."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

_AGE: Final = re.compile(r"(\d{1,9})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def point(text: str | None, *, option: str, now: datetime | None = None) -> int | datetime | None:
    """An offset, or a time; a time without a zone is UTC. Exits 2 naming the option."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        age = _AGE.fullmatch(text)
        if age is not None:
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        when = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is no time (2026-11-30T12:00), age (2h, 30m, 7d) or offset (1200)",
            param_hint=option,
        ) from None
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)
