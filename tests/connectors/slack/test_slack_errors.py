"""Every way Slack can fail us, and the error that an operator gets for it."""

import socket
from collections.abc import Callable

import pytest
from pydantic import SecretStr

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import (
    CallRefused,
    ChannelUnreadable,
    MissingScope,
    PostAmbiguous,
    PostRefused,
    RateLimited,
    SlackDenied,
    SlackError,
    SlackMalformed,
    SlackUnavailable,
    ThreadGone,
)
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.effect import PostMessage

CHANNEL = "C0SUGGEST"
HISTORY = "conversations.history"
POST = "chat.postMessage"
ACTION = PostMessage(channel=CHANNEL, text="settled")

BROKEN = [
    pytest.param(Fault(kind="error_before", status=500), id="500"),
    pytest.param(Fault(kind="error_before", status=502), id="502"),
    pytest.param(Fault(kind="error_after", status=503), id="503 after acting"),
    pytest.param(Fault(kind="html", status=200), id="HTML"),
    pytest.param(Fault(kind="html", status=403), id="a proxy's page"),
    pytest.param(Fault(kind="empty"), id="empty body"),
    pytest.param(Fault(kind="null"), id="null"),
    pytest.param(Fault(kind="plain"), id="text/plain"),
    pytest.param(Fault(kind="truncated"), id="truncated JSON"),
    pytest.param(Fault(kind="cut"), id="cut off"),
    pytest.param(Fault(kind="drop_before", times=None), id="dropped"),
    pytest.param(Fault(kind="drop_after", times=None), id="dropped after acting"),
    pytest.param(Fault(kind="slow", delay=1.0), id="slow"),
    pytest.param(Fault(kind="answer", body={"ok": False}), id="ok:false without a code"),
    pytest.param(Fault(kind="answer", body={}), id="no ok"),
    pytest.param(Fault(kind="code", code="is_archived", status=500), id="500 with a code"),
    pytest.param(Fault(kind="code", code="fatal_error"), id="fatal_error"),
    pytest.param(Fault(kind="code", code="internal_error"), id="internal_error"),
    pytest.param(Fault(kind="code", code="service_unavailable"), id="service_unavailable"),
    pytest.param(Fault(kind="code", code="request_timeout"), id="request_timeout"),
    pytest.param(Fault(kind="code", code="never_heard_of"), id="an unknown code"),
]


@pytest.fixture
async def hasty(sandbox: SlackSandbox, settings_for: Callable[..., SlackSettings]) -> SlackClient:
    """A client that waits half a second for an answer."""
    return SlackClient(
        org="acme",
        token=SecretStr(sandbox.token),
        settings=settings_for(sandbox, timeout=0.5, max_pages=4),
    )


def only(fault: Fault, method: str) -> Fault:
    return Fault(**{**vars(fault), "method": method})


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_read_without_a_usable_answer_is_unavailable(
    sandbox: SlackSandbox, hasty: SlackClient, fault: Fault
) -> None:
    sandbox.faults.add(only(fault, HISTORY))
    with pytest.raises(SlackUnavailable) as caught:
        await hasty.read_window(CHANNEL, oldest=None, tick="t")
    assert caught.value.method == HISTORY
    sandbox.faults.clear()
    assert await hasty.read_window(CHANNEL, oldest=None, tick="t") == ()
    await hasty.close()


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_post_without_a_usable_answer_is_ambiguous_and_sent_once(
    sandbox: SlackSandbox, hasty: SlackClient, fault: Fault
) -> None:
    sandbox.faults.add(only(fault, POST))
    with pytest.raises(PostAmbiguous):
        await hasty.post(ACTION, effect_id="e1")
    assert sandbox.calls[POST] == 1
    found = await hasty.find_post(ACTION, effect_id="e1", since=None)
    assert (found is not None) == bool(sandbox.workspace.posts)
    await hasty.close()


async def test_a_server_that_is_not_there_leaves_nothing_ambiguous() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = SlackSettings(api_url=f"http://127.0.0.1:{port}/api/")
    async with SlackClient(org="acme", token=SecretStr("xoxb"), settings=settings) as client:
        with pytest.raises(SlackUnavailable):
            await client.identity()
        with pytest.raises(SlackUnavailable):
            await client.post(ACTION, effect_id="e1")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("invalid_auth", SlackDenied),
        ("not_authed", SlackDenied),
        ("token_revoked", SlackDenied),
        ("token_expired", SlackDenied),
        ("account_inactive", SlackDenied),
        ("missing_scope", MissingScope),
        ("not_allowed_token_type", MissingScope),
        ("no_permission", MissingScope),
        ("not_in_channel", ChannelUnreadable),
        ("channel_not_found", ChannelUnreadable),
        ("is_archived", ChannelUnreadable),
        ("method_not_supported_for_channel_type", ChannelUnreadable),
        ("invalid_ts_oldest", CallRefused),
        ("invalid_ts_latest", CallRefused),
        ("invalid_arguments", CallRefused),
        ("ratelimited", RateLimited),
        ("rate_limited", RateLimited),
    ],
)
async def test_codes_of_a_read(
    sandbox: SlackSandbox, client: SlackClient, code: str, expected: type[SlackError]
) -> None:
    sandbox.faults.add(Fault(kind="code", method=HISTORY, code=code))
    with pytest.raises(expected) as caught:
        await client.read_window(CHANNEL, oldest=None, tick="t")
    assert type(caught.value) is expected
    assert sandbox.calls[HISTORY] == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("is_archived", PostRefused),
        ("not_in_channel", PostRefused),
        ("channel_not_found", PostRefused),
        ("no_text", PostRefused),
        ("msg_too_long", PostRefused),
        ("metadata_too_large", PostRefused),
        ("restricted_action_thread_only_channel", PostRefused),
        ("invalid_blocks_format", PostRefused),
        ("cannot_reply_to_message", PostRefused),
        ("invalid_auth", SlackDenied),
        ("missing_scope", MissingScope),
        ("rate_limited", RateLimited),
        ("message_limit_exceeded", RateLimited),
    ],
)
async def test_codes_of_a_post(
    sandbox: SlackSandbox, client: SlackClient, code: str, expected: type[SlackError]
) -> None:
    sandbox.faults.add(Fault(kind="code", method=POST, code=code))
    with pytest.raises(expected) as caught:
        await client.post(ACTION, effect_id="e1")
    assert type(caught.value) is expected
    assert sandbox.workspace.posts == ()


