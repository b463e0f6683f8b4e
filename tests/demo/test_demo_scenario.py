"""The script of the demo shows what it promises to show."""

from sayso.agents.feedback.answer import is_known_kind
from sayso.demo.scenario import AFTER, FIELDS, PEOPLE, QUESTIONS, SAYINGS


def test_at_least_twelve_messages_each_with_its_name() -> None:
    assert len(SAYINGS) >= 12
    assert len({saying.name for saying in SAYINGS}) == len(SAYINGS)


def test_every_kind_of_message_and_outcome_is_there() -> None:
    outcomes = [saying.outcome for saying in SAYINGS]
    assert {outcome.status for outcome in outcomes} == {"processed", "ignored", "failed", None}
    assert {outcome.via for outcome in outcomes} >= {"thread", "broadcast", "mention", "adjacent"}
    assert {PEOPLE[saying.who][1] for saying in SAYINGS} == {"member", "guest", "bot"}
    assert {outcome.why for outcome in outcomes} >= {"withdrawn", "unsure", "no decision"}
    assert any(saying.edited_to for saying in SAYINGS)
    assert any(saying.deleted for saying in SAYINGS)
    assert any(outcome.attempts == 2 and outcome.status == "processed" for outcome in outcomes)
    assert any(outcome.supersedes for outcome in outcomes)


def test_decisions_of_every_kind_of_field() -> None:
    assert {FIELDS[name] for name in AFTER} == {"text", "texts", "number"}
    assert all(is_known_kind(kind) for kind in FIELDS.values())


def test_threads_and_earlier_messages_that_are_named_exist() -> None:
    names = [saying.name for saying in SAYINGS]
    for place, saying in enumerate(SAYINGS):
        assert saying.thread is None or saying.thread in QUESTIONS
        assert saying.outcome.supersedes is None or saying.outcome.supersedes in names[:place]
