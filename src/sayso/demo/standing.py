"""What stands in Slack in the end, read from the server over its Web API."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, TypeVar

from pydantic import SecretStr

from sayso.connectors.slack.errors import SlackError
from sayso.connectors.slack.pages import read_pages
from sayso.connectors.slack.posts import EVENT_TYPE
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import WebApi
from sayso.demo.errors import DemoFailed

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """A message of ours in a thread."""

    thread: str
    """The root's ts."""
    ts: str
    effect: str | None
    """The effect that posted it, by the message's metadata."""
    text: str
    """As people read it, but for the tokens of mentions."""


def run_reading(reading: Coroutine[Any, Any, T]) -> T:
    """Run what reads Slack. Raises DemoFailed when Slack does not answer."""
    try:
        return asyncio.run(reading)
    except SlackError as error:
        raise DemoFailed(f"Slack cannot be read: {error}") from error


async def read_confirmations(
    threads: Iterable[str], *, channel: str, token: SecretStr, settings: SlackSettings
) -> tuple[Confirmation, ...]:
    """What the bot behind the token wrote into the threads. Raises SlackError."""
    found: list[Confirmation] = []
    async with WebApi(token=token, settings=settings) as web:
        me = (await web.read("auth.test")).get("user_id")
        for thread in threads:
            messages = await read_pages(
                web,
                "conversations.replies",
                settings=settings,
                channel=channel,
                ts=thread,
                include_all_metadata="true",
            )
            found += [
                Confirmation(
                    thread=thread,
                    ts=str(raw["ts"]),
                    effect=_effect(raw),
                    text=unescape(str(raw.get("text", ""))),
                )
                for raw in messages
                if raw.get("user") == me and raw.get("ts") != thread
            ]
    return tuple(found)


def _effect(raw: Mapping[str, object]) -> str | None:
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    named = payload.get("effect_id") if isinstance(payload, Mapping) else None
    return named if isinstance(named, str) else None
