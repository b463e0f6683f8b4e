"""Raw messages as ours."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.connectors.slack.errors import SlackMalformed
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.normalise import normalise
from sayso.schemas.slack import Message

TS = "1796000000.000100"
ME = Identity(user_id="U0ME", bot_id="B0ME", app_id="A0ME", team_id="T0", team="Sandbox")


def normal(me: Identity = ME, **raw: Any) -> Message:
    return normalise(
        {"type": "message", "ts": TS, "text": "x"} | raw,
        org="acme",
        channel="C0SUGGEST",
        me=me,
        tick="t1",
    )


@pytest.mark.parametrize("subtype", [None, "thread_broadcast", "file_share", "me_message"])
def test_what_people_write(subtype: str | None) -> None:
    author = normal(user="U0LEAD", subtype=subtype).author
    assert (author.id, author.kind, author.is_person) == ("U0LEAD", "unknown", True)


@pytest.mark.parametrize(
    "subtype",
    [
        "channel_join",
        "channel_leave",
        "channel_topic",
        "channel_purpose",
        "channel_name",
        "channel_archive",
        "channel_unarchive",
        "channel_posting_permissions",
        "group_join",
        "huddle_thread",
        "reminder_add",
        "pinned_item",
        "bot_add",
        "bot_remove",
        "ekm_access_denied",
        "tombstone",
        "one_that_is_not_invented_yet",
    ],
)
def test_housekeeping_is_nobody(subtype: str) -> None:
    assert normal(user="U0LEAD", subtype=subtype).author.kind == "system"


@pytest.mark.parametrize(
    ("raw", "identity", "kind"),
    [
        ({"user": "U0LEAD", "bot_id": "B0X", "app_id": "A0X"}, "U0LEAD", "app"),
        ({"user": "U0LEAD", "app_id": "A0X"}, "U0LEAD", "app"),
        ({"user": "U0LEAD", "bot_id": "B0X", "bot_profile": {"id": "B0X"}}, "U0LEAD", "app"),
        ({"bot_id": "B0X"}, "bot:B0X", "bot"),
        ({"bot_id": "B0X", "subtype": "bot_message"}, "bot:B0X", "bot"),
        ({"subtype": "bot_message"}, "system", "bot"),
        ({"user": "USLACKBOT"}, "USLACKBOT", "system"),
        ({"subtype": "file_comment"}, "system", "system"),
        ({"user": None, "subtype": "huddle_thread"}, "system", "system"),
        ({}, "system", "system"),
    ],
)
def test_who_is_no_person(raw: dict[str, Any], identity: str, kind: str) -> None:
    author = normal(**raw).author
    assert (author.id, author.kind, author.is_person, author.is_self) == (
        identity,
        kind,
        False,
        False,
    )


def test_a_bot_id_alone_leaves_open_who_wrote() -> None:
    author = normal(user="U0LEAD", bot_id="B0X").author
    assert (author.id, author.kind, author.is_person) == ("U0LEAD", "unknown", True)


def test_ids_that_we_do_not_have_match_nothing() -> None:
    bare = Identity(user_id="U0ME", bot_id=None, app_id=None, team_id="T0", team="Sandbox")
    assert not normal(me=bare, user="U0LEAD", bot_id=None, app_id=None).author.is_self
    assert normal(me=bare, user="U0ME").author.is_self


def test_a_thread_root_tells_of_its_replies() -> None:
    root = normal(user="U0LEAD", thread_ts=TS, reply_count=2, latest_reply="1796000009.000100")
    assert root.thread is not None
    assert (root.thread.reply_count, root.thread.latest_reply) == (2, "1796000009.000100")
    assert not root.is_reply
    assert normal(user="U0LEAD", thread_ts="1795000000.000100").is_reply
    assert normal(user="U0LEAD", thread_ts="").thread_ts is None


def test_a_tombstone_is_a_deletion_even_when_it_was_edited() -> None:
    edited = {"user": "U0LEAD", "ts": "1796000001.000000"}
    message = normal(user="USLACKBOT", subtype="tombstone", edited=edited)
    assert (message.change, message.edited_ts, message.version) == ("deleted", None, "deleted")


def test_text_is_kept_as_served_and_cut_at_the_limit() -> None:
    assert normal(user="U0LEAD", text="a &lt;b&gt; &amp;").text == "a &lt;b&gt; &amp;"
    assert len(normal(user="U0LEAD", text="é" * 50_000).text) == 40_000
    assert normal(user="U0LEAD", text=None).text == ""
    assert normal(user="U0LEAD", text="half \ud83d").text == "half ?"
    assert normal(bot_id="B0X", username="x" * 300, subtype="y" * 300).author.id == "bot:B0X"


@pytest.mark.parametrize("name", ["ts", "thread_ts", "latest_reply"])
@pytest.mark.parametrize("bad", [1796000000.1, 1796000000, "1796000000.1", "yesterday", True, []])
def test_every_ts_is_checked(name: str, bad: object) -> None:
    with pytest.raises(SlackMalformed, match=name):
        normal(user="U0LEAD", **{name: bad})


def test_the_ts_of_an_edit_is_checked() -> None:
    with pytest.raises(SlackMalformed):
        normal(user="U0LEAD", edited={"ts": "now"})


def test_a_refusal_does_not_hold_the_text() -> None:
    with pytest.raises(SlackMalformed) as caught:
        normal(user="U" * 65, text="a secret plan")
    assert "id cannot be read" in str(caught.value)
    assert "secret" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        "user",
        "bot_id",
        "app_id",
        "subtype",
        "text",
        "edited",
        "reply_count",
        "username",
        "thread_ts",
    ]
)


@given(st.dictionaries(FIELDS, JSON))
def test_whatever_is_served_is_a_message_or_malformed(raw: dict[str, Any]) -> None:
    try:
        message = normal(**raw)
    except SlackMalformed:
        return
    assert Message.model_validate_json(message.model_dump_json()) == message
