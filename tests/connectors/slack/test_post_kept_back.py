"""A post that whoever asked for it takes back at the last moment."""

import pytest
from pydantic import SecretStr

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.schemas.effect import PostMessage


class TakenBack(Exception):
    pass


async def test_what_is_asked_last_comes_after_the_look_at_the_thread_and_before_the_post() -> None:
    with SlackSandbox() as slack:
        slack.workspace.add_channel("C1")
        root = slack.workspace.say("C1", slack.workspace.bot.id, "Shall we?")
        settings = SlackSettings(api_url=slack.url)
        client = SlackClient(org="acme", token=SecretStr(slack.token), settings=settings)
        calls_before: list[dict[str, int]] = []

        async def take_back() -> None:
            calls_before.append(dict(slack.calls))
            raise TakenBack

        action = PostMessage(channel="C1", text="Recorded", thread_ts=root)
        async with client:
            with pytest.raises(TakenBack):
                await client.post(action, effect_id="e1", before=take_back)

        assert calls_before[0]["conversations.replies"] == 1
        assert "chat.postMessage" not in slack.calls
        assert slack.workspace.posts == ()
