"""Holds what came of the scenario against what has to come of it. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sayso.demo.found import Found
from sayso.demo.play import Played
from sayso.demo.scenario import AFTER, ORG, SAYINGS, Saying
from sayso.demo.standing import Confirmation
from sayso.schemas.ids import effect_id, row_id
from sayso.schemas.strategy import FieldValue


def differences(
    played: Played, found: Found, *, confirmations: Sequence[Confirmation], model_calls: int
) -> Iterator[str]:
    """One sentence for each thing that is not as it has to be."""
    for saying in SAYINGS:
        for difference in _of_saying(saying, played, found):
            yield f"{saying.name}: {difference}"
    values = {name: value.value for name, value in found.fields.items()}
    yield from _of_fields(values)
    yield from _of_confirmations(played, confirmations)
    wanted = sum(saying.outcome.attempts for saying in SAYINGS)
    if model_calls != wanted:
        yield f"the model was asked {model_calls} times instead of {wanted}"
    if not played.limited:
        yield "no tick met Slack's 429"


def _of_saying(saying: Saying, played: Played, found: Found) -> Iterator[str]:
    wanted = saying.outcome
    ts = played.sayings[saying.name]
    row = found.rows.get(ts)
    if row is None or wanted.status is None:
        if row is not None:
            yield f"became a row, {row.status}, though it is no reply to us"
        elif wanted.status is not None:
            yield f"has no feedback row; wanted {wanted.status}"
        return
    if row.status != wanted.status:
        yield f"is {row.status} instead of {wanted.status} ({row.last_error or row.reason or '-'})"
        return
    if row.attempt_count != wanted.attempts:
        yield f"took {row.attempt_count} attempts instead of {wanted.attempts}"
    if wanted.why not in (row.last_error or row.reason or ""):
        yield f"says {row.last_error or row.reason!r} instead of {wanted.why!r}"
    # What stands for a deleted reply tells no more how it answered.
    if wanted.why != "withdrawn" and (
        row.message.answers is None or row.message.answers.via != wanted.via
    ):
        yield f"was not read as an answer by {wanted.via}"
    if saying.mishap is not None and ts not in played.first_refusals:
        yield "was not refused at its first attempt"
    yield from _of_decision(saying, played, found)


def _of_decision(saying: Saying, played: Played, found: Found) -> Iterator[str]:
    wanted = saying.outcome
    decision = found.decisions.get(played.sayings[saying.name])
    if decision is None or wanted.status != "processed":
        if decision is not None:
            yield f"left a decision, {decision.title!r}"
        elif wanted.status == "processed":
            yield "left no decision"
        return
    changes = {change.field: change.value for change in decision.changes}
    if changes != wanted.changes:
        yield f"changed {changes} instead of {dict(wanted.changes)}"
    if wanted.supersedes is not None:
        earlier = found.decisions.get(played.sayings[wanted.supersedes])
        replaced = {one.decision for one in decision.supersedes}
        if earlier is None or earlier.id not in replaced:
            yield f"does not supersede the decision of {wanted.supersedes!r}"


def _of_fields(values: Mapping[str, FieldValue]) -> Iterator[str]:
    for name in sorted(values.keys() | AFTER.keys()):
        if values.get(name) != AFTER.get(name):
            yield f"field {name} is {values.get(name)!r} instead of {AFTER.get(name)!r}"


def _of_confirmations(played: Played, confirmations: Sequence[Confirmation]) -> Iterator[str]:
    stand = Counter(one.effect for one in confirmations)
    for saying in SAYINGS:
        row = row_id(ORG, played.channel, played.sayings[saying.name])
        times = stand.pop(effect_id("confirm", row), 0)
        wanted = int(saying.outcome.status == "processed")
        if times != wanted:
            yield f"{saying.name}: confirmed {times} times in Slack instead of {wanted}"
    if stand:
        yield f"{stand.total()} messages of ours stand in threads and confirm nothing"
