"""Methods that read messages: conversations.history and replies, reactions.get, permalinks."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

from sayso.connectors.slack.sandbox.arguments import (
    Args,
    Refused,
    cursor_from,
    cursor_to,
    flag,
    limit,
    message_ts,
    slack_ts,
    text,
)
from sayso.connectors.slack.sandbox.serving import served
from sayso.connectors.slack.sandbox.state import Channel, Stored, User
from sayso.connectors.slack.sandbox.workspace import Workspace
from sayso.schemas.ts import from_micros

_HISTORY_DEFAULT: Final = 100
_REPLIES_DEFAULT: Final = 999


@dataclass(frozen=True, kw_only=True)
class _Window:
    oldest: int | None
    latest: int | None
    inclusive: bool

    def of(self, moments: list[int]) -> list[int]:
        """Those of the sorted moments that lie within."""
        after, before = (
            (bisect_left, bisect_right) if self.inclusive else (bisect_right, bisect_left)
        )
        start = 0 if self.oldest is None else after(moments, self.oldest)
        end = len(moments) if self.latest is None else before(moments, self.latest)
        return moments[start:end]


def history(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Newest first. Without `latest`, the pages begin at the oldest end; with it, at the newest."""
    place = readable(workspace, caller, args, outside="not_in_channel")
    window = _window(args)
    begin = cursor_from(args)
    moments = window.of(place.timeline)
    size = limit(args, default=_HISTORY_DEFAULT)
    if window.oldest is not None and window.latest is None:
        start = 0 if begin is None else bisect_left(moments, begin)
        page, rest = moments[start : start + size], moments[start + size : start + size + 1]
    else:
        end = len(moments) if begin is None else bisect_right(moments, begin)
        page, rest = moments[max(0, end - size) : end], moments[: max(0, end - size)][-1:]
    answer: dict[str, object] = {
        "messages": [
            served(
                place,
                place.messages[moment],
                with_metadata=flag(args, "include_all_metadata"),
                in_channel=True,
            )
            for moment in reversed(page)
        ],
        "has_more": bool(rest),
        "pin_count": 0,
        "channel_actions_ts": None,
        "channel_actions_count": 0,
    }
    for name, bound in (("oldest", window.oldest), ("latest", window.latest)):
        if bound is not None:
            answer[name] = from_micros(bound)
    if rest:
        answer["response_metadata"] = {"next_cursor": cursor_to(rest[0])}
    return answer


def replies(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Root first, then oldest first; the root counts towards the page. A reply names itself."""
    place = readable(workspace, caller, args, outside="channel_not_found")
    named = place.messages.get(message_ts(args, "ts"))
    if named is None:
        raise Refused("thread_not_found")
    metadata = flag(args, "include_all_metadata")
    # a reply has no thread of its own, so its ts serves it alone
    moments = _window(args).of(place.threads.get(named.micros, []))
    begin = cursor_from(args)
    start = 0 if begin is None else bisect_left(moments, begin)
    with_root = begin is None or workspace.root_on_every_page
    size = limit(args, default=_REPLIES_DEFAULT) - with_root
    if begin is not None:
        size = max(1, size)
    page = [place.messages[moment] for moment in moments[start : start + size]]
    return _thread_page(
        place,
        [named, *page] if with_root else page,
        rest=moments[start + size : start + size + 1],
        metadata=metadata,
    )


def reactions(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """The message with its reactions."""
    place = readable(workspace, caller, args, outside="channel_not_found")
    message = reacted_to(place, args)
    return {
        "type": "message",
        "channel": place.id,
        "message": served(place, message) | {"permalink": link_to(place, message)},
    }


def permalink(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """The address of a message."""
    place = readable(workspace, caller, args, outside="channel_not_found")
    message = place.messages.get(message_ts(args, "message_ts"))
    if message is None:
        raise Refused("message_not_found")
    return {"channel": place.id, "permalink": link_to(place, message)}


def readable(workspace: Workspace, caller: User, args: Args, *, outside: str) -> Channel:
    """The channel that the arguments name; `outside` is the code for a bot that is not in it."""
    place = workspace.channels.get(text(args, "channel"))
    if place is None:
        raise Refused("channel_not_found")
    if caller.id in place.members:
        return place
    if caller.kind != "bot" and not place.private:
        return place
    raise Refused("channel_not_found" if place.private else outside)


def reacted_to(place: Channel, args: Args) -> Stored:
    """The message of the `timestamp` argument."""
    if text(args, "timestamp") in ("", "0"):
        raise Refused("bad_timestamp")
    message = place.messages.get(message_ts(args, "timestamp"))
    if message is None:
        raise Refused("message_not_found")
    return message


def link_to(place: Channel, message: Stored) -> str:
    """The address of a message; the host does not exist."""
    link = f"https://sandbox.slack.invalid/archives/{place.id}/p{message.ts.replace('.', '')}"
    if message.root is None:
        return link
    return f"{link}?thread_ts={from_micros(message.root)}&cid={place.id}"


def _window(args: Args) -> _Window:
    latest = slack_ts(args, "latest", error="invalid_ts_latest")
    oldest = slack_ts(args, "oldest", error="invalid_ts_oldest")
    return _Window(oldest=oldest, latest=latest, inclusive=flag(args, "inclusive"))


def _thread_page(
    place: Channel, page: list[Stored], *, rest: list[int], metadata: bool
) -> dict[str, object]:
    answer: dict[str, object] = {
        "messages": [served(place, message, with_metadata=metadata) for message in page],
        "has_more": bool(rest),
    }
    if rest:
        answer["response_metadata"] = {"next_cursor": cursor_to(rest[0])}
    return answer
