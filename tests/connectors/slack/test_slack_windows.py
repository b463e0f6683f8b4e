"""Windows and threads: nothing is lost, repeated or out of order, however Slack pages."""

import asyncio
from collections.abc import Coroutine, Iterator
from itertools import count
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from sayso.connectors.slack.client import SlackClient, ThreadRead
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.connectors.slack.sandbox.arguments import cursor_from, cursor_to, slack_ts
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.slack import Message
from sayso.schemas.ts import from_micros, just_before, micros

START = 1_796_000_000_000_000
MOMENTS = st.sets(st.integers(START, START + 40), max_size=25)
PAGES = st.sampled_from([1, 2, 3, 15, 999])
CAPS = st.sampled_from([None, 1, 2, 15])
T = TypeVar("T")


@pytest.fixture(scope="module")
def shared() -> Iterator[SlackSandbox]:
    with SlackSandbox() as running:
        running.workspace.add_user("U0FOUNDER")
        yield running


_numbers = count()


def channel_with(sandbox: SlackSandbox, moments: set[int], *, root: int | None = None) -> str:
    channel = sandbox.workspace.add_channel(f"C0N{next(_numbers)}")
    thread = None
    if root is not None:
        thread = sandbox.workspace.say(channel, "U0FOUNDER", "root", ts=from_micros(root))
    for moment in moments:
        ts = from_micros(moment)
        sandbox.workspace.say(channel, "U0FOUNDER", ts, ts=ts, thread_ts=thread)
    return channel


def opened(sandbox: SlackSandbox, page_size: int) -> SlackClient:
    return SlackClient(
        org="acme",
        token=SecretStr(sandbox.token),
        settings=SlackSettings(api_url=sandbox.url, page_size=page_size, calls_per_minute=10_000),
        clock=lambda: 1_900_000_000.0,
    )


def run(work: Coroutine[object, object, T]) -> T:
    return asyncio.run(work)


@settings(max_examples=40, deadline=None)
@given(moments=MOMENTS, edge=st.integers(START - 1, START + 41), page=PAGES, cap=CAPS)
def test_a_window_holds_exactly_what_came_after_its_cursor(
    shared: SlackSandbox, moments: set[int], edge: int, page: int, cap: int | None
) -> None:
    channel = channel_with(shared, moments)
    shared.faults.page_cap = cap

    async def read() -> tuple[Message, ...]:
        async with opened(shared, page) as client:
            return await client.read_window(channel, oldest=from_micros(edge), tick="t")

    expected = [from_micros(moment) for moment in sorted(moments) if moment > edge]
    assert [message.ts for message in run(read())] == expected


@settings(max_examples=40, deadline=None)
@given(
    moments=MOMENTS,
    edge=st.none() | st.integers(START - 1, START + 41),
    page=PAGES,
    cap=CAPS,
    root_on_every_page=st.booleans(),
)
def test_a_thread_holds_exactly_the_replies_after_its_cursor(
    shared: SlackSandbox,
    moments: set[int],
    edge: int | None,
    page: int,
    cap: int | None,
    *,
    root_on_every_page: bool,
) -> None:
    root = START - 1_000_000
    channel = channel_with(shared, moments, root=root)
    shared.faults.page_cap = cap
    shared.workspace.root_on_every_page = root_on_every_page

    async def read() -> ThreadRead:
        async with opened(shared, page) as client:
            oldest = None if edge is None else from_micros(edge)
            return await client.read_thread(channel, from_micros(root), oldest=oldest, tick="t")

    thread = run(read())
    expected = [from_micros(moment) for moment in sorted(moments) if edge is None or moment > edge]
    assert [message.ts for message in thread.replies] == expected
    assert thread.root is not None
    assert (thread.root.thread is not None) == bool(moments)


