"""Replies, answers and positions as the rules are given them."""

from datetime import UTC, datetime, timedelta

from sayso.schemas.feedback import Position, StoredAnswer
from sayso.schemas.slack import AnswerTo, Author, Change, Message
from sayso.schemas.strategy import Conclusion, FieldChange

ORG, CHANNEL = "acme", "C1"
ROOT = "1796000000.000100"
TS = "1796000100.000200"
START = datetime(2026, 11, 30, 12, tzinfo=UTC)
MEMBER = Author(id="U1", kind="member")
GUEST = Author(id="U2", kind="guest")
BOT = Author(id="bot:B1", kind="bot")
SYSTEM = Author(id="system", kind="system")


def reply(
    text: str = "Make it 0.4",
    *,
    tick: str = "tick-1",
    author: Author = MEMBER,
    edited: str | None = None,
    change: Change = "created",
    answers: bool = True,
) -> Message:
    """One reading of the reply at TS in the thread ROOT."""
    return Message(
        org=ORG,
        channel=CHANNEL,
        ts=TS,
        author=author,
        text=text,
        change="edited" if edited and change == "created" else change,
        edited_ts=edited,
        thread_ts=ROOT,
        answers=AnswerTo(ts=ROOT, text="Which margin?", via="thread") if answers else None,
        read_by=tick,
    )


def withdrawal(*, tick: str = "tick-1") -> Message:
    """What a scan publishes for a reply that is gone."""
    return reply("", tick=tick, author=SYSTEM, change="deleted")


def position(offset: int, *, partition: int = 3) -> Position:
    return Position(topic="slack.messages", partition=partition, offset=offset)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def answer(text: str = "{}") -> StoredAnswer:
    return StoredAnswer(text=text, model="a-model", prompt_version="p1", answered_at=START)


def conclusion(
    *,
    is_decision: bool = True,
    confidence: float = 0.9,
    title: str = "Margin",
    changes: tuple[FieldChange, ...] = (FieldChange(field="target_margin", value=0.4),),
) -> Conclusion:
    return Conclusion(
        is_decision=is_decision,
        title=title,
        statement="The margin is 0.4.",
        rationale="They said so.",
        quote="Make it 0.4",
        confidence=confidence,
        changes=changes,
    )
