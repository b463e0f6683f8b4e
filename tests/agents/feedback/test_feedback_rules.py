"""Each step of a reply's row, one case at a time."""

from uuid import UUID, uuid5

import pytest
from made_replies import (
    BOT,
    CHANNEL,
    GUEST,
    MEMBER,
    ORG,
    ROOT,
    SYSTEM,
    TS,
    answer,
    at,
    conclusion,
    position,
    reply,
    withdrawal,
)

from sayso.agents.feedback import rules
from sayso.agents.feedback.outputs import outputs
from sayso.agents.feedback.settings import FeedbackSettings
from sayso.agents.strategy.rules import OrgStrategy, decide
from sayso.schemas.effect import Effect
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.output import Output
from sayso.schemas.record import Record
from sayso.schemas.slack import AnswerTo, Author, AuthorKind, Message
from sayso.schemas.status import Status
from sayso.schemas.strategy import Decision, StrategyRequest
from sayso.schemas.tick import ReplySettled

OPEN = FeedbackSettings()


def received(
    row: FeedbackRow | None,
    message: Message,
    *,
    offset: int = 1,
    seconds: float = 0,
    settings: FeedbackSettings = OPEN,
) -> rules.Received:
    found = rules.receive(
        row, message, position=position(offset), at=at(seconds), settings=settings
    )
    assert found is not None
    return found


def pending(settings: FeedbackSettings = OPEN) -> FeedbackRow:
    found = received(None, reply(), settings=settings)
    assert found.attempt
    return found.row


def waiting(settings: FeedbackSettings = OPEN) -> FeedbackRow:
    """A row whose decision is on its way to the org's strategy."""
    return rules.answered(pending(settings), answer(), conclusion(), settings=settings)


def sent(
    row: FeedbackRow, *, tick: str = "tick-1", settings: FeedbackSettings = OPEN
) -> dict[str, Record]:
    """Outputs by topic; a topic is sent to at most once."""
    found: list[Output] = list(outputs(row, tick=tick, settings=settings))
    by_topic = {one.topic: one.record for one in found}
    assert len(by_topic) == len(found)
    return by_topic


def outcome(row: FeedbackRow, *, tick: str = "tick-1") -> ReplySettled:
    result = sent(row, tick=tick)["tick-results"]
    assert isinstance(result, ReplySettled)
    return result


def decided(row: FeedbackRow) -> Decision:
    request = sent(row)["strategy.requests"]
    assert isinstance(request, StrategyRequest)
    return decide(OrgStrategy(), request)


def processed(settings: FeedbackSettings = OPEN) -> FeedbackRow:
    row = waiting(settings)
    return rules.applied(row, decided(row))


def test_the_first_attempt_is_counted_before_the_model_is_asked() -> None:
    row = received(None, reply(), offset=7, seconds=5).row
    assert (row.status, row.attempt_count, row.last_attempt_at) == ("pending", 1, at(5))
    assert (row.org, row.channel, row.ts, row.thread) == (ORG, CHANNEL, TS, ROOT)
    assert row.source == position(7)
    # The id is a UUIDv5 of the three facts and of nothing else, so it never moves.
    namespace = UUID("6f4f8b0e-2c5b-5f0e-9c1d-0a7f3f6f5a10")
    assert row.id == str(uuid5(namespace, f"feedback/{ORG}/{CHANNEL}/{TS}"))


@pytest.mark.parametrize(
    ("kind", "deciders", "may"),
    [
        ("member", (), True),
        ("guest", (), False),
        ("external", (), False),
        ("unknown", (), False),
        ("member", ("U1",), True),
        ("guest", ("U1",), True),
        ("external", ("U1",), True),
        ("member", ("U9",), False),
        ("bot", ("U1",), False),
        ("app", ("U1",), False),
        ("system", ("U1",), False),
    ],
)
def test_who_may_decide(kind: AuthorKind, deciders: tuple[str, ...], may: bool) -> None:
    settings = FeedbackSettings(deciders=deciders)
    assert rules.may_decide(Author(id="U1", kind=kind), settings) is may


