"""Quoted words stand in the reply, whatever mrkdwn does to their looks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.agents.feedback.quote import is_quoted_from


@pytest.mark.parametrize(
    ("reply", "quote"),
    [
        ("cut it to 12", "cut it to 12"),
        ("please\ncut  it\tto 12", "cut it to 12"),
        ("margin &lt; 12 &amp; rising", "margin < 12 & rising"),
        ("margin &lt; 12", "margin &lt; 12"),
        ("*cut* _it_ to `12`", "cut it to 12"),
        ("don\u2019t \u201cship\u201d", 'don\'t "ship"'),
        ("see <https://example.com/a|the plan> now", "see the plan now"),
        ("ask <@U0LEAD> first", "ask <@U0LEAD> first"),
        ("set target_margin", "target_margin"),
        ("anything", ""),
    ],
)
def test_held(reply: str, quote: str) -> None:
    assert is_quoted_from(quote, reply)


@pytest.mark.parametrize(
    ("reply", "quote"),
    [
        ("cut it to 12", "cut it to 13"),
        ("cut it to 12", "cut to 12"),
        ("we disallow it", "we allow it"),
        ("", "yes"),
        ("a &amp;lt; b", "a &lt;&lt; b"),
    ],
)
def test_not_held(reply: str, quote: str) -> None:
    assert not is_quoted_from(quote, reply)


@given(st.text("ab <>&*_;lt\n", max_size=30))
def test_a_whole_reply_quotes_itself(text: str) -> None:
    assert is_quoted_from(text, text)
