"""This worker's place in the consumer group, as the broker sees it.

A worker that was stopped, or cut off, for longer than its session learns last that another one
took over its partitions. Until then it would write over what the other wrote, and post twice.
"""

import asyncio
import time
from typing import Any, Final

import faust

SESSION_SECONDS: Final = 30.0
"""How long the broker waits for a sign of life before it gives a worker's partitions away."""
_FRESH: Final = SESSION_SECONDS / 3
"""For so long a sign of life that the broker took counts as one given now."""
_PAUSE: Final = 0.5
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""It runs on while the process is stopped, and where it can while the machine sleeps."""


class Membership:
    """One worker in its group."""

    def __init__(self, app: faust.App) -> None:
        self._app = app
        self._heard = -_FRESH

    def holds(self, generation: int | None) -> bool:
        """False once a rebalance began a newer generation, or the broker put this worker out.

        Either way everything unacknowledged is delivered again.
        """
        # Faust names the new generation only once it has rejoined; its client knows at once.
        return bool(generation == self._app.consumer_generation_id == self._coordinator.generation)

    async def confirm(self, generation: int | None) -> bool:
        """The same, asked of the broker unless it heard from us a moment ago.

        Waits while no broker answers. The answer holds for longer than a call takes to go out.
        """
        while self.holds(generation):
            asked = time.clock_gettime(_CLOCK)
            if asked - self._heard < _FRESH:
                return True
            if await self._thread.call_thread(self._coordinator._do_heartbeat):
                self._heard = asked
                return self.holds(generation)
            if self.holds(generation):
                await asyncio.sleep(_PAUSE)
        return False

    @property
    def _thread(self) -> Any:
        # The consumer lives in a thread of its own, which Faust gives no public way to.
        consumer: Any = self._app.consumer
        return consumer._thread

    @property
    def _coordinator(self) -> Any:
        return self._thread._ensure_consumer()._coordinator
