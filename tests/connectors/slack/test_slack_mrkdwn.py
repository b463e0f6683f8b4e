"""mrkdwn: what we post cannot ping, what people wrote is read once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.connectors.slack.mrkdwn import Permalink, escape, links, mentions, plain
from sayso.connectors.slack.sandbox.serving import kept_text

LINK = "https://acme.slack.com/archives/C0SUGGEST/p1796000000000100"


@given(st.text())
def test_escaped_text_is_read_back_exactly(text: str) -> None:
    assert plain(escape(text)) == text


@given(st.text(alphabet="<>&@!|#UC0;altgmp channelhere"))
def test_escaped_text_has_no_token_in_it(text: str) -> None:
    escaped = escape(text)
    assert "<" not in escaped
    assert ">" not in escaped
    assert kept_text(escaped) == escaped


@pytest.mark.parametrize(
    ("served", "read"),
    [
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;", "&lt;"),
        ("&lt;@U0LEAD&gt;", "<@U0LEAD>"),
        ("<@U0LEAD>", "@U0LEAD"),
        ("<@U0LEAD|lead>", "@lead"),
        ("<#C0SUGGEST|suggestions>", "#suggestions"),
        ("<#C0SUGGEST|>", "#C0SUGGEST"),
        ("<!here>", "@here"),
        ("<!channel>", "@channel"),
        ("<!subteam^S0|@owners>", "@owners"),
        ("<!date^1796000000^{date}|30 Nov>", "30 Nov"),
        ("<https://example.com/?a=1&amp;b=2>", "https://example.com/?a=1&b=2"),
        ("<https://example.com|here &amp; there>", "here & there (https://example.com)"),
        ("<mailto:a@example.com|a@example.com>", "a@example.com"),
        ("one <@U0LEAD> two", "one @U0LEAD two"),
        ("", ""),
    ],
)
def test_plain(served: str, read: str) -> None:
    assert plain(served) == read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<@U0ME> yes", True),
        ("yes <@U0ME|sayso>", True),
        ("<@U0MEMBER> yes", False),
        ("&lt;@U0ME&gt; yes", False),
        ("@U0ME yes", False),
        ("<https://example.com|@U0ME>", False),
    ],
)
def test_mentions(text: str, *, expected: bool) -> None:
    assert mentions(text, "U0ME") is expected


def test_links_name_channel_ts_and_thread() -> None:
    reply = f"{LINK}?thread_ts=1795000000.000100&amp;cid=C0SUGGEST"
    assert links(f"as <{LINK}|said> and <{reply}> and {LINK}") == (
        Permalink(channel="C0SUGGEST", ts="1796000000.000100", thread_ts=None),
        Permalink(channel="C0SUGGEST", ts="1796000000.000100", thread_ts="1795000000.000100"),
        Permalink(channel="C0SUGGEST", ts="1796000000.000100", thread_ts=None),
    )


@pytest.mark.parametrize(
    "text",
    [
        f"<https://example.com|{LINK}>",
        "<https://acme.slack.com/archives/C0SUGGEST>",
        "<https://acme.slack.com/archives/C0SUGGEST/p179600000000010>",
        "<https://[broken/archives/C0SUGGEST/p1796000000000100>",
        "<ftp://acme.slack.com/archives/C0SUGGEST/p1796000000000100>",
    ],
)
def test_what_is_no_link_to_a_message(text: str) -> None:
    assert links(text) == ()


@given(st.text())
def test_reading_never_fails(text: str) -> None:
    plain(text)
    links(text)
    mentions(text, "U0ME")
