"""A worker that no longer moves ends itself, so that what restarts it can help.

Counted are looks, not seconds: a process that was stopped, or a machine that slept, has looked no
more often than it ran.
"""

import asyncio
import faulthandler
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

import faust
import structlog
from confluent_kafka import KafkaException
from confluent_kafka import Producer as Librdkafka
from faust.types import TP

EXIT_STUCK: Final = 71
"""Exit code of a worker that no longer moved."""
LOOKS: Final = 10
"""So many looks without any change mean that it is stuck."""
_ANSWER_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Seen:
    mark: object
    looks: int = 0


class Liveness:
    """Watches one worker: its partitions, the recovery of its tables, and its event loop."""

    def __init__(self, app: faust.App) -> None:
        self._app = app
        self._paused: dict[TP, float] = {}
        self._seen: dict[TP | str, _Seen] = {}
        self._loop_looks = 0

    def pausing(self, tp: TP, seconds: float) -> None:
        """Take a partition's word that it waits, and for how long, because it was asked to."""
        self._paused[tp] = time.monotonic() + seconds

    async def watch(self, stuck_after: float) -> None:
        """Look on until cancelled; end the process once nothing moved for `stuck_after` seconds."""
        pause = stuck_after / LOOKS
        done = threading.Event()
        threading.Thread(
            target=self._watch_loop, args=(pause, done), name="liveness", daemon=True
        ).start()
        try:
            while True:
                await asyncio.sleep(pause)
                self._loop_looks = 0
                stuck = await self._stuck()
                # Without a broker nothing can move, and ending would not help.
                if stuck and await self._broker_answers():
                    _end(f"nothing moved for {stuck_after:.0f} s", stuck=stuck)
        finally:
            done.set()

    async def _stuck(self) -> list[str]:
        """What has had work, and has not moved, for too many looks."""
        marks = await self._marks()
        self._seen = {name: seen for name, seen in self._seen.items() if name in marks}
        for name, mark in marks.items():
            seen = self._seen.setdefault(name, _Seen(mark))
            if seen.mark == mark:
                seen.looks += 1
            else:
                self._seen[name] = _Seen(mark)
        return sorted(_named(name) for name, seen in self._seen.items() if seen.looks > LOOKS)

    async def _marks(self) -> dict[TP | str, object]:
        """How far everything that has work to do has come."""
        app: Any = self._app
        generation = app.consumer_generation_id
        recovery = app.tables.recovery
        if recovery.in_recovery:
            # Partitions wait for their tables.
            return {"recovery": (generation, sum(recovery.active_offsets.values()))}
        behind = await app.consumer.behind()
        now = time.monotonic()
        self._paused = {tp: until for tp, until in self._paused.items() if until > now}
        return {
            tp: (generation, committed)
            for tp, committed in behind.items()
            if tp not in self._paused
        }

    async def _broker_answers(self) -> bool:
        client: Librdkafka = cast(Any, self._app.producer).client
        try:
            await asyncio.to_thread(client.list_topics, self._app.conf.id, timeout=_ANSWER_SECONDS)
        except KafkaException as error:
            log.warning("nothing moves and no Kafka answers", reason=error.args[0].str())
            self._seen.clear()
            return False
        return True

    def _watch_loop(self, pause: float, done: threading.Event) -> None:
        """The same for the event loop, from a thread: what blocks it blocks every look."""
        while not done.wait(pause):
            self._loop_looks += 1
            if self._loop_looks > LOOKS:
                faulthandler.dump_traceback()
                _end("the event loop is blocked; where is said above", stuck=["event loop"])


def _named(name: TP | str) -> str:
    return name if isinstance(name, str) else f"{name.topic}:{name.partition}"


def _end(why: str, *, stuck: list[str]) -> NoReturn:
    log.critical(
        "worker stops, it is stuck",
        why=why,
        stuck=stuck,
        mend="start it again; what is not acknowledged is delivered again",
    )
    os._exit(EXIT_STUCK)
