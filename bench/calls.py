"""API calls of one tick with many watched threads of which few changed."""

from collections.abc import Mapping

from pydantic import SecretStr

from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.rules import channel_after, watch_after
from sayso.agents.polling.scan import Scan, Slack, read_channel
from sayso.agents.polling.state import ChannelState, Watch
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.ts import Ts

CHANNEL = "C0SUGGEST"


async def count_calls(*, threads: int, changed: int) -> dict[str, int]:
    """Calls per method of the tick that finds the changes, counted by the server.

    The tick is cold: a new client, which has to ask who it is and who the authors are.
    """
    with SlackSandbox() as sandbox:
        workspace = sandbox.workspace
        workspace.add_channel(CHANNEL)
        for number in range(changed):
            workspace.add_user(f"U{number}")
        roots = [
            workspace.say(CHANNEL, workspace.bot.id, f"Question {number}?")
            for number in range(threads)
        ]
        first = await _scan(sandbox, ChannelState(), {})
        watches = {post.thread: post for post in first.new_watches}
        for thread, batch in first.threads.items():
            watches[thread] = watch_after(watches[thread], batch)
        state = channel_after(
            ChannelState(), first.channel, born=watches, gone=first.gone, left=first.left
        )
        for number in range(changed):
            root = roots[number * threads // changed]
            workspace.say(CHANNEL, f"U{number}", "set target_margin to 1", thread_ts=root)
        sandbox.calls.clear()
        second = await _scan(sandbox, state, watches)
        if len(second.replies) != changed:
            raise RuntimeError(f"found {len(second.replies)} of {changed} replies")
        return dict(sandbox.calls)


async def _scan(sandbox: SlackSandbox, state: ChannelState, watches: Mapping[Ts, Watch]) -> Scan:
    settings = SlackSettings(api_url=sandbox.url)
    async with SlackClient(org="acme", token=SecretStr(sandbox.token), settings=settings) as client:
        slack = Slack(
            client=client,
            suggestions=CHANNEL,
            conversations=frozenset({CHANNEL}),
            adjacency=Adjacency(enabled=True, window=7_200),
        )
        where = Where(org="acme", channel=CHANNEL, tick="bench")
        return await read_channel(slack, where, state, watches)
