"""Reactions: votes by person, and what changed between two polls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.reactions import canonical, changes, people
from sayso.schemas.slack import Reaction

ME = Identity(user_id="U0ME", bot_id="B0ME", app_id=None, team_id="T0", team="Sandbox")


def reaction(name: str, *users: str, count: int | None = None) -> dict[str, Any]:
    return {"name": name, "users": list(users), "count": len(users) if count is None else count}


def diff(before: Any, after: Any) -> list[tuple[str, str, str]]:
    found = changes(
        before, after, org="acme", channel="C0", ts="1796000000.000100", me=ME, tick="t"
    )
    return [(one.change, one.name, one.user) for one in found]


@pytest.mark.parametrize(
    ("served", "name"),
    [
        ("+1", "+1"),
        ("thumbsup", "+1"),
        ("thumbsdown", "-1"),
        (":thumbsup::skin-tone-4:", "+1"),
        ("clap::skin-tone-3", "clap"),
        ("clap::skin-tone-7", "clap::skin-tone-7"),
        ("white_check_mark", "white_check_mark"),
    ],
)
def test_names(served: str, name: str) -> None:
    assert canonical(served) == name


def test_custom_emoji_may_stand_for_others() -> None:
    assert canonical("yes-please", aliases={"yes-please": "thumbsup"}) == "+1"


def test_a_change_of_skin_tone_is_no_change() -> None:
    assert diff([reaction("+1", "U0A")], [reaction("+1::skin-tone-2", "U0A")]) == []


def test_added_and_removed_in_a_fixed_order() -> None:
    before = [reaction("+1", "U0A", "U0B")]
    after = [reaction("eyes", "U0C"), reaction("+1", "U0B", "U0A2")]
    assert diff(before, after) == [
        ("added", "+1", "U0A2"),
        ("added", "eyes", "U0C"),
        ("removed", "+1", "U0A"),
    ]


def test_our_own_are_marked_and_never_count() -> None:
    (seed,) = changes(
        None,
        [reaction("+1", "U0ME")],
        org="acme",
        channel="C0",
        ts="1796000000.000100",
        me=ME,
        tick="t",
    )
    assert seed.is_self
    assert people([reaction("+1", "U0ME", "B0ME", "U0A")], ME) == {("+1", "U0A")}


def test_a_list_that_slack_cut_short_removes_nobody() -> None:
    before = [reaction("+1", "U0A", "U0B"), reaction("eyes", "U0A")]
    after = [reaction("+1", "U0A", count=2)]
    assert diff(before, after) == [("removed", "eyes", "U0A")]


def test_absent_and_malformed_lists_are_nobody() -> None:
    assert people(None, ME) == set()
    assert people([{"name": "+1"}, {"users": "U0A"}], ME) == set()


PAIRS = st.sets(st.tuples(st.sampled_from(["+1", "-1", "eyes"]), st.sampled_from("ABCDE")))


def raw(pairs: set[tuple[str, str]]) -> list[dict[str, Any]]:
    names = sorted({name for name, _ in pairs})
    return [reaction(name, *sorted(user for one, user in pairs if one == name)) for name in names]


@given(before=PAIRS, after=PAIRS)
def test_changes_lead_from_one_poll_to_the_next(
    before: set[tuple[str, str]], after: set[tuple[str, str]]
) -> None:
    state = set(before)
    for change, name, user in diff(raw(before), raw(after)):
        if change == "added":
            state.add((name, user))
        else:
            state.remove((name, user))
    assert state == after


def test_each_change_has_an_id_of_its_own() -> None:
    found: list[Reaction] = changes(
        [reaction("+1", "U0A")],
        [reaction("eyes", "U0A", "U0B")],
        org="acme",
        channel="C0",
        ts="1796000000.000100",
        me=ME,
        tick="t",
    )
    assert len({one.ce_id for one in found}) == 3
