"""Everything that is known of one reply, put together for a person."""

from pydantic import BaseModel

from sayso.cli.records import printable
from sayso.schemas.effect import EffectResult
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.keys import channel_key
from sayso.schemas.strategy import Decision
from sayso.settings import Settings
from sayso.streams.codec import decode
from sayso.streams.reader import read_topic


class Evidence(BaseModel):
    """A feedback row with what followed from it."""

    row: FeedbackRow
    decision: Decision | None
    effects: tuple[EffectResult, ...]
    """The newest result of each effect that the row caused."""


def evidence_of(settings: Settings, row: FeedbackRow) -> Evidence:
    """Look up a row's decision and effects. Raises BrokerUnreachable."""
    password = settings.kafka_password()
    decision = None
    if row.decision is not None:
        wanted = f"{row.org}/{row.decision}"
        for raw in read_topic(settings.kafka, "decisions", key=wanted, password=password):
            if raw.value is not None:
                decision = decode(Decision, raw.value)
    target = channel_key(row.org, row.channel)
    newest: dict[str, EffectResult] = {}
    for raw in read_topic(settings.kafka, "effect-results", key=target, password=password):
        if raw.value is not None:
            result = decode(EffectResult, raw.value)
            if result.cause == row.id:
                newest[result.id] = result
    return Evidence(row=row, decision=decision, effects=tuple(newest.values()))


def print_evidence(evidence: Evidence) -> None:
    """For people, on standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    row, decision = evidence.row, evidence.decision
    table = Table(box=None, show_header=False)

    def line(name: str, value: object) -> None:
        if value not in (None, "", ()):
            # Text of people and models is shown as it is, never as markup.

            table.add_row(name, Text(printable(str(value).encode())))

    line("reply", f"{row.org} {row.channel} {row.ts} by {row.message.author.id}")
    line("text", row.message.text)
    if row.message.answers is not None:
        line("answers", f"{row.message.answers.ts} ({row.message.answers.via})")
        line("post", row.message.answers.text)
    line("status", row.status)
    line("reason", row.reason)
    line("last error", row.last_error)
    line("attempts", row.attempt_count)
    line("last attempt", row.last_attempt_at)
    line("changed after", row.changed_after)
    if row.answer is not None:
        line("model", f"{row.answer.model}, prompt {row.answer.prompt_version}")
    if decision is not None:
        line("decision", f"{decision.title} ({decision.id})")
        line("statement", decision.statement)
        line("quote", decision.quote)
        line("confidence", decision.confidence)
        for change in decision.changes:
            line("change", f"{change.field} = {change.value}")
        for other in decision.supersedes:
            line("supersedes", f"{other.field} of decision {other.decision}")
        for other in decision.outranked_by:
            line("outranked", f"{other.field} by decision {other.decision}")
    for effect in evidence.effects:
        stands = f" as {effect.ts}" if effect.ts else ""
        line("effect", f"{effect.state}{stands} {effect.refusal or ''}".rstrip())
    Console().print(table)
