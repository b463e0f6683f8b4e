"""Servers that mark a bot on its profile and not on what it writes."""

from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.scan import Scan, Slack, read_channel, read_trigger
from sayso.agents.polling.state import ChannelState
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings

CHANNEL = "C0PLAIN"
WHERE = Where(org="acme", channel=CHANNEL, tick="t")


@pytest.fixture
def sandbox() -> Iterator[SlackSandbox]:
    with SlackSandbox() as running:
        running.workspace.add_user("U0LEAD")
        running.workspace.add_user("U0HOOK", kind="bot")
        running.workspace.add_channel(CHANNEL)
        yield running


@pytest.fixture
async def slack(sandbox: SlackSandbox) -> AsyncIterator[Slack]:
    settings = SlackSettings(api_url=sandbox.url, calls_per_minute=10_000)
    async with SlackClient(org="acme", token=SecretStr(sandbox.token), settings=settings) as client:
        yield Slack(
            client=client,
            suggestions=CHANNEL,
            conversations=frozenset({CHANNEL}),
            adjacency=Adjacency(enabled=True, window=7_200),
        )


def _plain(sandbox: SlackSandbox, user: str, text: str, thread_ts: str | None = None) -> str:
    raw = {"type": "message", "user": user, "text": text}
    return sandbox.workspace.put(CHANNEL, raw, thread_ts=thread_ts)


async def test_what_an_unmarked_bot_writes_is_no_reply(sandbox: SlackSandbox, slack: Slack) -> None:
    root = sandbox.workspace.say(CHANNEL, sandbox.workspace.bot.id, "Shall we?")
    human = _plain(sandbox, "U0LEAD", "yes", root)
    machine = _plain(sandbox, "U0HOOK", "yes", root)
    adjacent = _plain(sandbox, "U0HOOK", "deployed")
    scan = await read_channel(slack, WHERE, ChannelState(), {})
    assert [one.ts for one in scan.replies] == [human]
    assert scan.threads[root].newest == machine
    assert {machine, adjacent} <= {one.ts for one in scan.others}
    assert all(one.answers is None for one in scan.others)


async def test_nor_is_it_by_a_trigger(sandbox: SlackSandbox, slack: Slack) -> None:
    ts = _plain(sandbox, "U0HOOK", f"<@{sandbox.workspace.bot.id}> yes")
    scan: Scan = await read_trigger(slack, WHERE, ts, {})
    assert scan.replies == ()
    assert [(one.ts, one.author.kind) for one in scan.others] == [(ts, "bot")]
