"""What becomes of a reply: pure steps from one row to the next.

`receive`, `answered`, `refused` and `applied` each take a row and return the next one; nothing
here reads a clock or asks anybody. What a row sends is in `outputs`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sayso.agents.feedback.settings import FeedbackSettings
from sayso.schemas.feedback import FeedbackRow, IgnoredReason, Position, StoredAnswer
from sayso.schemas.ids import decision_id, row_id
from sayso.schemas.slack import Author, Message
from sayso.schemas.strategy import Conclusion, Decision
from sayso.schemas.ts import micros

_TICKS_KEPT: Final = 16
_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(hours=6)
_REFUSAL_LENGTH: Final = 2_000


@dataclass(frozen=True)
class Received:
    """The row after a message was received, and whether the model is to be asked now."""

    row: FeedbackRow
    attempt: bool = False


def may_decide(author: Author, settings: FeedbackSettings) -> bool:
    """True for a listed decider; with an empty list for every full member."""
    if not author.is_person:
        return False
    if settings.deciders:
        return author.id in settings.deciders
    return author.kind == "member"


def receive(
    row: FeedbackRow | None,
    message: Message,
    *,
    position: Position,
    at: datetime,
    settings: FeedbackSettings,
) -> Received | None:
    """Take a message in. None when it is nothing to this loop."""
    if row is None:
        if message.answers is None:
            return None
        if message.change == "deleted":
            return Received(_ignored(_new(message), "withdrawn", source=position))
        if not message.author.is_person:
            return None
        return _first(message, position=position, at=at, settings=settings)
    if row.is_settled or row.conclusion is not None:
        return Received(_changed_after(row, message))
    if message.change == "deleted":
        return Received(_ignored(row, "withdrawn", source=position))
    if row.status == "failed" and _is_copy(row, message, position):
        return Received(row)
    newest = _newest(row.message, message)
    if not may_decide(newest.author, settings):
        return Received(_ignored(row, "not a decider", message=newest, source=position))
    if row.next_attempt_at is not None and at < row.next_attempt_at:
        return Received(_next(row, message=newest) if newest != row.message else row)
    return Received(_attempt(row, newest, position=position, at=at), attempt=True)


def answered(
    row: FeedbackRow,
    answer: StoredAnswer,
    conclusion: Conclusion,
    *,
    settings: FeedbackSettings,
) -> FeedbackRow:
    """The model's answer, kept; the row then waits to be applied, or is ignored."""
    kept = row.model_copy(update={"answer": answer, "next_attempt_at": None})
    if not conclusion.is_decision:
        return _ignored(kept, "no decision")
    if conclusion.confidence < settings.floor:
        return _ignored(kept, "unsure")
    revision = row.revision + 1
    return _next(
        kept,
        conclusion=conclusion,
        decision=decision_id(row.id, revision),
        decision_revision=revision,
    )


def refused(
    row: FeedbackRow,
    refusal: str,
    *,
    at: datetime,
    settings: FeedbackSettings,
    answer: StoredAnswer | None = None,
    retry_after: float | None = None,
) -> FeedbackRow:
    """The attempt was not applied; it is tried again on a later tick."""
    return _next(
        row,
        status="failed",
        last_error=refusal[:_REFUSAL_LENGTH],
        answer=answer,
        next_attempt_at=_next_attempt_at(row, at=at, settings=settings, retry_after=retry_after),
    )


def applied(row: FeedbackRow, decision: Decision) -> FeedbackRow:
    """The decision is applied. A copy, or another decision, changes nothing."""
    if row.status != "pending" or row.decision != decision.id:
        return row
    return _next(row, status="processed", last_error=None)


def _first(
    message: Message, *, position: Position, at: datetime, settings: FeedbackSettings
) -> Received:
    row = _new(message)
    if not may_decide(message.author, settings):
        return Received(_ignored(row, "not a decider", source=position))
    return Received(_attempt(row, message, position=position, at=at), attempt=True)


def _new(message: Message) -> FeedbackRow:
    return FeedbackRow(
        id=row_id(message.org, message.channel, message.ts),
        org=message.org,
        channel=message.channel,
        ts=message.ts,
        thread=message.thread_ts or message.ts,
        status="pending",
        message=message,
    )


def _attempt(
    row: FeedbackRow, message: Message, *, position: Position, at: datetime
) -> FeedbackRow:
    return _next(
        row,
        status="pending",
        message=message,
        attempt_count=row.attempt_count + 1,
        last_attempt_at=at,
        next_attempt_at=None,
        answer=None,
        ticks=(*row.ticks, message.read_by)[-_TICKS_KEPT:],
        source=position,
    )


def _ignored(row: FeedbackRow, reason: IgnoredReason, **changes: object) -> FeedbackRow:
    return _next(
        row, status="ignored", reason=reason, last_error=None, next_attempt_at=None, **changes
    )


def _changed_after(row: FeedbackRow, message: Message) -> FeedbackRow:
    if row.reason == "withdrawn":
        # Nothing comes after a deletion; what arrives now is a copy of it or an older reading.
        return row
    if message.change == "deleted":
        return row if row.changed_after == "deleted" else _next(row, changed_after="deleted")
    edited, known = message.edited_ts, row.changed_after or row.message.edited_ts
    if edited is None or known == "deleted" or (known and micros(edited) <= micros(known)):
        return row
    return _next(row, changed_after=edited)


def _is_copy(row: FeedbackRow, message: Message, position: Position) -> bool:
    """True when this delivery was tried already: the same tick read it, or an older record."""
    source = row.source
    older = (
        source is not None
        and (source.topic, source.partition) == (position.topic, position.partition)
        and position.offset <= source.offset
    )
    return older or message.read_by in row.ticks


def _newest(known: Message, read: Message) -> Message:
    """The newer form of two readings; a copy of an old reading does not undo an edit."""
    if known.edited_ts is None or (
        read.edited_ts is not None and micros(read.edited_ts) >= micros(known.edited_ts)
    ):
        # A reading that does not know which post is answered, does not undo that either.
        knows = read.answers is not None and read.answers.text
        return read if knows else read.model_copy(update={"answers": known.answers})
    return known.model_copy(update={"read_by": read.read_by})


def _next_attempt_at(
    row: FeedbackRow, *, at: datetime, settings: FeedbackSettings, retry_after: float | None
) -> datetime | None:
    pauses = [] if retry_after is None else [timedelta(seconds=retry_after)]
    beyond = row.attempt_count - settings.backoff_after
    if settings.backoff_after and beyond >= 0:
        pauses.append(min(_FIRST_PAUSE * 2 ** min(beyond, 20), _LONGEST_PAUSE))
    return at + max(pauses) if pauses else None


def _next(row: FeedbackRow, **changes: object) -> FeedbackRow:
    return row.model_copy(update={**changes, "revision": row.revision + 1})
