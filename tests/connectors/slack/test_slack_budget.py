"""The pace per method, and what Slack says about it."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.connectors.slack.budget import Budget, retry_after
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import RateLimited
from sayso.connectors.slack.sandbox import Fault, SlackSandbox

NOW = 1_796_000_000.0


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("30", 30.0),
        ("1.5", 1.5),
        ("0", 0.0),
        (formatdate(NOW + 12, usegmt=True), 12.0),
        ("soon", 30.0),
        ("", 30.0),
        ("-5", 30.0),
        ("nan", 30.0),
        ("inf", 30.0),
        ("99999999", 3_600.0),
        (formatdate(NOW - 12, usegmt=True), 30.0),
    ],
)
def test_retry_after_in_its_forms(said: str, seconds: float) -> None:
    assert retry_after({"Retry-After": said}, now=NOW) == seconds
    assert retry_after({"retry-after": said}, now=NOW) == seconds


def test_retry_after_may_be_absent() -> None:
    assert retry_after({}) == 30.0


@given(st.text())
def test_retry_after_never_fails(said: str) -> None:
    assert 0 <= retry_after({"Retry-After": said}) <= 3_600


@pytest.mark.parametrize("said", [None, "7", "7.5", "Wed, 21 Oct 2099 07:28:00 GMT", "later"])
async def test_every_form_is_understood_over_http(
    sandbox: SlackSandbox, client: SlackClient, said: str | None
) -> None:
    sandbox.faults.add(Fault(kind="rate_limited", retry_after=said))
    with pytest.raises(RateLimited) as caught:
        await client.identity()
    assert 7 <= caught.value.retry_after <= 3_600


async def test_a_held_method_holds_no_other_and_is_free_again_in_time() -> None:
    clock = Clock()
    budget = Budget(calls_per_minute=6_000, clock=clock)
    budget.hold("conversations.history", 30)
    with pytest.raises(RateLimited) as caught:
        await budget.admit("conversations.history")
    assert caught.value.retry_after == 30
    await budget.admit("conversations.replies")
    clock.now += 29
    with pytest.raises(RateLimited):
        await budget.admit("conversations.history")
    clock.now += 1
    await budget.admit("conversations.history")


async def test_a_shorter_hold_does_not_end_a_longer_one() -> None:
    clock = Clock()
    budget = Budget(calls_per_minute=6_000, clock=clock)
    budget.hold("conversations.history", 30)
    budget.hold("conversations.history", 1)
    assert budget.wait("conversations.history") == 30


async def test_a_spent_pace_refuses_instead_of_sleeping() -> None:
    budget = Budget(calls_per_minute=45)
    for _ in range(45):
        await budget.admit("conversations.replies")
    with pytest.raises(RateLimited) as caught:
        await budget.admit("conversations.replies")
    assert caught.value.retry_after == pytest.approx(60 / 45)
    await budget.admit("conversations.history")


async def test_a_wait_of_less_than_a_second_is_slept() -> None:
    budget = Budget(calls_per_minute=6_000)
    for _ in range(6_001):
        await budget.admit("conversations.replies")


async def test_calls_that_were_not_sent_are_not_counted(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    sandbox.faults.add(Fault(kind="rate_limited", method="auth.test"))
    for _ in range(3):
        with pytest.raises(RateLimited):
            await client.identity()
    assert client.calls == 1 == sandbox.calls["auth.test"]
