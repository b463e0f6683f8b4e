"""The whole pipeline: replies stand in Slack, a tick reads them, decisions come out.

Slack and the model are Sayso's sandboxes, over HTTP, in this process; they answer at once. So what
is measured is Sayso, and the machine is shared with them and with Kafka.
"""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Final

import psutil

from engine import BenchFailed
from sayso.cli.embedded import worker_process
from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.demo.stage import environment, load_stage
from sayso.schemas.ids import tick_id
from sayso.schemas.slack import Message
from sayso.schemas.strategy import Decision
from sayso.schemas.tick import ReplySettled, Tick, TickFailed, TickResult
from sayso.schemas.ts import micros
from sayso.settings import Settings
from sayso.streams.asking import Asking
from sayso.streams.codec import decode
from sayso.streams.reader import read_topic
from stage import CHANNEL, LEAD, ORG, write_settings

TICK_SECONDS: Final = 1.0
_THREADS: Final = 10
_STALL: Final = 60.0
_KEY: Final = "stand-in"  # opens nothing


@dataclass(frozen=True)
class Whole:
    """What the pipeline did."""

    burst: int
    """Replies that stood in Slack when one tick read them."""
    burst_replies_per_s: float
    """From the first reply's ts to the record of the last one's outcome."""
    burst_cpu_s_per_reply: float
    """Of the worker, confirmations included."""
    rate: float
    """Replies a second, one after the other."""
    replies: int
    reply_to_decision_s: tuple[float, float]
    """p50 and p99, from the reply's ts to its decision's record; waiting for a tick included."""
    message_to_decision_s: tuple[float, float]
    """p50 and p99, from the poller's record of the reply to its decision's record."""
    peak_mb: float
    """Of the worker."""


def run_pipeline(
    *,
    bootstrap: str,
    folder: Path,
    burst: int,
    rate: float,
    seconds: float,
    done: Callable[[float], None],
) -> Whole:
    """Settle a burst, then replies at a fixed rate. Raises BenchFailed."""
    with SlackSandbox() as slack, ModelSandbox() as model:
        slack.workspace.add_user(LEAD)
        slack.workspace.add_channel(CHANNEL)
        write_settings(folder, bootstrap=bootstrap, slack=slack.url, model=model.url)
        with environment(folder, SLACK_BOT_TOKEN=slack.token, ANTHROPIC_API_KEY=_KEY):
            settings = load_stage()
            with (
                worker_process(settings, schedule=False) as worker,
                Asking(settings.kafka, results="tick-results", model=TickResult) as asking,
            ):
                return _Run(slack, settings, worker, asking, done).measure(
                    burst=burst, rate=rate, seconds=seconds
                )


