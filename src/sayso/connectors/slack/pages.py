"""All pages of one window of messages.

Slack pages a window with `latest` from its newest end and one without from its oldest, which
nobody documented, so nothing here depends on the direction: a window is read whole, then sorted.
"""

from collections.abc import Mapping

from sayso.connectors.slack.errors import SlackMalformed, WindowLost
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import WebApi

Raw = Mapping[str, object]
"""One message as Slack serves it."""


async def read_pages(
    web: WebApi, method: str, *, settings: SlackSettings, **args: str | None
) -> list[Raw]:
    """Every message of the window, in the order served, repeats included.

    A cursor that Slack gave and then refuses starts the window again, once. Raises SlackError;
    SlackMalformed for a window that does not end.
    """
    try:
        return await _read_once(web, method, settings=settings, args=args)
    except WindowLost:
        return await _read_once(web, method, settings=settings, args=args)


async def _read_once(
    web: WebApi, method: str, *, settings: SlackSettings, args: Mapping[str, str | None]
) -> list[Raw]:
    found: list[Raw] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(settings.max_pages):
        answer = await web.read(method, **args, limit=str(settings.page_size), cursor=cursor)
        found += _messages(method, answer)
        cursor = _next_cursor(answer)
        if cursor is None:
            return found
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
