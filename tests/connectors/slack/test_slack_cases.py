"""Every case of cases/slack.json, named by its id, as far as the connector goes.

What a loop does with the outcome is tested with the loop.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import (
    PostAmbiguous,
    PostRefused,
    RateLimited,
    SlackUnavailable,
    ThreadGone,
)
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.normalise import normalise
from sayso.connectors.slack.reactions import changes, people
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.connectors.slack.sandbox.arguments import slack_ts
from sayso.schemas.effect import PostMessage
from sayso.schemas.slack import Message
from sayso.schemas.ts import from_micros, just_before, micros

CHANNEL = "C0SUGGEST"
PERSON = "U0FOUNDER"
CASES = {
    case["id"]: case
    for case in json.loads(
        (Path(__file__).parents[2] / "cases" / "slack.json").read_text(encoding="utf-8")
    )
}
HISTORY = "conversations.history"
REPLIES = "conversations.replies"


@dataclass(frozen=True, kw_only=True)
class Scene:
    case: dict[str, Any]
    sandbox: SlackSandbox
    client: SlackClient
    me: Identity

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.case["given"])

    def put(self, raw: Mapping[str, Any]) -> str:
        """Put a raw message of a case into the sandbox, its thread before it."""
        kept = {name: raw[name] for name in raw if name in ("type", "user", "text", "user_team")}
        root = raw.get("thread_ts")
        return self.sandbox.workspace.put(
            CHANNEL, kept, ts=raw["ts"], thread_ts=None if root == raw["ts"] else root
        )

    def script(self, method: str, pages: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Let the server answer with these pages, each but the last with a cursor."""
        for number, page in enumerate(pages):
            body: dict[str, Any] = {"ok": True, "messages": list(page)}
            if number + 1 < len(pages):
                body["response_metadata"] = {"next_cursor": f"page{number + 1}"}
            self.sandbox.faults.add(Fault(kind="answer", method=method, body=body))

    def normal(self, raw: Mapping[str, Any]) -> Message:
        return normalise(raw, org="acme", channel=CHANNEL, me=self.me, tick="t")

    async def window(self, oldest: str | None = None) -> tuple[Message, ...]:
        return await self.client.read_window(CHANNEL, oldest=oldest, tick="t")

    async def thread(self, root: str, oldest: str | None = None) -> tuple[Message, ...]:
        return (await self.client.read_thread(CHANNEL, root, oldest=oldest, tick="t")).replies


Check = Callable[[Scene], Awaitable[None] | None]
CHECKS: dict[str, Check] = {}