async def test_a_token_that_lost_its_scope_names_it(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    assert await client.read_window(CHANNEL, oldest=None, tick="t") == ()
    kept = frozenset({"chat:write", "users:read"})
    sandbox.workspace.add_token(sandbox.token, user=sandbox.workspace.bot.id, scopes=kept)
    with pytest.raises(MissingScope, match="channels:history") as caught:
        await client.read_window(CHANNEL, oldest=None, tick="t")
    assert caught.value.needed == "channels:history"
    assert caught.value.provided == "chat:write,users:read"
    assert await client.scopes() == kept


async def test_a_token_that_is_not_accepted_is_never_shown(
    sandbox: SlackSandbox, settings_for: Callable[..., SlackSettings]
) -> None:
    secret = "xoxb-not-this-one"
    async with SlackClient(
        org="acme", token=SecretStr(secret), settings=settings_for(sandbox)
    ) as client:
        with pytest.raises(SlackDenied) as caught:
            await client.identity()
    error: BaseException | None = caught.value
    while error is not None:
        assert secret not in f"{error} {error!r} {vars(error)}"
        error = error.__cause__


@pytest.mark.parametrize("kind", ["endless", "repeating"])
async def test_a_window_that_never_ends(
    sandbox: SlackSandbox, hasty: SlackClient, kind: str
) -> None:
    sandbox.faults.add(Fault(kind=kind, method=HISTORY, times=None))
    with pytest.raises(SlackMalformed, match="did not end"):
        await hasty.read_window(CHANNEL, oldest=None, tick="t")
    assert sandbox.calls[HISTORY] == {"endless": 4, "repeating": 2}[kind]
    await hasty.close()


@pytest.mark.parametrize(
    "bad", ["1796000000.1", "1796000000", "", "17960000001.234567", "abc", "\uff11796000000.100000"]
)
async def test_a_ts_that_is_not_seconds_and_six_digits(
    sandbox: SlackSandbox, client: SlackClient, bad: str
) -> None:
    sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes")
    sandbox.faults.add(Fault(kind="bad_ts", method=HISTORY, code=bad))
    with pytest.raises(SlackMalformed, match="ten digits, a point and six digits"):
        await client.read_window(CHANNEL, oldest=None, tick="t")


@pytest.mark.parametrize(
    "body", [{"ok": True}, {"ok": True, "messages": None}, {"ok": True, "messages": ["x"]}]
)
async def test_an_answer_without_messages(
    sandbox: SlackSandbox, client: SlackClient, body: dict[str, object]
) -> None:
    sandbox.faults.add(Fault(kind="answer", method=HISTORY, body=body))
    with pytest.raises(SlackMalformed, match="no list of messages"):
        await client.read_window(CHANNEL, oldest=None, tick="t")


async def test_a_refused_page_cursor_starts_the_window_again(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    for number in range(5):
        sandbox.workspace.say(CHANNEL, "U0FOUNDER", str(number))
    sandbox.faults.add(Fault(kind="code", method=HISTORY, match='"cursor"', code="invalid_cursor"))
    messages = await client.read_window(CHANNEL, oldest=None, tick="t")
    assert [message.text for message in messages] == list("01234")


async def test_a_channel_we_are_not_in(sandbox: SlackSandbox, client: SlackClient) -> None:
    sandbox.workspace.add_channel("C0OTHER", joined=False)
    with pytest.raises(ChannelUnreadable) as caught:
        await client.read_window("C0OTHER", oldest=None, tick="t")
    assert (caught.value.code, caught.value.channel) == ("not_in_channel", "C0OTHER")
    with pytest.raises(ChannelUnreadable):
        await client.read_thread("C0OTHER", "1796000000.000100", oldest=None, tick="t")


async def test_a_thread_that_never_was(client: SlackClient) -> None:
    with pytest.raises(ThreadGone):
        await client.read_thread(CHANNEL, "1796000000.000100", oldest=None, tick="t")
    assert await client.read_message(CHANNEL, "1796000000.000100", tick="t") is None
