"""An org's strategic fields: pure steps. The later reply wins, whatever order they arrive in."""

from pydantic import Field

from sayso.schemas.ids import row_id
from sayso.schemas.record import Part
from sayso.schemas.strategy import (
    Decision,
    FieldChange,
    StrategyRequest,
    StrategyValue,
    Superseded,
)
from sayso.schemas.ts import micros


class OrgStrategy(Part):
    """All strategic fields of one org, in one value so that a decision applies whole."""

    schema_version: int = 1
    values: dict[str, StrategyValue] = Field(default_factory=dict)


def decide(strategy: OrgStrategy, request: StrategyRequest) -> Decision:
    """The decision that a request settles, given the fields as they stand."""
    supersedes: list[Superseded] = []
    outranked: list[Superseded] = []
    for change in request.conclusion.changes:
        current = strategy.values.get(change.field)
        if current is None or current.decision == request.decision:
            continue
        other = Superseded(field=change.field, decision=current.decision)
        (supersedes if _rank(request) > _rank(current) else outranked).append(other)
    conclusion = request.conclusion
    return Decision(
        id=request.decision,
        row=request.row,
        revision=request.revision,
        org=request.org,
        channel=request.channel,
        ts=request.ts,
        thread=request.thread,
        decided_by=request.decided_by,
        decided_at=request.decided_at,
        title=conclusion.title,
        statement=conclusion.statement,
        rationale=conclusion.rationale,
        quote=conclusion.quote,
        products=conclusion.products,
        initiatives=conclusion.initiatives,
        reversibility=conclusion.reversibility,
        confidence=conclusion.confidence,
        changes=conclusion.changes,
        supersedes=tuple(supersedes),
        outranked_by=tuple(outranked),
        model=request.model,
        prompt_version=request.prompt_version,
    )


def apply(strategy: OrgStrategy, decision: Decision) -> OrgStrategy:
    """The fields after a decision: all of its changes that no later reply outranks."""
    changed = {
        change.field: _value(decision, change)
        for change in decision.changes
        if _wins(decision, strategy.values.get(change.field))
    }
    return strategy.model_copy(update={"values": {**strategy.values, **changed}})


def current_values(strategy: OrgStrategy, decision: Decision) -> tuple[StrategyValue, ...]:
    """The fields that a decision names, as they stand."""
    return tuple(strategy.values[change.field] for change in decision.changes)


def _wins(decision: Decision, current: StrategyValue | None) -> bool:
    return current is None or _rank(decision) >= _rank(current)


def _rank(what: Decision | StrategyRequest | StrategyValue) -> tuple[int, str]:
    # Two channels may hold the same ts; the row decides then, the same way everywhere.
    return (micros(what.ts), row_id(what.org, what.channel, what.ts))


def _value(decision: Decision, change: FieldChange) -> StrategyValue:
    return StrategyValue(
        org=decision.org,
        field=change.field,
        value=change.value,
        decision=decision.id,
        channel=decision.channel,
        ts=decision.ts,
        decided_by=decision.decided_by,
    )
