"""The demo from its stand-ins to its report, on a Kafka that somebody else started."""

import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from sayso.connectors.anthropic.sandbox.app import STAND_IN
from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.anthropic.settings import ModelSettings
from sayso.connectors.slack.sandbox import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.demo.asked import Asked
from sayso.demo.found import Found, read_fields, read_found
from sayso.demo.play import Play, Played, Tell, cast, script
from sayso.demo.report import ConfirmationLine, FieldLine, MessageLine, Report
from sayso.demo.scenario import FIELDS, ORG, SAYINGS
from sayso.demo.stage import environment, load_stage, write_settings
from sayso.demo.standing import Confirmation, read_confirmations, run_reading
from sayso.demo.verdict import differences
from sayso.schemas.strategy import StrategyValue
from sayso.settings import Settings
from sayso.streams.settings import KafkaSettings

Worker = Callable[[Settings], AbstractContextManager["subprocess.Popen[bytes]"]]
"""Starts a worker on settings, and stops it at the end."""

_ABOUT: Final = (
    "Its Slack and its model were stand-ins that ended with it, so a worker started on these\n"
    "settings finds nobody there; Kafka's data stays and is read with --embedded."
)
_KEY: Final = "stand-in"  # opens nothing
_SLACK: Final = "a stand-in for Slack on this machine"


def perform(*, folder: Path, kafka: KafkaSettings, worker: Worker, tell: Tell) -> Report:
    """Play the scenario and report. Raises DemoFailed, and what the streams raise."""
    # A channel of its own per run: what an earlier run left in the folder stays as it is.
    channel = f"C0DEMO{int(time.time() * 10):X}"
    with SlackSandbox() as slack, ModelSandbox(script=script()) as model:
        write_settings(
            folder,
            org=ORG,
            channel=channel,
            kafka=kafka,
            slack=SlackSettings(api_url=slack.url),
            model=ModelSettings(url=model.url),
            about=_ABOUT,
        )
        cast(slack, channel=channel)
        with environment(folder, SLACK_BOT_TOKEN=slack.token, ANTHROPIC_API_KEY=_KEY):
            tell("topics")
            settings = load_stage()
            before = read_fields(settings.kafka, org=ORG)
            tell("a worker starts")
            with (
                worker(settings) as process,
                Asked(settings, org=ORG, channel=channel, worker=process) as asked,
            ):
                played = Play(slack=slack, asked=asked, channel=channel, tell=tell).run()
            found = read_found(
                settings.kafka,
                org=ORG,
                channel=channel,
                settled={ts: one.status for ts, one in played.outcomes.items()},
            )
        slack_calls = dict(sorted(slack.calls.items()))
        confirmations = _standing(played, slack)
        # A run that was cut short may have left replies that only this worker got to.
        model_calls = sum(entry.channel == channel for entry in model.journal)
    return Report(
        slack=_SLACK,
        model=STAND_IN,
        messages=_messages(played, found),
        fields=field_lines(before, found.fields),
        confirmations=_confirmations(played, confirmations),
        slack_calls=slack_calls,
        model_calls=model_calls,
        limited=played.limited,
        differences=tuple(
            differences(played, found, confirmations=confirmations, model_calls=model_calls)
        ),
    )


def _standing(played: Played, slack: SlackSandbox) -> tuple[Confirmation, ...]:
    top_level = [played.sayings[one.name] for one in SAYINGS if one.thread is None]
    return run_reading(
        read_confirmations(
            [*played.questions.values(), *top_level],
            channel=played.channel,
            token=SecretStr(slack.token),
            settings=SlackSettings(api_url=slack.url),
        )
    )


def _messages(played: Played, found: Found) -> tuple[MessageLine, ...]:
    lines = []
    for saying in SAYINGS:
        ts = played.sayings[saying.name]
        row = found.rows.get(ts)
        title = row.conclusion.title if row is not None and row.conclusion is not None else ""
        why = "" if row is None else row.last_error or row.reason or title
        lines.append(
            MessageLine(
                shows=saying.name,
                who=saying.who,
                where=saying.thread or "channel",
                ts=ts,
                text=(saying.edited_to or saying.text).replace("{sayso}", "@sayso"),
                outcome="no reply" if row is None else row.status,
                attempts=0 if row is None else row.attempt_count,
                why=why,
                first_refusal=played.first_refusals.get(ts),
            )
        )
    return tuple(lines)


def field_lines(
    before: Mapping[str, StrategyValue], after: Mapping[str, StrategyValue]
) -> tuple[FieldLine, ...]:
    """Every declared field, before and after."""
    return tuple(
        FieldLine(
            field=name,
            before=before[name].value if name in before else None,
            after=after[name].value if name in after else None,
            set_by=after[name].ts if name in after else None,
        )
        for name in FIELDS
    )


def _confirmations(
    played: Played, confirmations: tuple[Confirmation, ...]
) -> tuple[ConfirmationLine, ...]:
    names = {ts: name for name, ts in {**played.sayings, **played.questions}.items()}
    return tuple(
        ConfirmationLine(thread=names.get(one.thread, one.thread), text=one.text)
        for one in confirmations
    )
