"""Times, ages and offsets as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer

from sayso.cli.points import point

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (None, None),
        ("0", 0),
        ("1200", 1200),
        ("2h", NOW - timedelta(hours=2)),
        ("90s", NOW - timedelta(seconds=90)),
        ("30m", NOW - timedelta(minutes=30)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-11-30", datetime(2026, 11, 30, tzinfo=UTC)),
        ("2026-11-30T12:30", datetime(2026, 11, 30, 12, 30, tzinfo=UTC)),
        ("2026-11-30T12:30Z", datetime(2026, 11, 30, 12, 30, tzinfo=UTC)),
        (
            "2026-11-30T12:30+01:00",
            datetime(2026, 11, 30, 12, 30, tzinfo=timezone(timedelta(hours=1))),
        ),
    ],
)
def test_what_is_meant(text: str | None, meant: object) -> None:
    assert point(text, option="--from", now=NOW) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "-1", "2x", "1.5h", "2026-13-01", "999999999w"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"is no time .*, age .* or offset"):
        point(text, option="--from", now=NOW)
