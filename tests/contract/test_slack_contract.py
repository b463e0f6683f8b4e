"""What Slack and its sandbox must both do for the connector to be right.

Runs on the sandbox always, and on real Slack when SLACK_BOT_TOKEN and SAYSO_TEST_SLACK_CHANNEL
(a channel that the bot is in) are set. There it posts a few messages and deletes them again.
"""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import PostRefused, SlackDenied, ThreadGone
from sayso.connectors.slack.mrkdwn import escape, links, mentions, plain
from sayso.connectors.slack.sandbox import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.effect import PostMessage
from sayso.schemas.ts import just_before

NEEDED = {"channels:history", "chat:write", "users:read"}


@dataclass(kw_only=True)
class Place:
    """A channel on some Slack, and what was posted there."""

    url: str
    token: str
    channel: str
    client: SlackClient
    sdk: AsyncWebClient
    posted: list[str] = field(default_factory=list)

    async def post(self, text: str, *, thread_ts: str | None = None, effect_id: str = "") -> str:
        action = PostMessage(channel=self.channel, text=text, thread_ts=thread_ts)
        posted = await self.client.post(action, effect_id=effect_id or uuid4().hex)
        self.posted.append(posted.ts)
        return posted.ts

    async def delete(self, ts: str) -> None:
        await self.sdk.chat_delete(channel=self.channel, ts=ts)


async def opened(url: str, token: str, channel: str) -> AsyncIterator[Place]:
    settings = SlackSettings(api_url=url, page_size=3)
    sdk = AsyncWebClient(token=token, base_url=url)
    async with SlackClient(org="acme", token=SecretStr(token), settings=settings) as client:
        place = Place(url=url, token=token, channel=channel, client=client, sdk=sdk)
        yield place
        for ts in reversed(place.posted):
            with suppress(SlackApiError):
                await place.delete(ts)


@pytest.fixture(params=["sandbox", "real"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    if request.param == "sandbox":
        with SlackSandbox() as sandbox:
            channel = sandbox.workspace.add_channel("C0CONTRACT")
            async for one in opened(sandbox.url, sandbox.token, channel):
                yield one
        return
    token, channel = (
        os.environ.get(name) for name in ("SLACK_BOT_TOKEN", "SAYSO_TEST_SLACK_CHANNEL")
    )
    if not (token and channel):
        pytest.skip("SLACK_BOT_TOKEN and SAYSO_TEST_SLACK_CHANNEL are not set")
    async for one in opened(SlackSettings().api_url, token, channel):
        yield one


async def test_the_token_names_us_and_its_scopes(place: Place) -> None:
    me = await place.client.identity()
    assert me.user_id.startswith(("U", "W"))
    assert me.bot_id is not None
    assert me.team_id
    assert await place.client.scopes() >= NEEDED


async def test_a_wrong_token_is_denied(place: Place) -> None:
    settings = SlackSettings(api_url=place.url)
    wrong = SecretStr("xoxb-nobody-has-this")
    async with SlackClient(org="acme", token=wrong, settings=settings) as client:
        with pytest.raises(SlackDenied):
            await client.identity()


async def test_a_window_is_whole_in_order_and_after_its_cursor(place: Place) -> None:
    stamps = [await place.post(f"message {number}") for number in range(5)]
    before = just_before(stamps[0])
    window = await place.client.read_window(place.channel, oldest=before, tick="t")
    ours = [message for message in window if message.ts in stamps]
    assert [message.ts for message in ours] == stamps
    assert [message.text for message in ours] == [f"message {number}" for number in range(5)]
    assert all(message.author.is_self for message in ours)
    later = await place.client.read_window(place.channel, oldest=stamps[2], tick="t")
    assert [message.ts for message in later if message.ts in stamps] == stamps[3:]


async def test_a_thread_is_whole_and_its_root_tells_of_it(place: Place) -> None:
    root = await place.post("root")
    stamps = [await place.post(f"reply {n}", thread_ts=root) for n in range(4)]
    thread = await place.client.read_thread(place.channel, root, oldest=None, tick="t")
    assert [message.ts for message in thread.replies] == stamps
    after = await place.client.read_thread(place.channel, root, oldest=stamps[1], tick="t")
    assert [message.ts for message in after.replies] == stamps[2:]
    window = await place.client.read_window(place.channel, oldest=just_before(root), tick="t")
    (summary,) = [message.thread for message in window if message.ts == root]
    assert summary is not None
    assert (summary.reply_count, summary.latest_reply) == (4, stamps[-1])
    assert not {message.ts for message in window} & set(stamps)


async def test_an_effect_is_found_by_its_id(place: Place) -> None:
    root = await place.post("root")
    effect = uuid4().hex
    ts = await place.post("settled", thread_ts=root, effect_id=effect)
    action = PostMessage(channel=place.channel, text="settled", thread_ts=root)
    found = await place.client.find_post(action, effect_id=effect, since=root)
    assert found is not None
    assert (found.ts, found.thread_ts) == (ts, root)
    assert await place.client.find_post(action, effect_id=uuid4().hex, since=root) is None


async def test_one_message_in_its_newest_form(place: Place) -> None:
    root = await place.post("root")
    reply = await place.post("before", thread_ts=root)
    await place.sdk.chat_update(channel=place.channel, ts=reply, text="after")
    for thread_ts in (root, None):
        read = await place.client.read_message(place.channel, reply, thread_ts=thread_ts, tick="t")
        assert read is not None
        assert (read.text, read.change) == ("after", "edited")


async def test_a_deleted_root_leaves_a_tombstone_only_over_replies(place: Place) -> None:
    bare, root = await place.post("bare"), await place.post("root")
    reply = await place.post("reply", thread_ts=root)
    for ts in (bare, root):
        await place.delete(ts)
    with pytest.raises(ThreadGone):
        await place.client.read_thread(place.channel, bare, oldest=None, tick="t")
    thread = await place.client.read_thread(place.channel, root, oldest=None, tick="t")
    assert [message.ts for message in thread.replies] == [reply]
    assert thread.root is not None
    assert thread.root.change == "deleted"


async def test_a_thread_that_is_gone_takes_no_post(place: Place) -> None:
    root = await place.post("root")
    await place.delete(root)
    with pytest.raises(PostRefused):
        await place.post("settled", thread_ts=root)


async def test_text_survives_the_way_there_and_back(place: Place) -> None:
    words = "да ✅ 1 < 2 & 3 > 2 <!here>"
    ts = await place.post(escape(words))
    read = await place.client.read_message(place.channel, ts, tick="t")
    assert read is not None
    assert plain(read.text) == words


async def test_mentions_and_links_are_recognised(place: Place) -> None:
    me = await place.client.identity()
    root = await place.post("root")
    link = (await place.sdk.chat_getPermalink(channel=place.channel, message_ts=root))["permalink"]
    ts = await place.post(f"<@{me.user_id}> as in <{link}>")
    read = await place.client.read_message(place.channel, ts, tick="t")
    assert read is not None
    assert mentions(read.text, me.user_id)
    assert [(one.channel, one.ts) for one in links(read.text)] == [(place.channel, root)]
