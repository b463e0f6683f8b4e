"""Ticks on a schedule: two schedulers that reach the same time slot agree on the id."""

from datetime import UTC, datetime, timedelta

from sayso.streams.schedule import scheduled_tick

AT = datetime(2026, 1, 1, tzinfo=UTC)


def tick_of(seconds: float, channel: str = "C1") -> str:
    at = AT + timedelta(seconds=seconds)
    return scheduled_tick("acme", channel, interval=60, at=at).id


def test_a_time_slot_has_one_tick() -> None:
    assert tick_of(0) == tick_of(59.9)
    assert tick_of(0) != tick_of(60)
    assert tick_of(0) != tick_of(0, channel="C2")
