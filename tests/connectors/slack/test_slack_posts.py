"""Posting once, and finding a post whose answer was lost."""

import pytest

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import PostAmbiguous, PostRefused
from sayso.connectors.slack.mrkdwn import escape
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.schemas.effect import PostMessage
from sayso.schemas.ts import just_before

CHANNEL = "C0SUGGEST"
POST = "chat.postMessage"


def root_of(sandbox: SlackSandbox) -> str:
    return sandbox.workspace.say(CHANNEL, sandbox.workspace.bot.id, "approve?")


def confirmation(root: str | None) -> PostMessage:
    return PostMessage(channel=CHANNEL, text="settled", thread_ts=root)


async def test_a_post_stands_in_its_thread_with_its_effect(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    root = root_of(sandbox)
    posted = await client.post(confirmation(root), effect_id="e1")
    (post,) = sandbox.workspace.posts
    assert (post.ts, post.thread_ts, post.text) == (posted.ts, root, "settled")
    assert posted.thread_ts == root
    assert post.metadata == {"event_type": "sayso_effect", "event_payload": {"effect_id": "e1"}}
    (args,) = [args for method, args in sandbox.requests if method == POST]
    assert (args["unfurl_links"], args["unfurl_media"]) == (False, False)
    assert await client.find_post(confirmation(root), effect_id="e1", since=root) == posted
    assert await client.find_post(confirmation(root), effect_id="e2", since=root) is None


async def test_a_post_of_ours_reads_as_ours(sandbox: SlackSandbox, client: SlackClient) -> None:
    root = root_of(sandbox)
    await client.post(confirmation(root), effect_id="e1")
    thread = await client.read_thread(CHANNEL, root, oldest=None, tick="t")
    assert [one.author.is_self for one in thread.replies] == [True]


@pytest.mark.parametrize("kind", ["drop_after", "error_after", "truncated", "empty", "cut"])
@pytest.mark.parametrize("threaded", [True, False])
async def test_a_post_whose_answer_was_lost_is_found(
    sandbox: SlackSandbox, client: SlackClient, kind: str, *, threaded: bool
) -> None:
    action = confirmation(root_of(sandbox) if threaded else None)
    sandbox.faults.add(Fault(kind=kind, method=POST))
    with pytest.raises(PostAmbiguous):
        await client.post(action, effect_id="e1")
    found = await client.find_post(action, effect_id="e1", since=None)
    (post,) = sandbox.workspace.posts
    assert found is not None
    assert (found.ts, found.thread_ts) == (post.ts, action.thread_ts)


@pytest.mark.parametrize("threaded", [True, False])
async def test_where_no_metadata_is_kept_a_post_is_found_by_its_text(
    sandbox: SlackSandbox, client: SlackClient, *, threaded: bool
) -> None:
    workspace, us = sandbox.workspace, sandbox.workspace.bot.id
    root = workspace.say(CHANNEL, us, "settled") if threaded else None
    action = confirmation(root)
    workspace.say(CHANNEL, "U0FOUNDER", "settled", thread_ts=root)
    workspace.say(CHANNEL, us, "something else", thread_ts=root)
    assert await client.find_post(action, effect_id="e1", since=root) is None
    ts = workspace.say(CHANNEL, us, "settled", thread_ts=root)
    found = await client.find_post(action, effect_id="e1", since=root)
    assert found is not None
    assert (found.ts, found.thread_ts) == (ts, root)
    assert await client.find_post(action, effect_id="e1", since=ts) is None
    # Where it is kept, as Slack does, the same words are no proof.
    kept = {"event_type": "sayso_effect", "event_payload": {"effect_id": "e0"}}
    workspace.say(CHANNEL, us, "settled", thread_ts=root, metadata=kept)
    assert await client.find_post(action, effect_id="e1", since=root) is None


@pytest.mark.parametrize("kind", ["drop_before", "error_before"])
async def test_a_post_that_never_happened_is_not_found(
    sandbox: SlackSandbox, client: SlackClient, kind: str
) -> None:
    sandbox.faults.add(Fault(kind=kind, method=POST))
    with pytest.raises(PostAmbiguous):
        await client.post(confirmation(None), effect_id="e1")
    assert await client.find_post(confirmation(None), effect_id="e1", since=None) is None


async def test_only_what_came_after_since_is_looked_at(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    posted = await client.post(confirmation(None), effect_id="e1")
    assert await client.find_post(confirmation(None), effect_id="e1", since=posted.ts) is None
    before = just_before(posted.ts)
    assert await client.find_post(confirmation(None), effect_id="e1", since=before) == posted


async def test_metadata_that_another_app_forged_is_not_ours(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    root = root_of(sandbox)
    sandbox.workspace.add_user("U0HOOK", kind="bot", bot_id="B0HOOK", app_id="A0HOOK")
    forged = {"event_type": "sayso_effect", "event_payload": {"effect_id": "e1"}}
    for who in ("U0HOOK", "U0FOUNDER"):
        sandbox.workspace.say(CHANNEL, who, "settled", thread_ts=root, metadata=forged)
    assert await client.find_post(confirmation(root), effect_id="e1", since=None) is None


async def test_a_thread_that_is_gone_is_not_answered_in_the_channel(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    root = root_of(sandbox)
    sandbox.workspace.delete(CHANNEL, root)
    with pytest.raises(PostRefused) as caught:
        await client.post(confirmation(root), effect_id="e1")
    assert (caught.value.code, caught.value.posted_ts) == ("thread_gone", None)
    assert sandbox.calls[POST] == 0


async def test_a_reply_is_no_thread_to_post_into(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    reply = sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes", thread_ts=root_of(sandbox))
    with pytest.raises(PostRefused):
        await client.post(confirmation(reply), effect_id="e1")
    assert sandbox.calls[POST] == 0


async def test_a_thread_that_vanishes_meanwhile_is_refused_with_where_the_post_went(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    root = root_of(sandbox)
    sandbox.workspace.delete(CHANNEL, root)
    stood = {"ok": True, "messages": [{"type": "message", "ts": root, "text": "approve?"}]}
    sandbox.faults.add(Fault(kind="answer", method="conversations.replies", body=stood))
    with pytest.raises(PostRefused, match="outside the thread") as caught:
        await client.post(confirmation(root), effect_id="e1")
    (stray,) = sandbox.workspace.posts
    assert (caught.value.code, caught.value.posted_ts) == ("thread_gone", stray.ts)
    # and when that answer is lost, reading back finds it where it went
    found = await client.find_post(confirmation(root), effect_id="e1", since=None)
    assert found is not None
    assert (found.ts, found.thread_ts) == (stray.ts, None)


async def test_a_tombstone_still_takes_replies(sandbox: SlackSandbox, client: SlackClient) -> None:
    root = root_of(sandbox)
    sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes", thread_ts=root)
    sandbox.workspace.delete(CHANNEL, root)
    assert (await client.post(confirmation(root), effect_id="e1")).thread_ts == root


async def test_escaped_text_pings_nobody_and_reads_as_written(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    words = "<!channel> & <@U0FOUNDER> said 1 < 2"
    await client.post(PostMessage(channel=CHANNEL, text=escape(words)), effect_id="e1")
    (post,) = sandbox.workspace.posts
    assert post.text == "&lt;!channel&gt; &amp; &lt;@U0FOUNDER&gt; said 1 &lt; 2"


async def test_an_answer_that_names_no_message_is_ambiguous(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    sandbox.faults.add(Fault(kind="answer", method=POST, body={"ok": True, "ts": "soon"}))
    with pytest.raises(PostAmbiguous):
        await client.post(confirmation(None), effect_id="e1")
