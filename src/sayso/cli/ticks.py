"""Asking for a tick and printing what it settled."""

import subprocess
import time
import uuid
from datetime import UTC, datetime
from typing import Final

import typer

from sayso.schemas.ids import tick_id
from sayso.schemas.tick import (
    ReplySettled,
    Tick,
    TickFailed,
    TickRead,
    TickResult,
    TickStarted,
)
from sayso.schemas.ts import checked_ts
from sayso.settings import Settings
from sayso.streams.asking import Asking

TAKEN_UP_WITHIN: Final = 8.0
"""Seconds within which a worker takes up a tick, or is at least there."""
_WORKER_START: Final = 60.0
"""Seconds a worker of our own may take to start and recover its tables."""

_FINISH: Final = 30.0
_LOOK_AGAIN: Final = 0.3


def tick_for(org: str, channel: str, *, trigger: str | None) -> Tick:
    """The tick of a channel that a command asks for. Raises a usage error."""
    trigger_ts = None
    if trigger is not None:
        named, _, trigger_ts = trigger.partition(":")
        try:
            checked_ts(trigger_ts)
        except ValueError as error:
            raise typer.BadParameter(f"--trigger is CHANNEL:TS, and {error}") from error
        if named != channel:
            raise typer.BadParameter(
                f"--trigger names {named}; the suggestions channel of {org} is {channel}"
            )
    return Tick(
        id=tick_id(org, channel, f"command/{uuid.uuid4()}"),
        org=org,
        channel=channel,
        cause="trigger" if trigger_ts else "command",
        at=datetime.now(UTC),
        trigger_ts=trigger_ts,
    )


def run_tick(
    settings: Settings,
    tick: Tick,
    *,
    as_json: bool,
    timeout: float,
    worker: subprocess.Popen[bytes] | None = None,
) -> bool:
    """Publish the tick and print each outcome as it comes; True when every reply was settled."""
    printer = _Printer(as_json=as_json)
    patience = TAKEN_UP_WITHIN if worker is None else _WORKER_START
    with Asking(
        settings.kafka,
        results="tick-results",
        model=TickResult,
        password=settings.kafka_password(),
    ) as asking:
        asking.publish("ticks", tick)
        started = time.monotonic()
        for result in asking.results():
            waited = time.monotonic() - started
            if result is not None and result.root.tick == tick.id:
                printer.take(result)
                if printer.is_done:
                    if worker is not None:
                        _let_finish(asking)
                    return printer.is_good
            elif worker is not None and worker.poll() is not None:
                log = settings.data_dir / "worker.log"
                typer.echo(
                    f"the worker stopped (exit code {worker.returncode}); see {log}", err=True
                )
                return False
            elif not printer.taken_up and waited > patience:
                # A worker that is in the group is busy with another record, and gets to it.
                if worker is not None or asking.workers() == 0:
                    typer.echo(_NO_WORKER, err=True)
                    return False
                patience = timeout
            elif waited > timeout + (patience if worker else 0):
                typer.echo(printer.missing(timeout), err=True)
                return False
    return False


def _let_finish(asking: Asking[TickResult]) -> None:
    """Give a worker of our own the time to confirm in the threads; the rest is done by the next."""
    deadline = time.monotonic() + _FINISH
    while True:
        # An outcome comes a moment before the effect that follows from it.
        time.sleep(_LOOK_AGAIN)
        if not asking.undone("effects") or time.monotonic() > deadline:
            return


_NO_WORKER: Final = (
    "no worker took the tick up: start one with `sayso worker`, or add --embedded to bring one"
)


class _Printer:
    """Prints outcomes and knows when all are there."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._read: TickRead | None = None
        self._settled: dict[str, ReplySettled] = {}
        self._failed = False
        self.taken_up = False

    @property
    def is_done(self) -> bool:
        if self._failed:
            return True
        return self._read is not None and set(self._read.replies) <= self._settled.keys()

    @property
    def is_good(self) -> bool:
        unreadable = any(one.unreadable for one in self._settled.values())
        return not self._failed and not unreadable

    def take(self, result: TickResult) -> None:
        self.taken_up = True
        if self._as_json:
            typer.echo(result.model_dump_json())
        match result.root:
            case TickStarted():
                return
            case TickFailed() as failed:
                self._failed = True
                _refuse(f"scan failed channel={failed.channel}: {failed.refusal}")
            case TickRead() as read:
                self._read = read
                if not self._as_json:
                    self._summary(read)
            case ReplySettled() as outcome:
                if outcome.ts in self._settled:
                    return
                self._settled[outcome.ts] = outcome
                self._outcome(outcome)

    def missing(self, timeout: float) -> str:
        if self._read is None:
            return f"the channel was not read within {timeout:g} s; see the worker's log"
        left = sorted(set(self._read.replies) - self._settled.keys())
        return (
            f"not settled within {timeout:g} s: {', '.join(left)}; "
            "see `sayso suggestions list` and `sayso topics read dead`"
        )

    def _summary(self, read: TickRead) -> None:
        note = f"; {read.note}" if read.note else ""
        typer.echo(f"{len(read.replies)} replies to settle, {read.api_calls} Slack calls{note}")

    def _outcome(self, outcome: ReplySettled) -> None:
        if outcome.unreadable:
            _refuse(f"scan failed channel={outcome.channel}: {outcome.refusal}")
        elif outcome.unmarked:
            _refuse(f"ts={outcome.ts} cannot be marked failed: {outcome.refusal}")
        elif outcome.status == "failed":
            _refuse(f"failed ts={outcome.ts}: {outcome.refusal}")
        if not self._as_json:
            detail = outcome.refusal or outcome.reason or outcome.title or ""
            typer.echo(f"{outcome.ts}  {outcome.status:<9}  {detail}")


def _refuse(what: str) -> None:
    typer.echo(f"# strategic feedback {what}", err=True)