def test_our_own_posts_never_decide() -> None:
    ours = Author(id="U1", kind="member", is_self=True)
    assert not rules.may_decide(ours, FeedbackSettings(deciders=("U1",)))


@pytest.mark.parametrize("author", [BOT, SYSTEM, Author(id="U1", kind="member", is_self=True)])
def test_what_no_person_wrote_becomes_no_row(author: Author) -> None:
    assert (
        rules.receive(None, reply(author=author), position=position(1), at=at(0), settings=OPEN)
        is None
    )


def test_a_message_that_answers_nothing_becomes_no_row() -> None:
    message = reply(answers=False)
    assert rules.receive(None, message, position=position(1), at=at(0), settings=OPEN) is None


@pytest.mark.parametrize("known", [None, AnswerTo(ts=TS, text="", via="adjacent")])
def test_a_reading_that_lost_sight_of_the_post_keeps_the_one_known(known: AnswerTo | None) -> None:
    row = rules.refused(pending(), "overloaded", at=at(1), settings=OPEN)
    read = reply("Make it 0.6", tick="tick-2", edited="1796000200.000000").model_copy(
        update={"answers": known}
    )

    found = received(row, read, offset=2)

    assert found.attempt
    assert found.row.message.text == "Make it 0.6"
    assert found.row.message.answers == row.message.answers


def test_a_guest_is_kept_with_the_reason_and_the_model_is_not_asked() -> None:
    found = received(None, reply(author=GUEST))
    assert not found.attempt
    assert (found.row.status, found.row.reason) == ("ignored", "not a decider")
    assert found.row.attempt_count == 0
    assert outcome(found.row).reason == "not a decider"


def test_a_reply_gone_before_it_was_tried_is_withdrawn() -> None:
    found = received(None, withdrawal())
    assert not found.attempt
    assert (found.row.status, found.row.reason) == ("ignored", "withdrawn")


def test_a_reply_gone_between_two_attempts_is_withdrawn() -> None:
    row = rules.refused(pending(), "overloaded", at=at(1), settings=OPEN)
    found = received(row, withdrawal(tick="tick-2"), offset=2)
    assert not found.attempt
    assert (found.row.status, found.row.reason) == ("ignored", "withdrawn")
    assert found.row.last_error is None
    assert found.row.attempt_count == 1


def test_a_copy_of_a_withdrawal_changes_nothing() -> None:
    row = received(pending(), withdrawal(tick="tick-2"), offset=2).row
    assert received(row, withdrawal(tick="tick-2"), offset=2).row == row
    # Nor does a reading from before it, that was published late.
    late = reply("Make it 0.5", tick="tick-2", edited="1796000200.000000")
    assert received(row, late, offset=3).row == row


def test_a_decision_waits_to_be_applied_and_is_then_processed() -> None:
    row = waiting()
    assert (row.status, row.decision_revision) == ("pending", row.revision)
    assert set(sent(row)) == {"status", "strategy.requests"}
    done = rules.applied(row, decided(row))
    assert (done.status, done.last_error, done.revision) == ("processed", None, row.revision + 1)
    assert set(sent(done)) == {"status", "tick-results", "effects"}


def test_another_tick_does_not_wait_for_a_decision_under_way() -> None:
    row = waiting()
    result = outcome(row, tick="tick-2")
    assert (result.tick, result.status) == ("tick-2", "pending")


def test_a_copy_of_the_applied_decision_changes_nothing() -> None:
    row = processed()
    assert rules.applied(row, decided(waiting())) is row


def test_a_decision_of_another_revision_is_not_this_rows() -> None:
    row = waiting()
    other = decided(row).model_copy(update={"id": "another"})
    assert rules.applied(row, other) is row


def test_chatter_is_ignored_and_keeps_the_answer() -> None:
    row = rules.answered(pending(), answer("no"), conclusion(is_decision=False), settings=OPEN)
    assert (row.status, row.reason) == ("ignored", "no decision")
    assert row.answer == answer("no")
    assert row.conclusion is None
    assert row.decision is None


@pytest.mark.parametrize(("confidence", "status"), [(0.59, "ignored"), (0.6, "pending")])
def test_the_floor_itself_is_enough(confidence: float, status: str) -> None:
    row = rules.answered(pending(), answer(), conclusion(confidence=confidence), settings=OPEN)
    assert row.status == status


