"""The sandbox behaves as Slack was observed to, through the real SDK and bare HTTP."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sayso.connectors.slack.sandbox import SlackSandbox, Workspace
from sayso.schemas.ts import just_before

CHANNEL = "C0SUGGEST"


@pytest.fixture
async def slack(sandbox: SlackSandbox) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            token=sandbox.token, base_url=sandbox.url, session=session, retry_handlers=[]
        )
        client.proxy = None
        yield client


def say(sandbox: SlackSandbox, how_many: int, *, thread_ts: str | None = None) -> list[str]:
    return [
        sandbox.workspace.say(CHANNEL, "U0FOUNDER", str(number), thread_ts=thread_ts)
        for number in range(how_many)
    ]


async def code_of(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def pages(call: Any, **args: Any) -> list[list[str]]:
    found = []
    cursor = ""
    while True:
        answer = await call(**args, cursor=cursor) if cursor else await call(**args)
        found.append([message["text"] for message in answer["messages"]])
        cursor = (answer.get("response_metadata") or {}).get("next_cursor", "")
        assert answer["has_more"] is bool(cursor)
        if not cursor:
            return found


async def test_pages_begin_at_the_oldest_end_without_latest_and_at_the_newest_with(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    stamps = say(sandbox, 7)
    oldest = just_before(stamps[0])
    forward = await pages(slack.conversations_history, channel=CHANNEL, oldest=oldest, limit=3)
    assert forward == [["2", "1", "0"], ["5", "4", "3"], ["6"]]
    backward = [["6", "5", "4"], ["3", "2", "1"], ["0"]]
    bounded = {"channel": CHANNEL, "oldest": oldest, "latest": "1999999999.000000", "limit": 3}
    assert await pages(slack.conversations_history, **bounded) == backward
    assert await pages(slack.conversations_history, channel=CHANNEL, limit=3) == backward
    same = await pages(
        slack.conversations_history, channel=CHANNEL, oldest=oldest, latest="0", limit=3
    )
    assert same == forward


async def test_bounds_are_exclusive_unless_told(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    first, second = say(sandbox, 2)
    for inclusive, expected in (("", []), ("0", []), ("FALSE", []), ("no", ["1", "0"])):
        answer = await slack.api_call(
            "conversations.history",
            http_verb="GET",
            params={"channel": CHANNEL, "oldest": first, "latest": second, "inclusive": inclusive},
        )
        assert [message["text"] for message in answer["messages"]] == expected


async def test_a_page_is_100_by_default_and_999_at_most(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    say(sandbox, 1_001)
    assert len((await slack.conversations_history(channel=CHANNEL))["messages"]) == 100
    most = await slack.conversations_history(channel=CHANNEL, limit=5_000)
    assert len(most["messages"]) == 999
    sandbox.faults.page_cap = 15
    assert len((await slack.conversations_history(channel=CHANNEL, limit=999))["messages"]) == 15


async def test_which_refusal_comes_first(slack: AsyncWebClient) -> None:
    wrong = {"channel": "C0NONE", "latest": "abc", "oldest": "abc", "cursor": "?"}
    history = slack.conversations_history
    assert await code_of(history(**wrong)) == "channel_not_found"
    wrong["channel"] = CHANNEL
    assert await code_of(history(**wrong)) == "invalid_ts_latest"
    wrong["latest"] = ""
    assert await code_of(history(**wrong)) == "invalid_ts_oldest"
    wrong["oldest"] = ""
    assert await code_of(history(**wrong)) == "invalid_cursor"


async def test_a_float_is_read_too_early(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    answer = await slack.conversations_history(channel=CHANNEL, oldest=1796000000.1)
    assert answer["oldest"] == "1796000000.000001"


async def test_replies_have_the_root_first_and_count_it(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    root = sandbox.workspace.say(CHANNEL, "U0FOUNDER", "root")
    stamps = say(sandbox, 4, thread_ts=root)
    replies = slack.conversations_replies
    assert await pages(replies, channel=CHANNEL, ts=root, limit=3) == [
        ["root", "0", "1"],
        ["root", "2", "3"],
    ]
    sandbox.workspace.root_on_every_page = False
    assert await pages(replies, channel=CHANNEL, ts=root, limit=3) == [
        ["root", "0", "1"],
        ["2", "3"],
    ]
    after = await replies(channel=CHANNEL, ts=root, oldest=stamps[2])
    assert [message["text"] for message in after["messages"]] == ["root", "3"]
    alone = await replies(channel=CHANNEL, ts=stamps[1], limit=999)
    assert [message["text"] for message in alone["messages"]] == ["1"]
    one = await replies(channel=CHANNEL, ts=root, limit=1)
    assert [message["text"] for message in one["messages"]] == ["root"]
    top = (await slack.conversations_history(channel=CHANNEL))["messages"]
    assert [(one["reply_count"], one["latest_reply"]) for one in top] == [(4, stamps[3])]


async def test_deletes_leave_a_tombstone_only_over_replies(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    bare = (await slack.chat_postMessage(channel=CHANNEL, text="bare"))["ts"]
    root = (await slack.chat_postMessage(channel=CHANNEL, text="root"))["ts"]
    (reply,) = say(sandbox, 1, thread_ts=root)
    for ts in (bare, root):
        await slack.chat_delete(channel=CHANNEL, ts=ts)
    (tombstone,) = (await slack.conversations_history(channel=CHANNEL))["messages"]
    assert (tombstone["subtype"], tombstone["ts"], tombstone["reply_count"]) == (
        "tombstone",
        root,
        1,
    )
    assert await code_of(slack.conversations_replies(channel=CHANNEL, ts=bare)) == (
        "thread_not_found"
    )
    for call in (
        slack.chat_update(channel=CHANNEL, ts=root, text="x"),
        slack.chat_delete(channel=CHANNEL, ts=root),
    ):
        assert await code_of(call) == "message_not_found"
    sandbox.workspace.delete(CHANNEL, reply)
    assert (await slack.conversations_history(channel=CHANNEL))["messages"] == []


async def test_posting(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    metadata = {"event_type": "e", "event_payload": {"k": "v"}}
    posted = await slack.chat_postMessage(
        channel=CHANNEL, text="1 < 2 & <@U0FOUNDER>", metadata=metadata
    )
    assert posted["message"]["text"] == "1 &lt; 2 &amp; <@U0FOUNDER>"
    assert posted["message"]["bot_id"] == sandbox.workspace.bot.bot_id
    (bare,) = (await slack.conversations_history(channel=CHANNEL))["messages"]
    assert "metadata" not in bare
    full = await slack.conversations_history(channel=CHANNEL, include_all_metadata=True)
    assert full["messages"][0]["metadata"] == metadata
    nowhere = await slack.chat_postMessage(channel=CHANNEL, text="x", thread_ts="1796000000.000100")
    assert "thread_ts" not in nowhere["message"]
    updated = await slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="new")
    assert "edited" in updated["message"]
    too_long = slack.chat_update(channel=CHANNEL, ts=posted["ts"], text="x" * 4_001)
    assert await code_of(too_long) == "msg_too_long"
    (theirs,) = say(sandbox, 1)
    assert await code_of(slack.chat_update(channel=CHANNEL, ts=theirs, text="x")) == (
        "cant_update_message"
    )
    assert await code_of(slack.chat_delete(channel=CHANNEL, ts=theirs)) == "cant_delete_message"
    assert await code_of(slack.chat_postMessage(channel=CHANNEL, text="")) == "no_text"


async def test_a_broadcast_stands_in_both_places(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    (root,) = say(sandbox, 1)
    await slack.chat_postMessage(channel=CHANNEL, text="b", thread_ts=root, reply_broadcast=True)
    newest = (await slack.conversations_history(channel=CHANNEL))["messages"][0]
    assert (newest["subtype"], newest["thread_ts"], newest["root"]["ts"]) == (
        "thread_broadcast",
        root,
        root,
    )


async def test_reactions(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    (ts,) = say(sandbox, 1)
    at = {"channel": CHANNEL, "timestamp": ts}
    await slack.reactions_add(name="+1", **at)
    sandbox.workspace.react(CHANNEL, ts, "U0FOUNDER", "+1")
    assert await code_of(slack.reactions_add(name="+1", **at)) == "already_reacted"
    for name in (":+1:", "Tada", "two words", "👍"):
        assert await code_of(slack.reactions_add(name=name, **at)) == "invalid_name"
    message = (await slack.reactions_get(full=True, **at))["message"]
    assert message["reactions"] == [
        {"name": "+1", "users": [sandbox.workspace.bot.id, "U0FOUNDER"], "count": 2}
    ]
    assert message["permalink"].endswith(f"/archives/{CHANNEL}/p{ts.replace('.', '')}")
    await slack.reactions_remove(name="+1", **at)
    assert await code_of(slack.reactions_remove(name="+1", **at)) == "no_reaction"
    assert await code_of(slack.reactions_get(channel=CHANNEL, timestamp="0")) == "bad_timestamp"
    nothing = slack.reactions_get(channel=CHANNEL, timestamp="1796000000.000100")
    assert await code_of(nothing) == "message_not_found"


async def test_who_is_there(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    bot = sandbox.workspace.bot
    who = await slack.auth_test()
    assert (who["user_id"], who["bot_id"]) == (bot.id, bot.bot_id)
    assert "chat:write" in who.headers["x-oauth-scopes"]
    assert (await slack.bots_info(bot=bot.bot_id))["bot"]["app_id"] == bot.app_id
    sandbox.workspace.add_user("U0HIDDEN", kind="hidden")
    assert await code_of(slack.users_info(user="U0HIDDEN")) == "user_not_found"
    listed = await slack.users_list(limit=1)
    assert listed["response_metadata"]["next_cursor"]
    places = await slack.conversations_list()
    assert [place["id"] for place in places["channels"]] == [CHANNEL]
    assert places["response_metadata"] == {"next_cursor": ""}
    place = (await slack.conversations_info(channel=CHANNEL))["channel"]
    assert place["is_member"] is True


async def test_what_a_token_may(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    workspace = sandbox.workspace
    workspace.add_token(sandbox.token, user=workspace.bot.id, scopes=frozenset({"users:read"}))
    with pytest.raises(SlackApiError) as caught:
        await slack.conversations_history(channel=CHANNEL)
    answer = caught.value.response
    assert (answer["error"], answer["needed"], answer["provided"]) == (
        "missing_scope",
        "channels:history",
        "users:read",
    )
    workspace.add_channel("C0PRIVATE", private=True)
    with pytest.raises(SlackApiError) as caught:
        await slack.conversations_history(channel="C0PRIVATE")
    assert caught.value.response["needed"] == "groups:history"
    slack.token = "xoxb-other"
    assert await code_of(slack.auth_test()) == "invalid_auth"


async def test_outside_and_archived_channels(sandbox: SlackSandbox, slack: AsyncWebClient) -> None:
    sandbox.workspace.add_channel("C0OTHER", joined=False)
    sandbox.workspace.add_channel("C0PRIVATE", joined=False, private=True)
    assert await code_of(slack.conversations_history(channel="C0OTHER")) == "not_in_channel"
    assert await code_of(slack.conversations_history(channel="C0PRIVATE")) == "channel_not_found"
    replies = slack.conversations_replies(channel="C0OTHER", ts="1796000000.000100")
    assert await code_of(replies) == "channel_not_found"
    (ts,) = say(sandbox, 1)
    sandbox.workspace.archive(CHANNEL)
    assert len((await slack.conversations_history(channel=CHANNEL))["messages"]) == 1
    assert await code_of(slack.chat_postMessage(channel=CHANNEL, text="x")) == "is_archived"
    react = slack.reactions_add(channel=CHANNEL, timestamp=ts, name="+1")
    assert await code_of(react) == "is_archived"


async def test_a_person_posts_through_the_api_with_a_bot_id(
    sandbox: SlackSandbox, slack: AsyncWebClient
) -> None:
    sandbox.workspace.channels[CHANNEL].members.add("U0FOUNDER")
    sandbox.workspace.add_token("xoxp-founder", user="U0FOUNDER")
    slack.token = "xoxp-founder"
    message = (await slack.chat_postMessage(channel=CHANNEL, text="x"))["message"]
    assert message["user"] == "U0FOUNDER"
    assert message["bot_id"]
    assert "subtype" not in message
    assert "client_msg_id" not in message


@pytest.mark.parametrize("how", ["query", "form", "json", "token in the form"])
async def test_arguments_in_each_form(sandbox: SlackSandbox, how: str) -> None:
    say(sandbox, 3)
    url = f"{sandbox.url}conversations.history"
    args = {"channel": CHANNEL, "limit": "2"}
    headers = {"Authorization": f"Bearer {sandbox.token}"}
    async with aiohttp.ClientSession() as session:
        if how == "query":
            sent = session.get(url, params=args, headers=headers)
        elif how == "form":
            sent = session.post(url, data=args, headers=headers)
        elif how == "json":
            sent = session.post(url, json=args, headers=headers)
        else:
            sent = session.post(url, data={**args, "token": sandbox.token})
        async with sent as answer:
            body = await answer.json()
    assert [message["text"] for message in body["messages"]] == ["2", "1"]
    assert sandbox.requests[-1] == ("conversations.history", args)


async def test_another_process_can_drive_it(sandbox: SlackSandbox) -> None:
    base = f"{sandbox.base_url}_sandbox/"
    async with aiohttp.ClientSession() as session:

        async def do(path: str, **given: Any) -> Any:
            async with session.post(base + path, json=given) as answer:
                return answer.status, await answer.json()

        _, said = await do("say", channel=CHANNEL, user="U0FOUNDER", text="yes")
        ts = said["result"]
        await do("react", channel=CHANNEL, ts=ts, user="U0FOUNDER", name="+1")
        await do("edit", channel=CHANNEL, ts=ts, text="no")
        async with session.get(base + "state") as answer:
            state = await answer.json()
        (message,) = state["channels"][CHANNEL]["messages"]
        assert (message["text"], message["reactions"][0]["count"]) == ("no", 1)
        await do("delete", channel=CHANNEL, ts=ts)
        assert sandbox.workspace.channels[CHANNEL].messages == {}
        assert (await do("faults", kind="empty", method="auth.test"))[0] == 200
        assert sandbox.faults.take("auth.test", {}) is not None
        assert (await do("faults", kind="nonsense"))[0] == 400
        assert (await do("nonsense"))[0] == 400
        assert (await do("say", channel="C0NONE", user="U0FOUNDER", text="yes"))[0] == 400
        async with session.get(base + "calls") as answer:
            assert await answer.json() == {}


def test_a_counting_clock_repeats_a_run() -> None:
    def run() -> list[str]:
        workspace = Workspace(start="1796000000.000000")
        workspace.add_channel(CHANNEL)
        return [workspace.say(CHANNEL, workspace.bot.id, "x") for _ in range(3)]

    assert run() == run() == ["1796000000.000000", "1796000001.000000", "1796000002.000000"]


async def test_the_command_runs_it_alone_and_stops_on_interrupt() -> None:
    program = "from sayso.cli.sandbox import app; app()"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-u",
        "-c",
        program,
        "slack",
        "--token",
        "xoxb-mine",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().split()[-1]
        await process.stdout.readline()
        async with aiohttp.ClientSession() as session:
            while True:
                with suppress(aiohttp.ClientConnectorError):
                    async with session.get(
                        f"{url}auth.test", headers={"Authorization": "Bearer xoxb-mine"}
                    ) as answer:
                        assert json.loads(await answer.text())["ok"] is True
                    break
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    finally:
        with suppress(ProcessLookupError):
            process.kill()


async def test_the_command_names_a_port_that_is_taken(sandbox: SlackSandbox) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from sayso.cli.sandbox import app; app()",
        "slack",
        "--port",
        str(sandbox.port),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 1
    assert said.decode().startswith(f"port {sandbox.port} cannot be opened")
    assert "Traceback" not in said.decode()
