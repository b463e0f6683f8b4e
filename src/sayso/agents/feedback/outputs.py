"""What a row sends: a function of the row alone, so that a copy sends the same with the same ids.

Readers and the effects agent drop what they hold already.
"""

from collections.abc import Iterator

from sayso.agents.feedback.notices import clarification, confirmation
from sayso.agents.feedback.settings import FeedbackSettings
from sayso.schemas.effect import Effect, PostMessage
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.ids import effect_id
from sayso.schemas.output import Output
from sayso.schemas.status import Status
from sayso.schemas.strategy import StrategyRequest
from sayso.schemas.tick import ReplySettled
from sayso.schemas.ts import as_datetime


def outputs(row: FeedbackRow, *, tick: str, settings: FeedbackSettings) -> Iterator[Output]:
    """Everything that follows from the row as it is; `tick` is who waits for the outcome."""
    yield Output("status", _status(row))
    match row.status:
        case "pending" if row.conclusion is not None:
            yield Output("strategy.requests", _request(row))
            if tick != row.ticks[-1]:
                # Another tick came across it meanwhile and must not wait for it.
                yield Output("tick-results", settled(row, tick=tick))
        case "pending":
            return
        case "processed":
            yield Output("tick-results", settled(row, tick=tick))
            if settings.confirm and row.conclusion is not None:
                yield Output("effects", _effect(row, "confirm", confirmation(row)))
        case "ignored":
            yield Output("tick-results", settled(row, tick=tick))
            if settings.clarify and row.reason == "unsure":
                yield Output("effects", _effect(row, "clarify", clarification(row)))
        case "failed":
            yield Output("tick-results", settled(row, tick=tick))


def settled(row: FeedbackRow, *, tick: str) -> ReplySettled:
    """The outcome of a reply for one tick."""
    return ReplySettled(
        tick=tick,
        org=row.org,
        channel=row.channel,
        ts=row.ts,
        thread=row.thread,
        row=row.id,
        status=row.status,
        attempt_count=row.attempt_count,
        refusal=row.last_error,
        reason=row.reason,
        title=row.conclusion.title if row.conclusion else None,
    )


def _status(row: FeedbackRow) -> Status:
    return Status(
        org=row.org,
        kind="feedback",
        id=f"{row.channel}:{row.ts}",
        state=row.status,
        terminal=row.is_settled,
        detail=row.last_error or row.reason or (row.conclusion.title if row.conclusion else None),
        decision=row.decision,
        at=row.last_attempt_at,
        rev=row.revision,
        source=row.source,
    )


def _request(row: FeedbackRow) -> StrategyRequest:
    if row.conclusion is None or row.decision is None or row.answer is None:
        raise ValueError(f"row {row.id} has no decision to apply")
    return StrategyRequest(
        decision=row.decision,
        row=row.id,
        revision=row.decision_revision or row.revision,
        org=row.org,
        channel=row.channel,
        ts=row.ts,
        thread=row.thread,
        decided_by=row.message.author.id,
        decided_at=as_datetime(row.ts),
        conclusion=row.conclusion,
        model=row.answer.model,
        prompt_version=row.answer.prompt_version,
    )


def _effect(row: FeedbackRow, kind: str, text: str) -> Effect:
    return Effect(
        id=effect_id(kind, row.id),
        org=row.org,
        target=row.channel,
        cause=row.id,
        action=PostMessage(channel=row.channel, text=text, thread_ts=row.thread),
    )