@pytest.mark.parametrize("clarify", [False, True])
def test_a_question_goes_out_only_when_it_is_set(clarify: bool) -> None:
    settings = FeedbackSettings(clarify=clarify)
    row = rules.answered(pending(), answer(), conclusion(confidence=0.1), settings=settings)
    assert row.reason == "unsure"
    assert ("effects" in sent(row, settings=settings)) is clarify


@pytest.mark.parametrize("confirm", [False, True])
def test_the_confirmation_goes_into_the_thread_of_the_reply(confirm: bool) -> None:
    settings = FeedbackSettings(confirm=confirm)
    row = processed(settings)
    effect = sent(row, settings=settings).get("effects")
    assert (effect is not None) is confirm
    if isinstance(effect, Effect):
        assert effect.action.thread_ts == ROOT
        assert (effect.action.channel, effect.target, effect.cause) == (CHANNEL, CHANNEL, row.id)


def test_a_refusal_is_kept_and_the_next_tick_tries_again() -> None:
    row = rules.refused(
        pending(), "the model declined", at=at(1), settings=OPEN, answer=answer("no")
    )
    assert (row.status, row.last_error, row.answer) == (
        "failed",
        "the model declined",
        answer("no"),
    )
    assert outcome(row).refusal == "the model declined"
    again = received(row, reply(tick="tick-2"), offset=2, seconds=60)
    assert again.attempt
    assert (again.row.status, again.row.attempt_count) == ("pending", 2)
    assert again.row.last_attempt_at == at(60)
    # Until the next refusal operators still see the one before; the answer tried is let go.
    assert again.row.answer is None


def test_a_refusal_of_any_length_can_be_kept() -> None:
    row = rules.refused(pending(), "x" * 10_000, at=at(0), settings=OPEN)
    assert FeedbackRow.model_validate_json(row.model_dump_json()) == row


@pytest.mark.parametrize(
    ("tick", "offset", "asks"),
    [
        ("tick-1", 1, False),  # the very record again
        ("tick-1", 9, False),  # the tick published it twice
        ("tick-2", 1, False),  # an older record than the one tried
        ("tick-2", 2, True),
    ],
)
def test_a_copy_of_what_was_tried_costs_no_attempt(tick: str, offset: int, asks: bool) -> None:
    row = rules.refused(pending(), "no", at=at(0), settings=OPEN)
    found = received(row, reply(tick=tick), offset=offset)
    assert found.attempt is asks
    if not asks:
        assert found.row == row


def test_offsets_are_compared_within_one_partition_only() -> None:
    row = rules.refused(pending(), "no", at=at(0), settings=OPEN)
    found = rules.receive(
        row, reply(tick="tick-2"), position=position(0, partition=4), at=at(0), settings=OPEN
    )
    assert found is not None
    assert found.attempt


def test_an_attempt_that_crashed_is_counted_and_made_again() -> None:
    again = received(pending(), reply(), offset=1, seconds=30)
    assert again.attempt
    assert again.row.attempt_count == 2


def test_an_edit_before_settlement_is_what_the_model_reads() -> None:
    row = rules.refused(pending(), "no", at=at(0), settings=OPEN)
    edited = reply("Make it 0.5", tick="tick-2", edited="1796000200.000000")
    row = received(row, edited, offset=2).row
    assert row.message.text == "Make it 0.5"
    # An older reading that arrives late does not undo it.
    row = rules.refused(row, "no", at=at(0), settings=OPEN)
    late = received(row, reply("Make it 0.4", tick="tick-3"), offset=3)
    assert late.attempt
    assert late.row.message.text == "Make it 0.5"
    assert late.row.message.read_by == "tick-3"


def test_an_edit_while_attempts_are_spaced_out_is_kept_for_the_next() -> None:
    row = rules.refused(pending(), "no", at=at(0), settings=OPEN, retry_after=60)
    edited = reply("Make it 0.5", tick="tick-2", edited="1796000200.000000")
    early = received(row, edited, offset=2, seconds=59)
    assert not early.attempt
    assert (early.row.status, early.row.message.text) == ("failed", "Make it 0.5")
    due = received(early.row, edited, offset=2, seconds=60)
    assert due.attempt
    assert due.row.next_attempt_at is None