@settings(max_examples=20, deadline=None)
@given(moments=MOMENTS.filter(len), page=PAGES)
def test_reading_from_just_before_reads_a_message_again(
    shared: SlackSandbox, moments: set[int], page: int
) -> None:
    channel = channel_with(shared, moments)
    shared.faults.page_cap = None
    held = from_micros(min(moments))

    async def read() -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        async with opened(shared, page) as client:
            return (
                await client.read_window(channel, oldest=held, tick="t"),
                await client.read_window(channel, oldest=just_before(held), tick="t"),
            )

    after, again = run(read())
    assert held not in [message.ts for message in after]
    assert [message.ts for message in again] == [held, *[message.ts for message in after]]


@given(st.integers(10**15, 10**16 - 1))
def test_a_well_formed_ts_is_read_by_slack_as_it_stands(moment: int) -> None:
    ts = from_micros(moment)
    assert micros(ts) == moment
    assert slack_ts({"oldest": ts}, "oldest", error="invalid") == moment
    assert cursor_from({"cursor": cursor_to(moment)}) == moment


async def test_a_thread_served_without_its_root_keeps_every_reply(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    reply = {
        "type": "message",
        "user": "U0FOUNDER",
        "text": "yes",
        "ts": "1796000009.000100",
        "thread_ts": "1796000000.000100",
    }
    sandbox.faults.add(
        Fault(
            kind="answer",
            method="conversations.replies",
            body={"ok": True, "messages": [reply]},
        )
    )
    thread = await client.read_thread(
        "C0SUGGEST", "1796000000.000100", oldest="1796000001.000100", tick="t"
    )
    assert thread.root is None
    assert [message.text for message in thread.replies] == ["yes"]


async def test_a_broadcast_is_one_message(sandbox: SlackSandbox, client: SlackClient) -> None:
    workspace = sandbox.workspace
    root = workspace.say("C0SUGGEST", workspace.bot.id, "approve?")
    reply = workspace.say("C0SUGGEST", "U0FOUNDER", "yes", thread_ts=root, broadcast=True)
    window = await client.read_window("C0SUGGEST", oldest=None, tick="t")
    thread = await client.read_thread("C0SUGGEST", root, oldest=None, tick="t")
    assert [message.ts for message in window] == [root, reply]
    assert window[1].subtype == "thread_broadcast"
    assert window[1].ce_id == thread.replies[0].ce_id


@pytest.mark.parametrize("known_thread", [True, False])
async def test_one_message_is_read_wherever_it_stands(
    sandbox: SlackSandbox, client: SlackClient, *, known_thread: bool
) -> None:
    workspace = sandbox.workspace
    root = workspace.say("C0SUGGEST", workspace.bot.id, "approve?")
    for number in range(9):
        reply = workspace.say("C0SUGGEST", "U0FOUNDER", f"reply {number}", thread_ts=root)
    thread_ts = root if known_thread else None
    found = await client.read_message("C0SUGGEST", reply, thread_ts=thread_ts, tick="t")
    assert found is not None
    assert (found.ts, found.thread_ts, found.text) == (reply, root, "reply 8")
    top = await client.read_message("C0SUGGEST", root, tick="t")
    assert top is not None
    assert top.text == "approve?"
    workspace.delete("C0SUGGEST", reply)
    assert await client.read_message("C0SUGGEST", reply, thread_ts=thread_ts, tick="t") is None


async def test_a_window_over_many_roots_tells_which_threads_changed(
    sandbox: SlackSandbox, settings_for: object
) -> None:
    workspace = sandbox.workspace
    roots = [workspace.say("C0SUGGEST", workspace.bot.id, str(n)) for n in range(1_000)]
    changed = {
        root: workspace.say("C0SUGGEST", "U0FOUNDER", "yes", thread_ts=root)
        for root in (roots[0], roots[500], roots[999])
    }
    async with opened(sandbox, 999) as client:
        window = await client.read_window("C0SUGGEST", oldest=just_before(roots[0]), tick="t")
        calls = client.calls
    latest = {one.ts: one.thread.latest_reply for one in window if one.thread is not None}
    assert latest == changed
    # two pages, and who we are
    assert calls == 4
