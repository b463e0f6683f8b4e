"""The demo against a real Slack and a real model: one question, and what people answer."""

import time
from pathlib import Path
from typing import Final

from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.scan import Slack, read_channel
from sayso.agents.polling.state import ChannelState
from sayso.connectors.anthropic.settings import ModelSettings
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.settings import SlackSettings
from sayso.demo.asked import Asked
from sayso.demo.errors import DemoFailed
from sayso.demo.found import read_fields, read_found, read_rows
from sayso.demo.perform import Worker, field_lines
from sayso.demo.play import Tell
from sayso.demo.report import ConfirmationLine, MessageLine, Report
from sayso.demo.stage import environment, load_stage, write_settings
from sayso.demo.standing import Confirmation, read_confirmations, run_reading
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.ids import effect_id
from sayso.schemas.tick import ReplySettled
from sayso.settings import Settings
from sayso.streams.settings import KafkaSettings

ORG: Final = "real"
QUESTION: Final = (
    "A question to try Sayso with: which target_margin do we set, and why? "
    "Please answer in this thread."
)
_PAUSE: Final = 10.0
"""Seconds between two looks at the channel."""
_KEPT: Final = ("SAYSO_SLACK__", "SAYSO_MODEL__")
"""A compatible server may be named instead of the real one."""


def perform_real(
    *, folder: Path, kafka: KafkaSettings, channel: str, wait: float, worker: Worker, tell: Tell
) -> Report:
    """Post one question and settle what people answer within `wait` seconds.

    The tokens stand in the environment. Raises DemoFailed before anything is posted when replies
    wait in the channel already, since they would be settled as well; WrongSettings without tokens.
    """
    write_settings(
        folder,
        org=ORG,
        channel=channel,
        kafka=kafka,
        slack=SlackSettings(),
        model=ModelSettings(),
        about="It posts to the channel below with the tokens of the environment.",
    )
    with environment(folder, keep=_KEPT):
        settings = load_stage()
        before = read_fields(settings.kafka, org=ORG)
        earlier = read_rows(settings.kafka, org=ORG, channel=channel)
        tell("looking whether replies wait in the channel already")
        _refuse_waiting(settings, channel, known=set(earlier))
        tell("a worker starts")
        with (
            worker(settings) as process,
            Asked(settings, org=ORG, channel=channel, worker=process) as asked,
        ):
            question = asked.post(QUESTION)
            tell(f"posted as {question}; answer in its thread within {wait:.0f} s")
            outcomes = _settle(asked, wait=wait, tell=tell)
            done = {effect_id("confirm", one.row) for one in outcomes if one.status == "processed"}
            asked.wait_for_effects(done, "a confirmation")
        settled = {one.ts: one.status for one in outcomes}
        found = read_found(settings.kafka, org=ORG, channel=channel, settled=settled)
        rows = [row for ts, row in sorted(found.rows.items()) if ts not in earlier]
        threads = dict.fromkeys([question, *(row.thread for row in rows)])
        confirmations = run_reading(
            read_confirmations(
                threads, channel=channel, token=settings.slack_token(ORG), settings=settings.slack
            )
        )
        return Report(
            slack=settings.slack.api_url,
            model=f"{settings.model.name} at {settings.model.url}",
            messages=tuple(_message(row, question) for row in rows),
            fields=field_lines(before, found.fields),
            confirmations=tuple(_confirmation(one, question) for one in confirmations),
            slack_calls={},
            model_calls=None,
        )


def _settle(asked: Asked, *, wait: float, tell: Tell) -> list[ReplySettled]:
    """The last outcome of each reply read within `wait` seconds."""
    outcomes: dict[str, ReplySettled] = {}
    deadline = time.monotonic() + wait
    while True:
        read, settled = asked.tick()
        outcomes |= settled
        for one in settled.values():
            tell(f"{one.ts} {one.status}: {one.refusal or one.reason or one.title or ''}")
        left = deadline - time.monotonic()
        if left <= 0:
            return list(outcomes.values())
        time.sleep(min(max(_PAUSE, read.retry_after or 0.0), left))


def _refuse_waiting(settings: Settings, channel: str, *, known: set[str]) -> None:
    waiting = [ts for ts in run_reading(_replies(settings, channel)) if ts not in known]
    if waiting:
        raise DemoFailed(
            f"{len(waiting)} replies to the bot wait in {channel} already and would be settled "
            "and answered as well: choose a channel made for this with --channel"
        )


async def _replies(settings: Settings, channel: str) -> list[str]:
    """What a first tick would settle; only reads."""
    token, feedback = settings.slack_token(ORG), settings.orgs[ORG].feedback
    async with SlackClient(org=ORG, token=token, settings=settings.slack) as client:
        slack = Slack(
            client=client,
            suggestions=channel,
            conversations=frozenset({channel}),
            adjacency=Adjacency(enabled=feedback.adjacent_replies, window=feedback.adjacent_window),
        )
        where = Where(org=ORG, channel=channel, tick="look")
        scan = await read_channel(slack, where, ChannelState(), {})
    if scan.note is not None:
        raise DemoFailed(f"{channel} cannot be read to its end now: {scan.note}; try again later")
    return [one.ts for one in scan.replies]


def _message(row: FeedbackRow, question: str) -> MessageLine:
    title = row.conclusion.title if row.conclusion is not None else ""
    author = row.message.author
    return MessageLine(
        shows="",
        who=author.name or author.id,
        where="question" if row.thread == question else "channel",
        ts=row.ts,
        text=row.message.text,
        outcome=row.status,
        attempts=row.attempt_count,
        why=row.last_error or row.reason or title,
    )


def _confirmation(one: Confirmation, question: str) -> ConfirmationLine:
    return ConfirmationLine(
        thread="question" if one.thread == question else one.thread, text=one.text
    )
