"""What the thread is told pings nobody but who wrote, fits a message, and stays one line."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_replies import MEMBER, answer, at, conclusion, position, reply

from sayso.agents.feedback import rules
from sayso.agents.feedback.notices import clarification, confirmation
from sayso.agents.feedback.settings import FeedbackSettings
from sayso.connectors.slack.mrkdwn import links, mentions, plain
from sayso.schemas.effect import PostMessage
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.strategy import FieldChange

HOSTILE = "<!channel> <@U9> <!subteam^S1|us> <#C2> &lt;@U9&gt; <https://x.example|y> >\n* `\u2028"
PIECES = st.sampled_from(["<", ">", "&", "@", "!", "U9", "lt;", "amp;", "|", "\n", "`", "*", " "])
HOSTILE_TEXT = st.lists(PIECES, max_size=40).map("".join) | st.text(
    st.characters(codec="utf-8"), max_size=60
)
VALUE = (
    HOSTILE_TEXT
    | st.lists(HOSTILE_TEXT, max_size=4).map(tuple)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
CHANGES = st.lists(st.builds(FieldChange, field=HOSTILE_TEXT, value=VALUE), max_size=4).map(tuple)
TOKEN = re.compile(r"<[^<>]*>")


def settled(title: str, changes: tuple[FieldChange, ...]) -> FeedbackRow:
    found = rules.receive(
        None, reply(), position=position(1), at=at(0), settings=FeedbackSettings()
    )
    assert found is not None
    said = conclusion(title=title, changes=changes)
    return rules.answered(found.row, answer(), said, settings=FeedbackSettings())


@given(title=HOSTILE_TEXT, changes=CHANGES)
@example(title=HOSTILE, changes=(FieldChange(field=HOSTILE, value=(HOSTILE, HOSTILE)),))
@settings(max_examples=150, deadline=None)
def test_only_who_decided_is_named(title: str, changes: tuple[FieldChange, ...]) -> None:
    said = confirmation(settled(title, changes))
    # The author's own mention is the only token: neither a channel, a group nor a link is.
    assert TOKEN.findall(said) == [f"<@{MEMBER.id}>"]
    assert said.count("<") == said.count(">") == 1
    assert mentions(said, MEMBER.id)
    assert not links(said)
    assert len(said.splitlines()) == 1


@given(title=HOSTILE_TEXT, field=HOSTILE_TEXT, value=HOSTILE_TEXT)
@settings(max_examples=100, deadline=None)
def test_people_read_the_words_as_they_were(title: str, field: str, value: str) -> None:
    said = plain(confirmation(settled(title, (FieldChange(field=field, value=value),))))
    for words in (title, field, value):
        assert " ".join(words.split()) in said


def test_the_longest_conclusion_fits_one_message() -> None:
    longest = tuple(FieldChange(field="&" * 100, value=("&" * 4_000,) * 100) for _ in range(50))
    said = confirmation(settled("&" * 200, longest))
    assert len(said) < 4_000
    assert said.endswith(f"… (decided by <@{MEMBER.id}>)")
    PostMessage(channel="C1", text=said)


def test_a_confirmation_reads_as_a_sentence() -> None:
    changes = (
        FieldChange(field="target_margin", value=0.4),
        FieldChange(field="markets", value=("DE", "AT")),
    )
    assert confirmation(settled("Margin & markets", changes)) == (
        "Recorded: *Margin &amp; markets* — `target_margin` is now 0.4; "
        "`markets` is now DE, AT (decided by <@U1>)"
    )


def test_a_decision_without_changes_is_confirmed_by_its_title() -> None:
    assert confirmation(settled("We stay", ())) == "Recorded: *We stay* (decided by <@U1>)"


def test_the_question_asks_who_replied() -> None:
    asked = clarification(settled("Margin", ()))
    assert TOKEN.findall(asked) == ["<@U1>"]
    assert len(asked) < 300
