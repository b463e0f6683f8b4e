"""A channel too long for one tick's budget: every tick gets further, and nothing is lost."""

from collections.abc import AsyncIterator, Iterator

import pytest
from pydantic import SecretStr

from sayso.agents.polling.reading import Adjacency, Where
from sayso.agents.polling.rules import channel_after, watch_after
from sayso.agents.polling.scan import Scan, Slack, read_channel
from sayso.agents.polling.state import ChannelState, Watch
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.sandbox.faults import Fault
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.ts import Ts, micros

CHANNEL = "C0LONG"
LEAD = "U0LEAD"


class Poller:
    """The state that the polling agent keeps, without Kafka around it."""

    def __init__(self, sandbox: SlackSandbox, client: SlackClient) -> None:
        self.sandbox = sandbox
        self.slack = Slack(
            client=client,
            suggestions=CHANNEL,
            conversations=frozenset({CHANNEL}),
            adjacency=Adjacency(enabled=True, window=7_200),
        )
        self.state = ChannelState()
        self.watches: dict[Ts, Watch] = {}
        self.published: set[Ts] = set()
        self.replies: list[Ts] = []

    async def tick(self, *, pages: int | None = 1) -> Scan:
        """One tick in which Slack allows `pages` pages of each stretch; None for all."""
        self.sandbox.faults.clear()
        self.sandbox.faults.page_cap = 15
        if pages is not None:
            self.sandbox.faults.add(
                Fault(
                    kind="rate_limited",
                    method="conversations.history",
                    match='"cursor"',
                    retry_after="0",
                )
            )
        where = Where(org="acme", channel=CHANNEL, tick="t")
        scan = await read_channel(self.slack, where, self.state, self.watches)
        for post in scan.new_watches:
            self.watches.setdefault(post.thread, post)
        for thread, batch in scan.threads.items():
            self.watches[thread] = watch_after(self.watches[thread], batch)
        self.state = channel_after(
            self.state,
            scan.channel,
            born=[post.thread for post in scan.new_watches],
            gone=scan.gone,
            left=scan.left,
        )
        self.published |= {one.ts for one in (*scan.replies, *scan.others)}
        self.replies += [one.ts for one in scan.replies]
        for ts in (one.ts for one in scan.replies):
            for thread, watch in self.watches.items():
                self.watches[thread] = watch.model_copy(
                    update={"progress": watch.progress.settled(ts)}
                )
            self.state = self.state.model_copy(update={"progress": self.state.progress.settled(ts)})
        return scan


@pytest.fixture
def sandbox() -> Iterator[SlackSandbox]:
    with SlackSandbox() as running:
        running.workspace.add_user(LEAD)
        running.workspace.add_channel(CHANNEL)
        yield running


@pytest.fixture
async def poller(sandbox: SlackSandbox) -> AsyncIterator[Poller]:
    settings = SlackSettings(api_url=sandbox.url, calls_per_minute=10_000)
    async with SlackClient(org="acme", token=SecretStr(sandbox.token), settings=settings) as client:
        yield Poller(sandbox, client)


async def test_a_long_channel_is_read_over_several_ticks(poller: Poller) -> None:
    workspace = poller.sandbox.workspace
    roots, wanted, everything = [], [], []
    for number in range(40):
        roots.append(workspace.say(CHANNEL, workspace.bot.id, f"Question {number}?"))
        # Directly after our post: an answer. The next one is not.
        wanted.append(workspace.say(CHANNEL, LEAD, "set target_margin to 1"))
        everything += [roots[-1], wanted[-1], workspace.say(CHANNEL, LEAD, "chatter")]
    for root in roots[::7]:
        wanted.append(workspace.say(CHANNEL, LEAD, "set target_margin to 2", thread_ts=root))

    unread = set(everything) | set(wanted)
    ticks = 0
    while unread and ticks < 40:
        ticks += 1
        await poller.tick()
        unread -= poller.published
        cursor = micros(poller.state.progress.cursor)
        top = [ts for ts in unread if ts in set(everything)]
        assert all(micros(ts) > cursor for ts in top)
    assert ticks > 3
    assert not unread
    assert sorted(poller.replies) == sorted(wanted)
    assert set(poller.watches) == set(roots)

    await poller.tick(pages=None)
    late = workspace.say(CHANNEL, LEAD, "set target_margin to 3", thread_ts=roots[0])
    newest = workspace.say(CHANNEL, workspace.bot.id, "One more?")
    answer = workspace.say(CHANNEL, LEAD, "set target_margin to 4")
    await poller.tick()
    # What is new comes first, even while older history is still to be swept.
    assert answer in poller.replies
    assert newest in poller.watches
    for _ in range(20):
        await poller.tick()
    assert poller.replies.count(late) == 1
    assert poller.replies.count(answer) == 1
