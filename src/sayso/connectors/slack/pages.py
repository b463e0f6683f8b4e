"""The pages of one window of messages.

Slack pages a window with `latest` from its newest end and one without from its oldest, which
nobody documented, so nothing here depends on the direction: a window is read whole, then sorted.
Only a window that a rate limit cuts short is given in part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sayso.connectors.slack.errors import RateLimited, SlackMalformed, WindowLost
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import WebApi

Raw = Mapping[str, object]
"""One message as Slack serves it."""


@dataclass(frozen=True, kw_only=True)
class Pages:
    """What was read of a window."""

    found: list[Raw]
    """In the order served, repeats included."""
    limited: RateLimited | None = None
    """What cut the window short after its first page; None when it was read whole."""


async def read_pages(
    web: WebApi, method: str, *, settings: SlackSettings, **args: str | None
) -> list[Raw]:
    """Every message of the window, in the order served, repeats included.

    A cursor that Slack gave and then refuses starts the window again, once. Raises SlackError;
    SlackMalformed for a window that does not end.
    """
    pages = await read_some_pages(web, method, settings=settings, **args)
    if pages.limited is not None:
        raise pages.limited
    return pages.found


async def read_some_pages(
    web: WebApi, method: str, *, settings: SlackSettings, **args: str | None
) -> Pages:
    """The same, but a rate limit after the first page gives what was read until then."""
    try:
        return await _read_once(web, method, settings=settings, args=args)
    except WindowLost:
        return await _read_once(web, method, settings=settings, args=args)


async def _read_once(
    web: WebApi, method: str, *, settings: SlackSettings, args: Mapping[str, str | None]
) -> Pages:
    found: list[Raw] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(settings.max_pages):
        try:
            answer = await web.read(method, **args, limit=str(settings.page_size), cursor=cursor)
        except RateLimited as error:
            if not found:
                raise
            return Pages(found=found, limited=error)
        found += _messages(method, answer)
        cursor = _next_cursor(answer)
        if cursor is None:
            return Pages(found=found)
        if cursor in seen:
            raise SlackMalformed(method, "the window did not end: Slack repeated a page cursor")
        seen.add(cursor)
    raise SlackMalformed(method, f"the window did not end within {settings.max_pages} pages")


def _messages(method: str, answer: Mapping[str, object]) -> list[Raw]:
    messages = answer.get("messages")
    if not isinstance(messages, list) or not all(isinstance(raw, dict) for raw in messages):
        raise SlackMalformed(method, "the answer has no list of messages")
    return messages


def _next_cursor(answer: Mapping[str, object]) -> str | None:
    """None at the end: absent, null and empty all mean it, and `has_more` is not asked."""
    metadata = answer.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, Mapping) else None
    return cursor if isinstance(cursor, str) and cursor else None
