"""API calls of one tick with many watched threads of which few changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from engine import BenchFailed
from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.rules import channel_after, watch_after
from sayso.agents.polling.scan import Scan, Slack, read_channel
from sayso.agents.polling.state import ChannelState, Watch
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.ts import Ts

ORG, CHANNEL = "acme", "C0SUGGEST"


@dataclass(frozen=True)
class Calls:
    """Calls per method of one tick, counted by the server."""

    threads: int
    changed: int
    cold: dict[str, int]
    """With a new client, which has to ask who it is and who the authors are."""
    warm: dict[str, int]
    """With one that knows."""


async def count_calls(*, threads: int, changed: int) -> Calls:
    """Let `changed` of `threads` watched threads get a reply, and scan; once cold, once warm.

    Raises BenchFailed when a scan finds other replies than those.
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
        async with _client(sandbox) as client:
            state, watches = _taken(ChannelState(), {}, await _scan(client, ChannelState(), {}))
        counted: list[dict[str, int]] = []
        async with _client(sandbox) as client:
            for _ in ("cold", "warm"):
                said = {
                    workspace.say(
                        CHANNEL,
                        f"U{number}",
                        "set target_margin to 1",
                        thread_ts=roots[number * threads // changed],
                    )
                    for number in range(changed)
                }
                sandbox.calls.clear()
                scan = await _scan(client, state, watches)
                counted.append(dict(sandbox.calls))
                found = {reply.ts for reply in scan.replies}
                if found != said:
                    raise BenchFailed(f"found {len(found)} replies, and there were {len(said)}")
                state, watches = _taken(state, watches, scan)
                watches = {ts: _settled(watch) for ts, watch in watches.items()}
    return Calls(threads, changed, *counted)


def _client(sandbox: SlackSandbox) -> SlackClient:
    settings = SlackSettings(api_url=sandbox.url)
    return SlackClient(org=ORG, token=SecretStr(sandbox.token), settings=settings)


async def _scan(client: SlackClient, state: ChannelState, watches: Mapping[Ts, Watch]) -> Scan:
    slack = Slack(
        client=client,
        suggestions=CHANNEL,
        conversations=frozenset({CHANNEL}),
        adjacency=Adjacency(enabled=True, window=7_200),
    )
    return await read_channel(slack, Where(org=ORG, channel=CHANNEL, tick="bench"), state, watches)


def _taken(
    state: ChannelState, watches: Mapping[Ts, Watch], scan: Scan
) -> tuple[ChannelState, dict[Ts, Watch]]:
    """What the polling agent would remember after the scan."""
    known = {**watches, **{post.thread: post for post in scan.new_watches}}
    for thread, batch in scan.threads.items():
        known[thread] = watch_after(known[thread], batch)
    born = [post.thread for post in scan.new_watches]
    after = channel_after(state, scan.channel, born=born, gone=scan.gone, left=scan.left)
    return after, known


def _settled(watch: Watch) -> Watch:
    progress = watch.progress
    for ts in progress.outstanding:
        progress = progress.settled(ts)
    return watch.model_copy(update={"progress": progress})
