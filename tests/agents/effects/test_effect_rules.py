"""How far an effect has come, under every order of what can happen to one post."""

from datetime import UTC, datetime, timedelta

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sayso.agents.effects import rules
from sayso.schemas.effect import Effect, EffectResult, PostMessage
from sayso.schemas.ids import effect_id

EFFECT = Effect(
    id=effect_id("confirm", "a-row"),
    org="acme",
    target="C1",
    cause="a-row",
    action=PostMessage(channel="C1", text="Recorded", thread_ts="1796000000.000100"),
)
NOW = datetime(2026, 11, 30, tzinfo=UTC)
POSTED = "1796000200.000100"


def test_planned_is_the_effect_and_nothing_done() -> None:
    result = rules.planned(EFFECT)
    shared = {"id", "org", "target", "cause", "action"}
    assert result.model_dump(include=shared) == EFFECT.model_dump(include=shared)
    assert (result.state, result.attempt_count, result.ts) == ("planned", 0, None)
    assert (result.key, EFFECT.key) == ("acme/C1", "acme/C1")


def test_a_call_that_was_refused_in_time_is_no_attempt() -> None:
    result = rules.not_sent(rules.sending(rules.planned(EFFECT), at=NOW))
    assert result == rules.planned(EFFECT)


def test_a_try_after_an_ambiguous_one_forgets_its_refusal() -> None:
    result = rules.ambiguous(rules.sending(rules.planned(EFFECT), at=NOW), "timed out")
    assert (result.state, result.refusal) == ("ambiguous", "timed out")
    again = rules.sending(rules.not_found(result), at=NOW + timedelta(seconds=5))
    assert (again.state, again.attempt_count, again.refusal) == ("sending", 2, None)
    assert again.sending_at == NOW + timedelta(seconds=5)
    done = rules.done(again, ts=POSTED, reconciled=True)
    assert (done.state, done.ts, done.reconciled) == ("done", POSTED, True)


def test_what_is_uncertain_and_what_is_final() -> None:
    planned = rules.planned(EFFECT)
    sending = rules.sending(planned, at=NOW)
    ambiguous = rules.ambiguous(sending, "?")
    done, failed = rules.done(sending, ts=POSTED), rules.failed(sending, "no such channel")
    every = (planned, sending, ambiguous, done, failed)
    assert [one for one in every if rules.is_uncertain(one)] == [sending, ambiguous]
    assert [one for one in every if rules.is_final(one)] == [done, failed]


def test_a_refusal_of_any_length_can_be_kept() -> None:
    for step in (rules.ambiguous, rules.failed):
        result = step(rules.sending(rules.planned(EFFECT), at=NOW), "x" * 10_000)
        assert EffectResult.model_validate_json(result.model_dump_json()) == result


class OneEffect(RuleBasedStateMachine):
    """An agent that may be killed anywhere, and a channel that counts what was posted in it."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = rules.planned(EFFECT)
        self.posted = 0
        self.calls = 0

    def keep(self, result: EffectResult) -> None:
        self.kept = result

    @precondition(lambda self: self.kept.state == "planned")
    @rule(happens=st.booleans(), answer=st.sampled_from(["ok", "lost", "refused", "killed"]))
    def it_is_sent(self, happens: bool, answer: str) -> None:
        self.keep(rules.sending(self.kept, at=NOW))
        if answer == "refused":
            self.keep(rules.not_sent(self.kept))
            return
        self.calls += 1
        self.posted += answer == "ok" or happens
        if answer == "ok":
            self.keep(rules.done(self.kept, ts=POSTED))
        elif answer == "lost":
            self.keep(rules.ambiguous(self.kept, "connection lost"))
        # Killed: `sending` is what a restart finds.

    @precondition(lambda self: rules.is_uncertain(self.kept))
    @rule()
    def it_is_looked_for(self) -> None:
        found = self.posted > 0
        self.keep(
            rules.done(self.kept, ts=POSTED, reconciled=True)
            if found
            else rules.not_found(self.kept)
        )

    @precondition(lambda self: self.kept.state == "planned")
    @rule()
    def it_is_given_up(self) -> None:
        self.keep(rules.failed(self.kept, "no such channel"))

    @rule()
    def the_worker_starts_again(self) -> None:
        before = self.kept
        self.keep(EffectResult.model_validate_json(before.model_dump_json()))
        assert self.kept == before

    @invariant()
    def it_was_posted_at_most_once(self) -> None:
        assert self.posted <= 1
        assert (self.kept.state == "done") <= (self.posted == 1)
        # Nobody may say that it did not happen while it stands in the channel.
        assert (self.kept.state == "failed") <= (self.posted == 0)

    @invariant()
    def tries_are_calls_that_may_have_done_something(self) -> None:
        assert self.kept.attempt_count == self.calls

    @invariant()
    def the_effect_itself_never_changes(self) -> None:
        assert self.kept.action == EFFECT.action
        assert self.kept.id == EFFECT.id


OneEffect.TestCase.settings = hypothesis_settings(
    max_examples=60, stateful_step_count=15, deadline=None
)
TestOneEffect = OneEffect.TestCase
