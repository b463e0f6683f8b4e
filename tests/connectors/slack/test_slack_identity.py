"""Who we are, whatever the server tells of it."""

import pytest

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import SlackMalformed, SlackUnavailable
from sayso.connectors.slack.sandbox import Fault, SlackSandbox
from sayso.connectors.slack.sandbox.state import ALL_SCOPES


async def test_all_three_ids_asked_once(sandbox: SlackSandbox, client: SlackClient) -> None:
    bot = sandbox.workspace.bot
    me = await client.identity()
    assert await client.identity() is me
    assert (me.user_id, me.bot_id, me.app_id) == (bot.id, bot.bot_id, bot.app_id)
    assert (me.team_id, me.team) == ("T0SANDBOX", "Sandbox")
    assert client.calls == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="code", method="bots.info", code="unknown_method"),
        Fault(kind="code", method="bots.info", code="bot_not_found"),
        Fault(kind="error_before", method="bots.info", status=404),
        Fault(kind="answer", method="bots.info", body={"ok": True}),
    ],
    ids=["unknown method", "unknown bot", "not found", "no bot"],
)
async def test_an_app_id_that_cannot_be_had_is_done_without(
    sandbox: SlackSandbox, client: SlackClient, fault: Fault
) -> None:
    sandbox.faults.add(fault)
    me = await client.identity()
    assert (me.bot_id, me.app_id) == (sandbox.workspace.bot.bot_id, None)


async def test_a_token_without_users_read_knows_two_ids(
    sandbox: SlackSandbox, client: SlackClient
) -> None:
    kept = ALL_SCOPES - {"users:read"}
    sandbox.workspace.add_token(sandbox.token, user=sandbox.workspace.bot.id, scopes=kept)
    assert (await client.identity()).app_id is None


async def test_what_passes_is_not_remembered(sandbox: SlackSandbox, client: SlackClient) -> None:
    sandbox.faults.add(Fault(kind="error_before", method="bots.info"))
    with pytest.raises(SlackUnavailable):
        await client.identity()
    assert (await client.identity()).app_id == sandbox.workspace.bot.app_id


async def test_an_answer_that_names_nobody(sandbox: SlackSandbox, client: SlackClient) -> None:
    sandbox.faults.add(Fault(kind="answer", method="auth.test", body={"ok": True}))
    with pytest.raises(SlackMalformed):
        await client.identity()
