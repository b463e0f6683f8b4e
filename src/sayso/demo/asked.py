"""Asking the demo's worker for posts and ticks, and waiting for what came of them."""

import subprocess
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from pydantic import BaseModel

from sayso.demo.errors import DemoFailed
from sayso.schemas.effect import Effect, EffectResult, PostMessage
from sayso.schemas.ids import effect_id, tick_id
from sayso.schemas.tick import ReplySettled, Tick, TickFailed, TickRead, TickResult
from sayso.settings import Settings
from sayso.streams.asking import Asking

M = TypeVar("M", bound=BaseModel)

_PATIENCE: Final = 60.0
"""Seconds for one answer, a worker's start included."""


class _Line(Generic[M]):
    """One topic of answers, with a worker that may end and a patience that does."""

    def __init__(
        self,
        settings: Settings,
        *,
        results: str,
        model: type[M],
        worker: subprocess.Popen[bytes],
        log: Path,
    ) -> None:
        self.asking = Asking(settings.kafka, results=results, model=model)
        self._worker = worker
        self._log = log

    def answers(self, what: str) -> Iterator[M]:
        """Answers as they come. Raises DemoFailed when there is none to be expected any more."""
        deadline = time.monotonic() + _PATIENCE
        for answer in self.asking.results():
            if answer is not None:
                yield answer
            elif self._worker.poll() is not None:
                code = self._worker.returncode
                raise DemoFailed(f"the worker stopped (exit code {code}); see {self._log}")
            elif time.monotonic() > deadline:
                raise DemoFailed(f"{what} did not come within {_PATIENCE:g} s; see {self._log}")


class Asked:
    """Posts and ticks of one channel. A context manager."""

    def __init__(
        self, settings: Settings, *, org: str, channel: str, worker: subprocess.Popen[bytes]
    ) -> None:
        self._org = org
        self._channel = channel
        log = settings.data_dir / "worker.log"
        self._effects = _Line(
            settings, results="effect-results", model=EffectResult, worker=worker, log=log
        )
        self._ticks = _Line(
            settings, results="tick-results", model=TickResult, worker=worker, log=log
        )
        self._ended: dict[str, EffectResult] = {}

    def __enter__(self) -> Self:
        self._effects.asking.__enter__()
        self._ticks.asking.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ticks.asking.__exit__(kind, error, trace)
        self._effects.asking.__exit__(kind, error, trace)

    def post(self, text: str) -> str:
        """Post as Sayso, through the worker; the ts. `text` holds nothing that Slack escapes."""
        effect = Effect(
            id=effect_id("post", str(uuid.uuid4())),
            org=self._org,
            target=self._channel,
            cause="demo",
            action=PostMessage(channel=self._channel, text=text),
        )
        self._effects.asking.publish("effects", effect)
        self.wait_for_effects({effect.id}, "the post")
        result = self._ended[effect.id]
        if result.ts is None:
            raise DemoFailed(f"the post was not made: {result.refusal}")
        return result.ts

    def wait_for_effects(self, wanted: set[str], what: str) -> None:
        """Wait until each of the effects is done or has failed."""
        if wanted <= self._ended.keys():
            return
        for result in self._effects.answers(what):
            if result.state in ("done", "failed"):
                self._ended[result.id] = result
            if wanted <= self._ended.keys():
                return

    def tick(self) -> tuple[TickRead, dict[str, ReplySettled]]:
        """Read the channel once; the outcome of each reply read, by its ts."""
        tick = Tick(
            id=tick_id(self._org, self._channel, f"demo/{uuid.uuid4()}"),
            org=self._org,
            channel=self._channel,
            cause="command",
            at=datetime.now(UTC),
        )
        self._ticks.asking.publish("ticks", tick)
        read: TickRead | None = None
        settled: dict[str, ReplySettled] = {}
        for answer in self._ticks.answers("the outcome of a tick"):
            result = answer.root
            if result.tick != tick.id:
                continue
            if isinstance(result, TickFailed):
                raise DemoFailed(f"the scan failed: {result.refusal}")
            if isinstance(result, TickRead):
                read = result
            elif isinstance(result, ReplySettled):
                settled[result.ts] = result
            if read is not None and set(read.replies) <= settled.keys():
                break
        if read is None:
            raise DemoFailed("the tick has no result")
        return read, settled