class _Run:
    """One worker at work."""

    def __init__(
        self,
        slack: SlackSandbox,
        settings: Settings,
        worker: "subprocess.Popen[bytes]",
        asking: Asking[TickResult],
        done: Callable[[float], None],
    ) -> None:
        self._slack = slack
        self._settings = settings
        self._worker = worker
        self._process = psutil.Process(worker.pid)
        self._asking = asking
        self._done = done
        self._settled: set[str] = set()
        self._roots: list[str] = []
        self._ticks = 0
        self._peak_mb = 0.0

    def measure(self, *, burst: int, rate: float, seconds: float) -> Whole:
        workspace = self._slack.workspace
        self._roots = [
            workspace.say(CHANNEL, workspace.bot.id, f"Question {number}?")
            for number in range(_THREADS)
        ]
        replies = int(rate * seconds)
        everything = 1 + burst + replies
        # The first reply waits for the worker to start, and is no part of any figure.
        self._until([self._say(0)], everything)
        self._until_confirmed()

        cpu = self._cpu()
        at_once = [self._say(number) for number in range(burst)]
        self._until(at_once, everything)
        self._until_confirmed()
        cpu = self._cpu() - cpu

        one_by_one: list[str] = []
        over = Event()
        speaker = Thread(target=self._speak, args=(one_by_one, over, rate, replies), daemon=True)
        speaker.start()
        try:
            self._until(one_by_one, everything, speaking=speaker)
        finally:
            over.set()
            speaker.join()

        decided = self._times("decisions", Decision)
        published = self._times("slack.messages", Message)
        return Whole(
            burst=burst,
            burst_replies_per_s=burst / self._burst_seconds(at_once),
            burst_cpu_s_per_reply=cpu / burst,
            rate=rate,
            replies=replies,
            reply_to_decision_s=_percentiles([decided[ts] - micros(ts) / 1e6 for ts in one_by_one]),
            message_to_decision_s=_percentiles([decided[ts] - published[ts] for ts in one_by_one]),
            peak_mb=self._peak_mb,
        )

    def _say(self, number: int) -> str:
        return self._slack.workspace.say(
            CHANNEL,
            LEAD,
            f"agreed, set target_margin to {number}",
            thread_ts=self._roots[number % _THREADS],
        )

    def _speak(self, said: list[str], over: Event, rate: float, count: int) -> None:
        begin = time.monotonic()
        for number in range(count):
            if over.wait(max(0.0, begin + number / rate - time.monotonic())):
                return
            said.append(self._say(number))

    def _until(self, wanted: list[str], everything: int, *, speaking: Thread | None = None) -> None:
        """Tick, and wait until every wanted reply is settled; tick on while one is `speaking`."""
        self._tick()
        moved = time.monotonic()
        next_tick = moved + TICK_SECONDS
        for result in self._asking.results():
            now = time.monotonic()
            if isinstance(result, TickResult) and self._take(result):
                moved = now
                self._done(len(self._settled) / everything)
            if not (speaking and speaking.is_alive()) and self._settled.issuperset(wanted):
                return
            if speaking and now >= next_tick:
                self._tick()
                next_tick = now + TICK_SECONDS
            self._look(moved)

    def _until_confirmed(self) -> None:
        """Wait for the confirmations, so that they are no load on what is measured next."""
        moved = time.monotonic()
        while self._slack.calls["chat.postMessage"] < len(self._settled):
            self._look(moved)
            time.sleep(0.05)

    def _take(self, result: TickResult) -> bool:
        match result.root:
            case ReplySettled(status="processed") as outcome:
                self._settled.add(outcome.ts)
                return True
            case ReplySettled(refusal=str(refusal)) | TickFailed(refusal=refusal):
                raise BenchFailed(f"the pipeline refused: {refusal}")
        return False

    def _look(self, moved: float) -> None:
        if self._worker.poll() is not None:
            raise BenchFailed(f"the worker ended with exit code {self._worker.returncode}")
        self._peak_mb = max(self._peak_mb, self._process.memory_info().rss / 1e6)
        if time.monotonic() - moved > _STALL:
            raise BenchFailed(f"no reply was settled for {_STALL:.0f} s")

    def _tick(self) -> None:
        self._ticks += 1
        tick = Tick(
            id=tick_id(ORG, CHANNEL, f"bench/{self._ticks}"),
            org=ORG,
            channel=CHANNEL,
            cause="command",
            at=datetime.now(UTC),
        )
        self._asking.publish("ticks", tick)

    def _cpu(self) -> float:
        return sum(self._process.cpu_times()[:2])

    def _burst_seconds(self, wanted: list[str]) -> float:
        first, last = min(map(micros, wanted)) / 1e6, 0.0
        for raw in read_topic(self._settings.kafka, "tick-results"):
            outcome = decode(TickResult, raw.value or b"").root
            if isinstance(outcome, ReplySettled) and outcome.ts in set(wanted):
                last = max(last, raw.timestamp_ms / 1000)
        return last - first

    def _times(self, topic: str, model: type[Message | Decision]) -> dict[str, float]:
        """When each reply first stood on a topic, in seconds, by its ts."""
        found: dict[str, float] = {}
        for raw in read_topic(self._settings.kafka, topic):
            ts = decode(model, raw.value or b"").ts
            found[ts] = min(found.get(ts, float("inf")), raw.timestamp_ms / 1000)
        return found


def _percentiles(values: list[float]) -> tuple[float, float]:
    ranked = sorted(values)
    return ranked[len(ranked) // 2], ranked[int(0.99 * len(ranked))]
