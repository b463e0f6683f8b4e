"""`--real` against servers that stand where the real ones would."""

from collections.abc import Iterator
from typing import Any

import pytest

from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.slack.sandbox import SlackSandbox
from sayso.demo.errors import DemoFailed
from sayso.demo.real import QUESTION, perform_real
from sayso.demo.stage import settings_file
from sayso.settings import WrongSettings

pytestmark = pytest.mark.kafka

CHANNEL = "C0REAL"
LEAD = "U0LEAD"


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackSandbox]:
    with SlackSandbox() as slack, ModelSandbox() as model:
        slack.workspace.add_user(LEAD, name="lead")
        slack.workspace.add_channel(CHANNEL)
        monkeypatch.setenv("SAYSO_SLACK__API_URL", slack.url)
        monkeypatch.setenv("SAYSO_MODEL__URL", model.url)
        monkeypatch.setenv("SLACK_BOT_TOKEN", slack.token)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-a-test")
        yield slack


def test_one_question_is_posted_and_its_answer_settled(
    stage: dict[str, Any], slack: SlackSandbox
) -> None:
    def answer(line: str) -> None:
        if line.startswith("posted as "):
            root = line.split()[2].rstrip(";")
            slack.workspace.say(CHANNEL, LEAD, "Set target_margin to 0.4.", thread_ts=root)

    report = perform_real(**stage | {"tell": answer}, channel=CHANNEL, wait=0.1)
    assert [(line.who, line.outcome) for line in report.messages] == [("lead", "processed")]
    assert next(line.after for line in report.fields if line.field == "target_margin") == 0.4
    assert [line.thread for line in report.confirmations] == ["question"]
    posts = [post.text for post in slack.workspace.posts]
    assert posts[0] == QUESTION
    assert len(posts) == 2
    written = settings_file(stage["folder"]).read_text()
    assert "https://slack.com/api/" in written
    assert "https://api.anthropic.com" in written
    assert slack.token not in written


def test_replies_that_wait_already_are_not_settled(
    stage: dict[str, Any], slack: SlackSandbox
) -> None:
    root = slack.workspace.say(CHANNEL, slack.workspace.bot.id, "Asked long ago")
    slack.workspace.say(CHANNEL, LEAD, "Set target_margin to 0.9.", thread_ts=root)
    with pytest.raises(DemoFailed, match="1 replies to the bot wait"):
        perform_real(**stage, channel=CHANNEL, wait=0.1)
    assert slack.calls["chat.postMessage"] == 0


def test_nothing_starts_without_a_token(
    stage: dict[str, Any], slack: SlackSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    with pytest.raises(WrongSettings, match="SLACK_BOT_TOKEN"):
        perform_real(**stage, channel=CHANNEL, wait=0.1)
    assert not slack.calls
