"""Plays the scenario: Sayso posts, people answer, ticks settle, people change their minds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sayso.connectors.anthropic.sandbox.script import Line, Script
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.demo.asked import Asked
from sayso.demo.errors import DemoFailed
from sayso.demo.scenario import FIRST, LATER, ORG, PEOPLE, QUESTIONS, SAYINGS, Saying
from sayso.schemas.ids import effect_id, row_id
from sayso.schemas.tick import ReplySettled

Tell = Callable[[str], None]
"""Takes one line about what goes on."""

_LIMITED_FOR: Final = "1"
"""Seconds that Slack asks us to wait, where it limits us."""


@dataclass(kw_only=True)
class Played:
    """What was played, and what the ticks said came of it."""

    channel: str
    questions: dict[str, str] = field(default_factory=dict)
    """The ts of each question, by the name of its thread."""
    sayings: dict[str, str] = field(default_factory=dict)
    """The ts of each message, by what it shows."""
    outcomes: dict[str, ReplySettled] = field(default_factory=dict)
    """The last outcome of each reply, by its ts."""
    first_refusals: dict[str, str] = field(default_factory=dict)
    """Why the first attempt was refused, by the reply's ts."""
    limited: int = 0
    """Ticks that Slack cut short with a 429."""


def script() -> Script:
    """What goes wrong with the model's answers: once each, on the first attempt."""
    return Script(
        *(
            Line(when=saying.text, fault=saying.mishap, times=1)
            for saying in SAYINGS
            if saying.mishap is not None
        )
    )


def cast(slack: SlackSandbox, *, channel: str) -> None:
    """Fill the workspace."""
    for who, (user, kind) in PEOPLE.items():
        machine = {"bot_id": "B0REPORT", "app_id": "A0REPORT"} if kind == "bot" else {}
        slack.workspace.add_user(user, kind=kind, name=who, **machine)
    slack.workspace.add_channel(channel, name="suggestions")


class Play:
    """One performance in one channel of the Slack stand-in."""

    def __init__(self, *, slack: SlackSandbox, asked: Asked, channel: str, tell: Tell) -> None:
        self._slack = slack
        self._asked = asked
        self._tell = tell
        self.played = Played(channel=channel)

    def run(self) -> Played:
        """Play it to the end, the last confirmation included. Raises DemoFailed."""
        self._post("margin", "markets", "small plan")
        self._say(FIRST)
        self._tick("first tick")
        self._change_minds()
        self._slack.faults.add(
            Fault(
                kind="rate_limited",
                method="conversations.history",
                retry_after=_LIMITED_FOR,
            )
        )
        self._tick("second tick")
        self._post("support")
        self._say(LATER)
        self._slack.faults.add(
            Fault(kind="rate_limited", method="chat.postMessage", retry_after=_LIMITED_FOR)
        )
        self._tick("third tick")
        self._tell("waiting for the last confirmations")
        self._asked.wait_for_effects(self._confirmations(), "a confirmation")
        return self.played

    def _post(self, *threads: str) -> None:
        for thread in threads:
            self.played.questions[thread] = self._asked.post(QUESTIONS[thread])
            self._tell(f"Sayso posts: {QUESTIONS[thread]}")

    def _say(self, sayings: tuple[Saying, ...]) -> None:
        workspace = self._slack.workspace
        for saying in sayings:
            thread = self.played.questions[saying.thread] if saying.thread else None
            self.played.sayings[saying.name] = workspace.say(
                self.played.channel,
                PEOPLE[saying.who][0],
                saying.text.replace("{sayso}", f"<@{workspace.bot.id}>"),
                thread_ts=thread,
                broadcast=saying.broadcast,
            )
        self._tell(f"{len(sayings)} messages of other people and apps arrive")

    def _change_minds(self) -> None:
        workspace, channel = self._slack.workspace, self.played.channel
        for saying in FIRST:
            ts = self.played.sayings[saying.name]
            if saying.edited_to is not None:
                workspace.edit(channel, ts, saying.edited_to)
                self._tell(f"{saying.who} edits a reply: {saying.edited_to}")
            if saying.deleted:
                workspace.delete(channel, ts)
                self._tell(f"{saying.who} deletes a reply: {saying.text}")

    def _tick(self, name: str) -> None:
        read, settled = self._asked.tick()
        for _ in range(3):
            if read.retry_after is None:
                break
            self._tell(f"{name}: Slack answers 429, again in {read.retry_after:.0f} s")
            self.played.limited += 1
            time.sleep(read.retry_after)
            read, settled = self._asked.tick()
        else:
            raise DemoFailed(f"Slack's stand-in limited the {name} again and again")
        for ts, outcome in settled.items():
            if outcome.attempt_count == 1 and outcome.refusal is not None:
                self.played.first_refusals[ts] = outcome.refusal
        self.played.outcomes |= settled
        states = [outcome.status for outcome in settled.values()]
        counted = ", ".join(f"{states.count(one)} {one}" for one in dict.fromkeys(sorted(states)))
        self._tell(f"{name}: {counted or 'nothing to settle'}; {read.api_calls} Slack calls")

    def _confirmations(self) -> set[str]:
        return {
            effect_id("confirm", row_id(ORG, self.played.channel, ts))
            for ts, outcome in self.played.outcomes.items()
            if outcome.status == "processed"
        }