def test_an_edit_after_settlement_is_noted_once_and_changes_nothing_else() -> None:
    row = processed()
    edited = reply("No, 0.9", tick="tick-2", edited="1796000300.000000")
    noted = received(row, edited, offset=2)
    assert not noted.attempt
    assert noted.row.changed_after == "1796000300.000000"
    assert noted.row.model_copy(update={"changed_after": None, "revision": row.revision}) == row
    assert received(noted.row, edited, offset=3).row == noted.row
    later = reply("No, 1.0", tick="tick-3", edited="1796000400.000000")
    assert received(noted.row, later, offset=4).row.changed_after == "1796000400.000000"


def test_a_deletion_after_settlement_is_noted_and_final() -> None:
    gone = received(processed(), withdrawal(tick="tick-2"), offset=2).row
    assert (gone.status, gone.changed_after) == ("processed", "deleted")
    assert received(gone, withdrawal(tick="tick-3"), offset=3).row == gone
    edited = reply("late", tick="tick-2", edited="1796000300.000000")
    assert received(gone, edited, offset=4).row == gone


def test_the_edit_that_was_settled_is_no_change_after_it() -> None:
    edited = reply("Make it 0.5", edited="1796000200.000000")
    row = received(None, edited).row
    row = rules.answered(row, answer(), conclusion(), settings=OPEN)
    assert received(row, edited.model_copy(update={"read_by": "tick-2"}), offset=2).row == row


def test_a_person_who_lost_the_right_between_two_attempts_does_not_decide() -> None:
    row = rules.refused(pending(), "no", at=at(0), settings=OPEN)
    found = received(
        row, reply(tick="tick-2"), offset=2, settings=FeedbackSettings(deciders=("U9",))
    )
    assert not found.attempt
    assert (found.row.status, found.row.reason) == ("ignored", "not a decider")


@pytest.mark.parametrize(
    ("attempts", "backoff_after", "pause"),
    [
        (1, 0, None),
        (50, 0, None),
        (1, 2, None),
        (2, 2, 60),
        (3, 2, 120),
        (4, 2, 240),
        (40, 2, 6 * 3600),
        (10_000, 2, 6 * 3600),
    ],
)
def test_attempts_past_the_count_are_spaced_out(
    attempts: int, backoff_after: int, pause: int | None
) -> None:
    settings = FeedbackSettings(backoff_after=backoff_after)
    row = pending().model_copy(update={"attempt_count": attempts})
    row = rules.refused(row, "no", at=at(0), settings=settings)
    assert row.next_attempt_at == (None if pause is None else at(pause))


def test_the_longer_of_two_pauses_holds() -> None:
    settings = FeedbackSettings(backoff_after=1)
    short = rules.refused(pending(), "no", at=at(0), settings=settings, retry_after=5)
    long = rules.refused(pending(), "no", at=at(0), settings=settings, retry_after=500)
    assert (short.next_attempt_at, long.next_attempt_at) == (at(60), at(500))


def test_the_request_carries_the_evidence() -> None:
    row = waiting()
    request = sent(row)["strategy.requests"]
    assert isinstance(request, StrategyRequest)
    assert (request.decided_by, request.model, request.prompt_version) == (
        MEMBER.id,
        "a-model",
        "p1",
    )
    assert request.conclusion == conclusion()
    assert request.decided_at.timestamp() == pytest.approx(1796000100.0002)
    assert (request.row, request.revision) == (row.id, row.decision_revision)


def test_the_status_names_what_operators_look_for() -> None:
    failed = rules.refused(pending(), "the model declined", at=at(0), settings=OPEN)
    status = sent(failed)["status"]
    assert isinstance(status, Status)
    assert (status.state, status.terminal, status.detail) == (
        "failed",
        False,
        "the model declined",
    )
    done = sent(processed())["status"]
    assert isinstance(done, Status)
    assert (done.state, done.terminal, done.detail) == ("processed", True, "Margin")
    assert done.decision is not None
