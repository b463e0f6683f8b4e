"""What the thread is told. Text from people and models is escaped, so that it pings nobody."""

from html import escape
from typing import Final

from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.strategy import FieldChange

_TEXT_LIMIT: Final = 3_500
"""Slack updates messages of up to 4,000 characters only; room is left for the rest of the line."""


def confirmation(row: FeedbackRow) -> str:
    """One short confirmation of what a reply settled."""
    if row.conclusion is None:
        raise ValueError(f"row {row.id} has no decision to confirm")
    changes = "; ".join(_change(change) for change in row.conclusion.changes)
    title = _escaped(row.conclusion.title)
    said = f"Recorded: *{title}*" + (f" — {changes}" if changes else "")
    return f"{_clipped(said)} (decided by <@{row.message.author.id}>)"


def clarification(row: FeedbackRow) -> str:
    """The one question asked when the model is unsure."""
    return (
        f"<@{row.message.author.id}> I am not sure whether this settles something. "
        "If it does, please say in one sentence what is decided."
    )


def _change(change: FieldChange) -> str:
    value = change.value
    shown = ", ".join(value) if isinstance(value, tuple) else str(value)
    return f"`{_escaped(change.field)}` is now {_escaped(shown)}"


def _escaped(text: str) -> str:
    # Slack's own three escapes are HTML's without the quotes.
    return escape(" ".join(text.split()), quote=False)


def _clipped(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
