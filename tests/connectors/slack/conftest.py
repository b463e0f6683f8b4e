"""A sandbox per test and a client that talks to it over HTTP through the real SDK."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic import SecretStr

from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.sandbox import SlackSandbox
from sayso.connectors.slack.settings import SlackSettings

CHANNEL = "C0SUGGEST"
PERSON = "U0FOUNDER"


@pytest.fixture
def sandbox() -> Iterator[SlackSandbox]:
    with SlackSandbox() as running:
        running.workspace.add_channel(CHANNEL)
        running.workspace.add_user(PERSON)
        yield running


@pytest.fixture
def settings_for() -> Callable[..., SlackSettings]:
    def make(sandbox: SlackSandbox, **changed: object) -> SlackSettings:
        given = {"api_url": sandbox.url, "calls_per_minute": 10_000, "timeout": 5.0}
        return SlackSettings.model_validate(given | changed)

    return make


@pytest.fixture
async def client(
    sandbox: SlackSandbox, settings_for: Callable[..., SlackSettings]
) -> AsyncIterator[SlackClient]:
    async with SlackClient(
        org="acme",
        token=SecretStr(sandbox.token),
        settings=settings_for(sandbox, page_size=3),
        # far beyond every ts of the cases, so that none is cut off as not yet written
        clock=lambda: 1_900_000_000.0,
    ) as opened:
        yield opened


@pytest.fixture
def me() -> Identity:
    return Identity(
        user_id="U0LOOPBOT", bot_id="B0LOOP", app_id="A0LOOP", team_id="T0SANDBOX", team="Sandbox"
    )
