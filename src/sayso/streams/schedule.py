"""Publishes ticks on a schedule, spread over workers by the channel's key.

Every worker runs a schedule. Two that reach the same time slot publish ticks with the same id,
and the owner of the channel does the first.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final

import structlog

from sayso.schemas.ids import tick_id
from sayso.schemas.tick import Tick
from sayso.streams.errors import NotDelivered, NotDeliveredYet
from sayso.streams.outputs import Outputs

_JITTER: Final = 0.1

log = structlog.get_logger(__name__)


def scheduled_tick(org: str, channel: str, *, interval: float, at: datetime) -> Tick:
    """The tick of the time slot that `at` falls into."""
    slot = int(at.timestamp() // interval)
    return Tick(
        id=tick_id(org, channel, f"schedule/{interval:g}/{slot}"),
        org=org,
        channel=channel,
        cause="schedule",
        at=at,
    )


async def publish_ticks(
    outputs: Outputs,
    channels: Iterable[tuple[str, str]],
    *,
    interval: float,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Publish a tick per (org, channel) and interval until cancelled."""
    watched = tuple(channels)
    while True:
        for org, channel in watched:
            tick = scheduled_tick(org, channel, interval=interval, at=clock())
            try:
                sent = outputs.new_sent()
                outputs.produce("ticks", tick, sent=sent)
                await sent.wait()
            except (NotDelivered, NotDeliveredYet) as error:
                # A tick that could not be published is made up for by the next one.
                log.warning("tick not published", channel=channel, reason=str(error))
        spread = interval * _JITTER
        await asyncio.sleep(interval + random.uniform(-spread, spread))  # noqa: S311 - not a secret
