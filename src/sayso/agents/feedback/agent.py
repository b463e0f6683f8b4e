"""Settles each reply: asks the model once per attempt, keeps its answer, and has it applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog

from sayso.agents.feedback import rules
from sayso.agents.feedback.answer import answer_schema, read_answer
from sayso.agents.feedback.errors import AnswerRefused
from sayso.agents.feedback.outputs import outputs, settled
from sayso.agents.feedback.prompt import PROMPT_VERSION, reply_prompt, system_prompt
from sayso.agents.feedback.settings import FeedbackSettings
from sayso.connectors.anthropic.client import ModelClient
from sayso.connectors.anthropic.errors import ModelRefusal
from sayso.logs import described
from sayso.schemas.feedback import FeedbackRow, StoredAnswer
from sayso.schemas.ids import row_id
from sayso.schemas.keys import message_key
from sayso.schemas.slack import Message
from sayso.schemas.strategy import Decision
from sayso.schemas.tick import ReplySettled
from sayso.streams.app import Pipeline
from sayso.streams.delivery import Delivery
from sayso.streams.errors import PartitionLost, Poison, UnreadableState
from sayso.streams.tables import ModelTable

ROWS: Final = "rows"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class OrgFeedback:
    """What one org set for this loop."""

    settings: FeedbackSettings
    fields: Mapping[str, str]
    """Strategic fields and their kinds."""


class FeedbackAgent:
    """Settles replies, keyed by org/channel/ts."""

    def __init__(
        self, pipeline: Pipeline, *, model: ModelClient, orgs: Mapping[str, OrgFeedback]
    ) -> None:
        self._model = model
        self._orgs = orgs
        self._rows = ModelTable(pipeline.app, name=ROWS, model=FeedbackRow)
        pipeline.consume(
            "slack.messages", Message, self.on_message, name="feedback.settle", fetch=1
        )
        pipeline.consume("strategy.applied", Decision, self.on_applied, name="feedback.applied")

    async def on_message(self, message: Message, delivery: Delivery) -> None:
        """Take a message in; when it is a reply that is due, ask the model about it."""
        if message.answers is None:
            return
        org = self._org(message.org)
        try:
            row = self._rows.get(message.key)
        except UnreadableState as error:
            await delivery.emit("tick-results", _unreadable(message, error))
            return
        received = rules.receive(
            row,
            message,
            position=delivery.position,
            at=datetime.now(UTC),
            settings=org.settings,
        )
        if received is None:
            return
        await self._save(received.row, message.read_by, org, delivery)
        if received.attempt:
            # The attempt is counted on the broker before the model is asked.
            await self._attempt(received.row, message.read_by, org, delivery)

    async def on_applied(self, decision: Decision, delivery: Delivery) -> None:
        """The decision is applied: the row is processed."""
        row = self._rows.get(message_key(decision.org, decision.channel, decision.ts))
        if row is None:
            raise Poison(f"there is no feedback row for decision {decision.id}")
        row = rules.applied(row, decision)
        await self._save(row, row.ticks[-1], self._org(row.org), delivery)

    async def _attempt(
        self, row: FeedbackRow, tick: str, org: OrgFeedback, delivery: Delivery
    ) -> None:
        after = await self._ask(row, org)
        # Another worker may have settled the reply meanwhile; its row must not be written over.
        await delivery.confirm_mine()
        try:
            await self._save(after, tick, org, delivery)
            await delivery.settle()
        except PartitionLost:
            raise
        except Exception as error:
            if after.status != "failed":
                raise
            # The failure itself could not be written, so the row stays pending as it stood.
            log.error("cannot mark a row failed", row=row.id, **described(error))
            self._rows.put(row.key, row)
            await delivery.emit("tick-results", _unmarked(row, tick, str(error)))

    async def _ask(self, row: FeedbackRow, org: OrgFeedback) -> FeedbackRow:
        try:
            said = await self._model.answer(
                system=system_prompt(org.fields),
                prompt=reply_prompt(row.message),
                schema=answer_schema(org.fields),
            )
        except ModelRefusal as error:
            return rules.refused(
                row,
                str(error),
                at=datetime.now(UTC),
                settings=org.settings,
                retry_after=error.retry_after,
            )
        answer = StoredAnswer(
            text=said.text,
            model=said.model,
            prompt_version=PROMPT_VERSION,
            request_id=said.request_id,
            answered_at=datetime.now(UTC),
        )
        try:
            conclusion = read_answer(said.text, fields=org.fields, reply=row.message.text)
        except AnswerRefused as error:
            return rules.refused(
                row, str(error), at=datetime.now(UTC), settings=org.settings, answer=answer
            )
        return rules.answered(row, answer, conclusion, settings=org.settings)

    async def _save(
        self, row: FeedbackRow, tick: str, org: OrgFeedback, delivery: Delivery
    ) -> None:
        # Written even when nothing changed: a crash may have kept the first write from the broker.
        self._rows.put(row.key, row)
        await delivery.emit("feedback", row)
        # The row is on the broker before anybody is told what became of it.
        await delivery.settle()
        await delivery.send(outputs(row, tick=tick, settings=org.settings))

    def _org(self, name: str) -> OrgFeedback:
        try:
            return self._orgs[name]
        except KeyError:
            raise Poison(f"orgs.{name} is not in this worker's settings") from None


def _unreadable(message: Message, error: UnreadableState) -> ReplySettled:
    return ReplySettled(
        tick=message.read_by,
        org=message.org,
        channel=message.channel,
        ts=message.ts,
        thread=message.thread_ts or message.ts,
        row=row_id(message.org, message.channel, message.ts),
        status="pending",
        attempt_count=0,
        refusal=str(error),
        unreadable=True,
    )


def _unmarked(row: FeedbackRow, tick: str, refusal: str) -> ReplySettled:
    outcome = settled(row, tick=tick)
    return outcome.model_copy(update={"refusal": refusal, "unmarked": True})