def case(case_id: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        CHECKS[case_id] = check
        return check

    return register


@pytest.mark.parametrize("case_id", CASES)
async def test_case(case_id: str, sandbox: SlackSandbox, client: SlackClient, me: Identity) -> None:
    scene = Scene(case=CASES[case_id], sandbox=sandbox, client=client, me=me)
    outcome = CHECKS[case_id](scene)
    if inspect.isawaitable(outcome):
        await outcome


def sent(scene: Scene, method: str, name: str) -> list[object]:
    return [args.get(name) for called, args in scene.sandbox.requests if called == method]


def numbered(count: int) -> dict[str, dict[str, Any]]:
    """n0, n1 and so on, a second apart."""
    return {
        f"n{number}": {
            "type": "message",
            "user": PERSON,
            "text": f"n{number}",
            "ts": from_micros(1_796_000_000_000_000 + (number + 1) * 1_000_000),
        }
        for number in range(count)
    }


@case("ts-float-shift")
async def ts_float_shift(scene: Scene) -> None:
    as_float = repr(scene.given["cursor_stored"])
    with pytest.raises(ValueError, match="not ten digits"):
        await scene.window(as_float)
    with pytest.raises(ValueError, match="not ten digits"):
        await scene.thread("1796000000.100000", as_float)
    assert scene.sandbox.calls[HISTORY] == scene.sandbox.calls[REPLIES] == 0
    await scene.window("1796000000.100000")
    assert sent(scene, HISTORY, "oldest") == ["1796000000.100000"]

    def echoed(value: str) -> str:
        return from_micros(slack_ts({"oldest": value}, "oldest", error="invalid") or 0)

    assert echoed("1796000000.100000") == "1796000000.100000"
    assert echoed(as_float) == "1796000000.000001"
    assert echoed("1796000000.1234567") == "17960000001.234567"
    assert echoed("2026-11-01") == "0020261101.000000"


@case("ts-precision")
async def ts_precision(scene: Scene) -> None:
    stamps = [raw["ts"] for raw in scene.given["messages"]]
    for raw in reversed(scene.given["messages"]):
        scene.put(raw)
    messages = await scene.window()
    assert [message.ts for message in messages] == stamps
    assert len({message.key for message in messages}) == 3
    assert await scene.window(messages[-1].ts) == ()
    assert [message.ts for message in await scene.window(stamps[0])] == stamps[1:]


async def _pages_in_either_direction(scene: Scene) -> None:
    all_of_them = numbered(7)
    scene.script(HISTORY, [[all_of_them[name] for name in page] for page in scene.given["pages"]])
    messages = await scene.window("1796000000.000000")
    assert [message.text for message in messages] == list(all_of_them)


@case("oldest-only-pages-forward")
async def oldest_only_pages_forward(scene: Scene) -> None:
    await _pages_in_either_direction(scene)


@case("bounded-pages-backward")
async def bounded_pages_backward(scene: Scene) -> None:
    await _pages_in_either_direction(scene)
    for raw in numbered(7).values():
        scene.put(raw)
    scene.sandbox.faults.add(Fault(kind="error_before", method=HISTORY, match='"cursor"'))
    with pytest.raises(SlackUnavailable):
        await scene.window("1796000000.000000")
    messages = await scene.window("1796000000.000000")
    assert [message.text for message in messages] == list(numbered(7))


@case("late-reply")
async def late_reply(scene: Scene) -> None:
    root, reply = scene.given["replies"]
    for raw in (root, reply):
        scene.put(raw)
    assert await scene.window("1795000000.000000") == ()
    assert [one.text for one in await scene.thread(root["ts"], "1795000000.000000")] == ["late yes"]


@case("first-reply-on-old-unthreaded-message")
async def first_reply_on_old_unthreaded_message(scene: Scene) -> None:
    old, now = scene.given["old_message"], scene.given["now"]
    scene.put(old)
    (before,) = await scene.window(just_before(old["ts"]))
    assert before.thread is None
    scene.put({**old, "ts": now["latest_reply"], "thread_ts": old["ts"]})
    (after,) = await scene.window(just_before(old["ts"]))
    assert after.thread is not None
    assert (after.thread.reply_count, after.thread.latest_reply) == (1, now["latest_reply"])


@case("parent-on-continuation")
async def parent_on_continuation(scene: Scene) -> None:
    first = scene.given["page1"]
    root = first[0]["ts"]
    outputs = []
    for second in (scene.given["page2_a"], scene.given["page2_b"]):
        scene.script(REPLIES, [first, second])
        outputs.append(await scene.thread(root))
    assert outputs[0] == outputs[1]
    assert [one.ts for one in outputs[0]] == ["1790000001.000100", "1790000002.000100"]


@case("deleted-root-tombstone")
async def deleted_root_tombstone(scene: Scene) -> None:
    tombstone, reply = scene.given["replies"]
    told = scene.normal(tombstone)
    assert (told.change, told.version) == ("deleted", "deleted")
    assert not told.author.is_person
    root = scene.sandbox.workspace.say(
        CHANNEL, scene.sandbox.workspace.bot.id, "approve?", ts=tombstone["ts"]
    )
    scene.put(reply)
    scene.sandbox.workspace.delete(CHANNEL, root)
    thread = await scene.client.read_thread(CHANNEL, root, oldest=None, tick="t")
    assert thread.root is not None
    assert thread.root.change == "deleted"
    assert [one.text for one in thread.replies] == ["approve"]


@case("deleted-root-no-replies")
async def deleted_root_no_replies(scene: Scene) -> None:
    gone, other = (
        scene.put({"type": "message", "user": PERSON, "text": "x", "ts": f"179000000{n}.000100"})
        for n in range(2)
    )
    scene.sandbox.workspace.delete(CHANNEL, gone)
    with pytest.raises(ThreadGone) as caught:
        await scene.thread(gone)
    assert (caught.value.channel, caught.value.thread_ts) == (CHANNEL, gone)
    assert scene.sandbox.calls[REPLIES] == 1
    assert await scene.thread(other) == ()


@case("edited-reply")
async def edited_reply(scene: Scene) -> None:
    before, after = (scene.normal(scene.given[name]) for name in ("before", "after"))
    assert (before.change, after.change) == ("created", "edited")
    assert after.version == "1790000100.000000"
    assert before.key == after.key
    assert before.ce_id != after.ce_id
    root = "1790000000.000100"
    scene.put({"type": "message", "user": PERSON, "text": "root", "ts": root})
    reply = scene.put(scene.given["before"])
    scene.sandbox.workspace.edit(CHANNEL, reply, "yes, approve")
    assert await scene.thread(root, reply) == ()
    read = await scene.client.read_message(CHANNEL, reply, thread_ts=root, tick="t")
    assert read is not None
    assert (read.text, read.change) == ("yes, approve", "edited")
    assert [one.change for one in await scene.thread(root, just_before(reply))] == ["edited"]


@case("no-user-field")
def no_user_field(scene: Scene) -> None:
    author = scene.normal(scene.given["message"]).author
    assert (author.id, author.kind) == ("bot:B0HOOK", "bot")
    assert not author.is_person


@case("own-post")
def own_post(scene: Scene) -> None:
    raw = scene.given["message"]
    named = {"user": "U0LOOPBOT", "bot_id": "B0LOOP", "app_id": "A0LOOP"}
    bare = {name: value for name, value in raw.items() if name not in named}
    assert scene.normal(raw).author.is_self
    for name, value in named.items():
        assert scene.normal({**bare, name: value}).author.is_self, name
    other = {"user": "U0OTHER", "bot_id": "B0OTHER", "app_id": "A0OTHER"}
    for name, value in other.items():
        author = scene.normal({**bare, **other}).author
        assert not author.is_self, (name, value)
        assert not author.is_person


@case("unknown-user")
async def unknown_user(scene: Scene) -> None:
    scene.put(scene.given["message"])
    messages = await scene.client.identify(await scene.window())
    (author,) = [message.author for message in messages]
    assert (author.id, author.name, author.kind) == ("U0EXTERNAL", None, "external")
    assert scene.sandbox.calls["users.info"] == 1


@case("skin-tone")
def skin_tone(scene: Scene) -> None:
    votes = people(scene.given["reactions"], scene.me)
    assert votes == {("+1", "U0FOUNDER"), ("+1", "U0REVIEW")}


@case("reaction-removed")
def reaction_removed(scene: Scene) -> None:
    (removed,) = changes(
        scene.given["t0"],
        scene.given["t1"],
        org="acme",
        channel=CHANNEL,
        ts="1790000000.000100",
        me=scene.me,
        tick="t",
    )
    assert (removed.name, removed.user, removed.change) == (
        "white_check_mark",
        "U0FOUNDER",
        "removed",
    )


@case("bot-seeded-reactions")
def bot_seeded_reactions(scene: Scene) -> None:
    assert people(scene.given["reactions"], scene.me) == set()


@case("rate-limited")
async def rate_limited(scene: Scene) -> None:
    said = scene.given["headers"]["Retry-After"]
    root = scene.put({"type": "message", "user": PERSON, "text": "x", "ts": "1790000000.000100"})
    scene.sandbox.faults.add(Fault(kind="rate_limited", method=HISTORY, retry_after=said))
    with pytest.raises(RateLimited) as caught:
        await scene.window()
    assert (caught.value.method, caught.value.retry_after) == (HISTORY, 30.0)
    with pytest.raises(RateLimited) as again:
        await scene.window()
    assert 0 < again.value.retry_after <= 30.0
    assert scene.sandbox.calls[HISTORY] == 1
    assert await scene.thread(root) == ()


@case("post-duplicated")
async def post_duplicated(scene: Scene) -> None:
    action = PostMessage(channel=CHANNEL, text="approve?")
    scene.sandbox.faults.add(Fault(kind="drop_after", method="chat.postMessage"))
    with pytest.raises(PostAmbiguous):
        await scene.client.post(action, effect_id="e1")
    found = await scene.client.find_post(action, effect_id="e1", since=None)
    assert scene.sandbox.calls["chat.postMessage"] == 1
    (post,) = scene.sandbox.workspace.posts
    assert found is not None
    assert (found.ts, found.thread_ts) == (post.ts, None)


@case("archived")
async def archived(scene: Scene) -> None:
    scene.put({"type": "message", "user": PERSON, "text": "x", "ts": "1790000000.000100"})
    scene.sandbox.workspace.archive(CHANNEL)
    with pytest.raises(PostRefused) as caught:
        await scene.client.post(PostMessage(channel=CHANNEL, text="x"), effect_id="e1")
    assert caught.value.code == "is_archived"
    assert len(await scene.window()) == 1


@case("empty-cursor-and-missing-metadata")
async def empty_cursor_and_missing_metadata(scene: Scene) -> None:
    null = {"ok": True, "messages": [], "response_metadata": {"next_cursor": None}}
    for body in (scene.given["a"], scene.given["b"], null):
        scene.sandbox.faults.add(Fault(kind="answer", method=HISTORY, body=body))
        assert await scene.window() == ()
    assert scene.sandbox.calls[HISTORY] == 3


@case("never-ending-window")
async def never_ending_window(scene: Scene) -> None:
    for raw in numbered(7).values():
        scene.put(raw)
    await scene.window("1796000000.000000")
    latest = sent(scene, HISTORY, "latest")
    assert len(latest) == 3
    assert len(set(latest)) == 1
    # the next window's end is behind a cursor that Slack's clock set ahead of ours
    await scene.window("1950000000.000000")
    assert micros(str(sent(scene, HISTORY, "latest")[-1])) > micros("1950000000.000000")


@case("unicode")
async def unicode(scene: Scene) -> None:
    text = scene.given["text"]
    scene.sandbox.workspace.say(CHANNEL, PERSON, text)
    (message,) = await scene.window()
    assert message.text == text
    assert Message.model_validate_json(message.model_dump_json().encode()).text == text
    code_points = "👍" * 4_000
    await scene.client.post(PostMessage(channel=CHANNEL, text=code_points), effect_id="e1")
    assert scene.sandbox.workspace.posts[0].text == code_points
    with pytest.raises(ValidationError):
        PostMessage(channel=CHANNEL, text=code_points + "x")
