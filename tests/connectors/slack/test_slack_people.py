"""Who a person is, asked once a while."""

from typing import Any

import pytest
from pydantic import SecretStr

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import MissingScope, RateLimited
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.people import People, profile_of
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import WebApi
from sayso.schemas.slack import Message

CHANNEL = "C0SUGGEST"
ME = Identity(user_id="U0ME", bot_id="B0ME", app_id=None, team_id="T0", team="Sandbox")


async def read(client: SlackClient) -> tuple[Message, ...]:
    return await client.read_window(CHANNEL, oldest=None, tick="t")


async def test_each_kind_of_person(sandbox: SlackSandbox, client: SlackClient) -> None:
    workspace = sandbox.workspace
    kinds = ["member", "guest", "external", "hidden", "bot"]
    for kind in kinds:
        workspace.add_user(f"U0{kind.upper()}", kind=kind, name=kind)
        workspace.say(CHANNEL, f"U0{kind.upper()}", "yes")
    messages = await client.identify(await read(client))
    assert [(one.author.kind, one.author.name) for one in messages] == [
        ("member", "member"),
        ("guest", "guest"),
        ("external", "external"),
        ("external", None),
        ("app", None),
    ]
    assert sandbox.calls["users.info"] == 4


async def test_a_person_is_asked_for_once(sandbox: SlackSandbox, client: SlackClient) -> None:
    for _ in range(5):
        sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes")
    await client.identify(await read(client))
    await client.identify(await read(client))
    assert sandbox.calls["users.info"] == 1


async def test_a_profile_is_believed_for_a_while(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    clock = [0.0]
    sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes")
    messages = await read(client)
    settings = SlackSettings(api_url=sandbox.url)
    async with WebApi(token=SecretStr(sandbox.token), settings=settings) as web:
        people = People(web=web, clock=lambda: clock[0])
        me = await client.identity()
        kinds = []
        for clock[0] in (0.0, 899.0, 901.0):
            (one,) = await people.identify(messages, me=me)
            kinds.append(one.author.kind)
            sandbox.workspace.add_user("U0FOUNDER", kind="guest")
    assert kinds == ["member", "member", "guest"]


async def test_what_was_learned_before_a_rate_limit_is_kept(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    for number in range(3):
        sandbox.workspace.say(CHANNEL, sandbox.workspace.add_user(f"U0P{number}"), "yes")
    messages = await read(client)
    sandbox.faults.add(
        Fault(kind="rate_limited", method="users.info", match="U0P2", retry_after="0")
    )
    with pytest.raises(RateLimited):
        await client.identify(messages)
    assert all(one.author.kind == "member" for one in await client.identify(messages))
    assert sandbox.calls["users.info"] == 4


async def test_profiles_that_may_not_be_read_are_not_guessed(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    sandbox.workspace.say(CHANNEL, "U0FOUNDER", "yes")
    messages = await read(client)
    sandbox.workspace.add_token(
        sandbox.token, user=sandbox.workspace.bot.id, scopes=frozenset({"channels:history"})
    )
    with pytest.raises(MissingScope, match="users:read"):
        await client.identify(messages)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ({"team_id": "T0"}, "member"),
        ({}, "member"),
        ({"team_id": "T0", "is_restricted": True}, "guest"),
        ({"team_id": "T0", "is_restricted": True, "is_ultra_restricted": True}, "guest"),
        ({"team_id": "T0", "is_ultra_restricted": True}, "guest"),
        ({"team_id": "T1"}, "external"),
        ({"team_id": "T0", "is_stranger": True}, "external"),
        ({"team_id": "T1", "is_restricted": True}, "external"),
        ({"team_id": "E0", "enterprise_user": {"teams": ["T0"]}}, "member"),
        ({"team_id": "T0", "is_bot": True}, "bot"),
        ({"team_id": "T0", "is_workflow_bot": True}, "bot"),
    ],
)
def test_kinds_of_users(raw: dict[str, Any], kind: str) -> None:
    assert profile_of(raw, me=ME).kind == kind


def test_a_name_is_the_one_shown() -> None:
    named = {"name": "handle", "profile": {"display_name": "", "real_name": "Real Name"}}
    assert profile_of(named, me=ME).name == "Real Name"
    assert profile_of({}, me=ME).name is None
    assert len(profile_of({"name": "x" * 900}, me=ME).name or "") == 200
