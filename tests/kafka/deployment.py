"""A whole deployment for a test: real Kafka, sandboxes over HTTP, workers as processes."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.schemas.effect import EffectResult
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.ids import tick_id
from sayso.schemas.strategy import Decision, StrategyValue
from sayso.schemas.tick import ReplySettled, Tick, TickFailed, TickRead, TickResult
from sayso.settings import Settings, load_settings
from sayso.streams.asking import Asking
from sayso.streams.codec import decode
from sayso.streams.reader import read_topic
from sayso.streams.topics import apply_topics, wanted_topics
from sayso.worker import TABLES

M = TypeVar("M", bound=BaseModel)

ORG = "acme"
CHANNEL = "C0SUGGEST"
LEAD = "U0LEAD"
GUEST = "U0GUEST"


class Deployment:
    """Start it, say things in Slack, tick, and look at the topics."""

    def __init__(
        self,
        *,
        bootstrap: str,
        prefix: str,
        folder: Path,
        monkeypatch: Any,
        toml: str = "",
        conversations: str = f'"{CHANNEL}"',
    ) -> None:
        self.slack = SlackSandbox()
        self.model = ModelSandbox()
        self.folder = folder
        self._bootstrap = bootstrap
        self._prefix = prefix
        self._monkeypatch = monkeypatch
        self._toml = toml
        self._conversations = conversations
        self._ticks = 0
        self.workers: list[subprocess.Popen[bytes]] = []
        self.settings: Settings

    def __enter__(self) -> Self:
        self.slack.__enter__()
        self.model.__enter__()
        workspace = self.slack.workspace
        workspace.add_user(LEAD)
        workspace.add_user(GUEST, kind="guest")
        workspace.add_channel(CHANNEL)
        file = self.folder / "sayso.toml"
        file.write_text(
            f"""
data_dir = "{self.folder / "data"}"
[kafka]
bootstrap = "{self._bootstrap}"
prefix = "{self._prefix}"
partitions = 4
[slack]
api_url = "{self.slack.url}"
calls_per_minute = 10000
[model]
url = "{self.model.url}"
[effects]
settle = 0.5
[orgs.{ORG}.orchestrator.autoGoalChannelID]
suggestions = "{CHANNEL}"
[orgs.{ORG}.scan]
conversations = [{self._conversations}]
[orgs.{ORG}.fields]
target_margin = "number"
positioning = "text"
markets = "texts"
{self._toml}
"""
        )
        self._monkeypatch.setenv("SAYSO_CONFIG", str(file))
        self._monkeypatch.setenv("SLACK_BOT_TOKEN", self.slack.token)
        self._monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
        self.settings = load_settings()
        apply_topics(self.settings.kafka, wanted_topics(self.settings.kafka, tables=TABLES))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
        self.model.__exit__(kind, error, trace)
        self.slack.__exit__(kind, error, trace)
        # Shown by pytest when the test failed.
        for log in sorted(self.folder.glob("worker*.log")):
            print(f"--- {log.name}\n{log.read_text()[-8_000:]}")

    def start_worker(
        self, *, schedule: bool = False, name: str = "worker", **environment: str
    ) -> subprocess.Popen[bytes]:
        """A worker of its own process; its log is in the folder."""
        command = [sys.executable, "-m", "sayso", "worker"]
        if not schedule:
            command.append("--no-schedule")
        with (self.folder / f"{name}.log").open("ab") as log:
            worker = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}
            )
        self.workers.append(worker)
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGKILL: nothing is cleaned up."""
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def post(self, text: str = "Shall we raise the target margin?") -> str:
        """A post of ours in the channel."""
        return self.slack.workspace.say(CHANNEL, self.slack.workspace.bot.id, text)

    def reply(self, root: str, text: str, *, user: str = LEAD, **options: Any) -> str:
        """A reply in a thread."""
        return self.slack.workspace.say(CHANNEL, user, text, thread_ts=root, **options)

    def ask_tick(self, *, trigger: str | None = None) -> Tick:
        """A tick nobody else asked for."""
        self._ticks += 1
        from datetime import UTC, datetime

        return Tick(
            id=tick_id(ORG, CHANNEL, f"test/{self._prefix}/{self._ticks}"),
            org=ORG,
            channel=CHANNEL,
            cause="trigger" if trigger else "command",
            at=datetime.now(UTC),
            trigger_ts=trigger,
        )

    def tick(
        self, *, trigger: str | None = None, timeout: float = 90.0
    ) -> tuple[TickRead | TickFailed, dict[str, ReplySettled]]:
        """Tick once and wait for every outcome, by ts."""
        with Asking(self.settings.kafka, results="tick-results", model=TickResult) as asking:
            tick = self.ask_tick(trigger=trigger)
            asking.publish("ticks", tick)
            end: TickRead | TickFailed | None = None
            outcomes: dict[str, ReplySettled] = {}
            deadline = time.monotonic() + timeout
            for result in asking.results():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{end=} {outcomes=}")
                if result is None or result.root.tick != tick.id:
                    continue
                if isinstance(result.root, TickRead | TickFailed):
                    end = result.root
                elif isinstance(result.root, ReplySettled):
                    outcomes[result.root.ts] = result.root
                if isinstance(end, TickFailed) or (
                    end is not None and set(end.replies) <= outcomes.keys()
                ):
                    return end, outcomes
        raise AssertionError

    def calls(self) -> int:
        """Calls of Slack and of the model so far."""
        return sum(self.slack.calls.values()) + self.model.requests

    def until(self, holds: Callable[[], bool], *, timeout: float = 60.0) -> None:
        """Wait for something that no record announces."""
        deadline = time.monotonic() + timeout
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError("it did not come to hold")
            time.sleep(0.1)

    def records(self, topic: str, model: type[M]) -> list[M]:
        """Every record of a topic, tombstones left out."""
        return [
            decode(model, raw.value)
            for raw in read_topic(self.settings.kafka, topic)
            if raw.value is not None
        ]

    def rows(self) -> dict[str, FeedbackRow]:
        """The newest feedback row of each reply, by ts."""
        return {row.ts: row for row in self.records("feedback", FeedbackRow)}

    def decisions(self) -> dict[str, Decision]:
        """Decisions by id; a copy must say the same."""
        found: dict[str, Decision] = {}
        for decision in self.records("decisions", Decision):
            assert found.setdefault(decision.id, decision) == decision
        return found

    def strategy(self) -> dict[str, StrategyValue]:
        """The newest value of each field."""
        return {value.field: value for value in self.records("strategy", StrategyValue)}

    def effects(self) -> dict[str, EffectResult]:
        """The newest result of each effect, by id."""
        return {result.id: result for result in self.records("effect-results", EffectResult)}

    def confirmations(self) -> Counter[str]:
        """How often each reply's author was answered in Slack, by effect id."""
        return Counter(
            str(post.metadata["event_payload"]["effect_id"])
            for post in self.slack.workspace.posts
            if post.user == self.slack.workspace.bot.id and post.metadata
        )
