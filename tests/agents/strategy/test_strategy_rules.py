"""An org's fields end the same whatever the order and however often requests are delivered."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.agents.strategy.rules import OrgStrategy, apply, current_values, decide
from sayso.schemas.ids import decision_id, row_id
from sayso.schemas.strategy import (
    Conclusion,
    Decision,
    FieldChange,
    FieldValue,
    StrategyRequest,
    Superseded,
)
from sayso.schemas.ts import from_micros, micros

ORG = "acme"
FIELDS = ("margin", "markets", "motto")


def request(at: int, changes: dict[str, FieldValue], *, channel: str = "C1") -> StrategyRequest:
    """A conclusion of the reply posted `at` microseconds after some moment."""
    ts = from_micros(1_796_000_000_000_000 + at)
    row = row_id(ORG, channel, ts)
    return StrategyRequest(
        decision=decision_id(row, 2),
        row=row,
        revision=2,
        org=ORG,
        channel=channel,
        ts=ts,
        thread=ts,
        decided_by="U1",
        decided_at=datetime(2026, 11, 30, tzinfo=UTC),
        conclusion=Conclusion(
            is_decision=True,
            title="t",
            statement="s",
            rationale="r",
            quote="q",
            reversibility="costly",
            confidence=0.8,
            products=("p",),
            initiatives=("i",),
            changes=tuple(FieldChange(field=name, value=value) for name, value in changes.items()),
        ),
        model="a-model",
        prompt_version="p1",
    )


class Owner:
    """Applies requests as the agent does, keeping what it keeps."""

    def __init__(self) -> None:
        self.strategy = OrgStrategy()
        self.decided: dict[str, Decision] = {}

    def take(self, request: StrategyRequest) -> Decision:
        decision = self.decided.get(request.decision) or decide(self.strategy, request)
        self.decided[request.decision] = decision
        self.strategy = apply(self.strategy, decision)
        return decision

    def values(self) -> dict[str, tuple[FieldValue, str]]:
        return {name: (one.value, one.decision) for name, one in self.strategy.values.items()}


VALUES = st.integers(0, 9) | st.text("ab", max_size=2) | st.lists(st.just("x")).map(tuple)
REQUESTS = st.lists(
    st.builds(
        request,
        st.integers(0, 4),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3),
        channel=st.sampled_from(["C1", "C2"]),
    ),
    min_size=1,
    max_size=7,
    unique_by=lambda one: one.decision,
)


def rank(one: StrategyRequest) -> tuple[int, str]:
    return (micros(one.ts), one.row)


def expected(requests: list[StrategyRequest]) -> dict[str, tuple[FieldValue, str]]:
    """What later replies leave standing: the same as applying them in the order of their ts."""
    standing: dict[str, tuple[FieldValue, str]] = {}
    for one in sorted(requests, key=rank):
        for change in one.conclusion.changes:
            standing[change.field] = (change.value, one.decision)
    return standing


@given(data=st.data(), requests=REQUESTS)
@settings(max_examples=150, deadline=None)
def test_any_order_and_any_copies_end_in_the_same_values(
    data: st.DataObject, requests: list[StrategyRequest]
) -> None:
    copies = data.draw(st.lists(st.sampled_from(requests), max_size=6))
    delivered = data.draw(st.permutations([*requests, *copies]))
    owner = Owner()
    taken: list[StrategyRequest] = []
    first: dict[str, Decision] = {}
    for one in delivered:
        before = owner.values()
        decision = owner.take(one)
        taken.append(one)
        # A copy sends the very same record again.
        assert first.setdefault(one.decision, decision) == decision
        # Each decision is in whole at once: nothing else changed, and nothing is half applied.
        assert owner.values() == expected(taken)
        untouched = set(before) - {change.field for change in one.conclusion.changes}
        assert {name: owner.values()[name] for name in untouched} == {
            name: before[name] for name in untouched
        }


@given(requests=REQUESTS)
@settings(max_examples=150, deadline=None)
def test_a_decision_names_what_it_replaced_and_what_outranks_it(
    requests: list[StrategyRequest],
) -> None:
    owner = Owner()
    by_decision = {one.decision: one for one in requests}
    for one in requests:
        before = owner.values()
        decision = owner.take(one)
        known = [change.field for change in one.conclusion.changes if change.field in before]
        later = [name for name in known if rank(by_decision[before[name][1]]) > rank(one)]
        assert decision.outranked_by == tuple(
            Superseded(field=name, decision=before[name][1]) for name in later
        )
        assert decision.supersedes == tuple(
            Superseded(field=name, decision=before[name][1]) for name in known if name not in later
        )


def test_the_later_reply_wins_though_it_arrives_first() -> None:
    early, late = request(1, {"margin": 0.3, "motto": "go"}), request(2, {"margin": 0.4})
    owner = Owner()
    owner.take(late)
    decision = owner.take(early)
    assert {name: value for name, (value, _) in owner.values().items()} == {
        "margin": 0.4,
        "motto": "go",
    }
    assert decision.outranked_by == (Superseded(field="margin", decision=late.decision),)
    assert decision.supersedes == ()


def test_one_microsecond_decides() -> None:
    owner = Owner()
    owner.take(request(1, {"margin": 1}))
    decision = owner.take(request(2, {"margin": 2}))
    assert owner.strategy.values["margin"].value == 2
    assert [one.field for one in decision.supersedes] == ["margin"]


def test_a_copy_does_not_supersede_itself() -> None:
    owner = Owner()
    one = request(1, {"margin": 1})
    owner.take(one)
    again = decide(owner.strategy, one)
    assert (again.supersedes, again.outranked_by) == ((), ())


def test_a_decision_without_changes_leaves_the_fields_alone() -> None:
    owner = Owner()
    owner.take(request(1, {"margin": 1}))
    decision = owner.take(request(2, {}))
    assert {name: value for name, (value, _) in owner.values().items()} == {"margin": 1}
    assert current_values(owner.strategy, decision) == ()


def test_the_values_sent_are_those_that_stand() -> None:
    owner = Owner()
    late = request(2, {"margin": 2})
    owner.take(late)
    decision = owner.take(request(1, {"margin": 1, "motto": "go"}))
    sent = {
        one.field: (one.value, one.decision) for one in current_values(owner.strategy, decision)
    }
    assert sent == {"margin": (2, late.decision), "motto": ("go", decision.id)}


def test_the_decision_carries_the_evidence() -> None:
    one = request(1, {"margin": 1})
    decision = decide(OrgStrategy(), one)
    assert decision.model_dump(include=set(Conclusion.model_fields)) == one.conclusion.model_dump(
        exclude={"is_decision"}
    )
    shared = {"row", "revision", "org", "channel", "ts", "thread", "decided_by", "decided_at"}
    assert decision.model_dump(include=shared) == one.model_dump(include=shared)
    assert (decision.id, decision.model, decision.prompt_version) == (one.decision, "a-model", "p1")


@given(requests=REQUESTS)
@settings(max_examples=50, deadline=None)
def test_what_is_kept_is_read_back_the_same(requests: list[StrategyRequest]) -> None:
    owner = Owner()
    for one in requests:
        owner.take(one)
    assert OrgStrategy.model_validate_json(owner.strategy.model_dump_json()) == owner.strategy
