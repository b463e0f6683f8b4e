"""Whether each org's Slack token is accepted, may do what we do, and sees the channel."""

import time
from collections.abc import Iterator

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import (
    ChannelUnreadable,
    MissingScope,
    RateLimited,
    SlackDenied,
    SlackError,
    SlackUnavailable,
)
from sayso.doctor.finding import Finding, failed, ok, warning
from sayso.schemas.ts import from_micros
from sayso.settings import OrgSettings, Settings, WrongSettings

NEEDED = {
    "channels:history": "conversations.history and conversations.replies",
    "chat:write": "chat.postMessage",
    "users:read": "users.info and bots.info",
}
"""The least scopes, each with the methods called with it; auth.test needs none."""
_PRIVATE = "groups:history"
"""Instead of channels:history, for a private channel."""
_LONGEST = 15.0
"""Seconds one call may take here, whatever `slack.timeout` says: somebody is waiting."""


async def check_slack(settings: Settings, org: str) -> tuple[Finding, ...]:
    """Token, scopes and channel of one org; only reads."""
    check = f"slack {org}"
    try:
        token = settings.slack_token(org)
    except WrongSettings as error:
        what, _, mend = str(error).partition(": ")
        return (failed(check, what, mend or None),)
    shorter = min(settings.slack.timeout, _LONGEST)
    slack = settings.slack.model_copy(update={"timeout": shorter})
    async with SlackClient(org=org, token=token, settings=slack) as client:
        try:
            me = await client.identity()
            scopes = await client.scopes()
        except SlackError as error:
            return (_refused(check, error, settings),)
        accepted = ok(check, f"the token is accepted in {me.team} ({me.team_id}) as {me.user_id}")
        found = [accepted, *_scopes(check, scopes)]
        found.append(await _channel(check, client, settings.orgs[org], settings))
    return tuple(found)


def _scopes(check: str, scopes: frozenset[str]) -> Iterator[Finding]:
    if not scopes:
        yield warning(check, "the server does not say which scopes the token has")
        return
    missing = {name: use for name, use in NEEDED.items() if name not in scopes}
    if _PRIVATE in scopes:
        missing.pop("channels:history", None)
    for name, use in missing.items():
        yield failed(
            check,
            f"the token lacks the scope {name}, needed for {use}",
            "add it to the app under OAuth & Permissions and install the app again",
        )
    if not missing:
        spare = sorted(scopes - {*NEEDED, _PRIVATE})
        unused = f"; not used: {', '.join(spare)}" if spare else ""
        yield ok(check, f"the token has the scopes needed{unused}")


async def _channel(
    check: str, client: SlackClient, section: OrgSettings, settings: Settings
) -> Finding:
    channel = section.suggestions_channel
    if channel is None:
        return warning(check, "no suggestions channel is named, so none was read")
    just_now = from_micros(time.time_ns() // 1_000 - 1_000_000)
    try:
        await client.read_window(channel, oldest=just_now, tick="doctor")
    except SlackError as error:
        return _refused(check, error, settings)
    return ok(check, f"the suggestions channel {channel} can be read")


def _refused(check: str, error: SlackError, settings: Settings) -> Finding:
    if isinstance(error, RateLimited):
        return warning(check, str(error), "wait, then look again; see what else uses the app")
    if isinstance(error, SlackDenied):
        mend = "set the bot token (xoxb-...) that the app's installation page shows"
    elif isinstance(error, MissingScope):
        mend = "add the scope under OAuth & Permissions and install the app again"
    elif isinstance(error, ChannelUnreadable):
        mend = (
            f"invite the bot to {error.channel}, or correct the id in "
            "orchestrator.autoGoalChannelID.suggestions"
        )
    elif isinstance(error, SlackUnavailable):
        mend = f"check the network, and slack.api_url, which is {settings.slack.api_url}"
    else:
        mend = "see whether slack.api_url leads to a server that speaks the Web API"
    return failed(check, str(error), mend)
