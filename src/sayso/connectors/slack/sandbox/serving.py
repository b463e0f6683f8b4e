"""A stored message as the Web API serves it, and text as Slack keeps it."""

import re
from typing import Final

from sayso.connectors.slack.sandbox.state import Channel, Stored
from sayso.schemas.ts import from_micros

_KEPT: Final = re.compile(
    r"&(?:amp|lt|gt);|<(?:[@#!][^<>\n]+|(?:https?://|mailto:)[^<>\s]+(?: [^<>\n]*)?)>"
)
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MOST_SHOWN: Final = 5
"""Repliers that a root names."""


def kept_text(text: str) -> str:
    """Text with `&`, `<` and `>` escaped, tokens and what is escaped already left alone."""
    pieces, end = [], 0
    for match in _KEPT.finditer(text):
        pieces += [_escaped(text[end : match.start()]), match.group()]
        end = match.end()
    return "".join([*pieces, _escaped(text[end:])])


def served(
    channel: Channel, message: Stored, *, with_metadata: bool = False, in_channel: bool = False
) -> dict[str, object]:
    """One message; `in_channel` is how history shows a broadcast, its root beside it."""
    raw = _tombstone(message) if message.tombstone else dict(message.raw)
    raw["ts"] = message.ts
    if message.root is not None:
        raw["thread_ts"] = from_micros(message.root)
        root = channel.messages.get(message.root)
        if root is not None:
            raw["parent_user_id"] = root.raw.get("user")
        if message.broadcast:
            raw["subtype"] = "thread_broadcast"
            if in_channel and root is not None:
                raw["root"] = served(channel, root)
    elif replies := channel.threads.get(message.micros):
        raw |= _thread(channel, message, replies)
    if message.reactions:
        raw["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)}
            for name, users in message.reactions.items()
        ]
    if with_metadata and message.metadata is not None and not message.tombstone:
        raw["metadata"] = message.metadata
    return raw


def _tombstone(message: Stored) -> dict[str, object]:
    return {
        "type": "message",
        "subtype": "tombstone",
        "user": "USLACKBOT",
        "text": "This message was deleted.",
        "hidden": True,
        "ts": message.ts,
    }


def _thread(channel: Channel, root: Stored, replies: list[int]) -> dict[str, object]:
    users: dict[object, None] = {}
    for reply in replies:
        raw = channel.messages[reply].raw
        users[raw.get("user") or raw.get("bot_id")] = None
    return {
        "thread_ts": root.ts,
        "reply_count": len(replies),
        "reply_users_count": len(users),
        "latest_reply": from_micros(replies[-1]),
        "reply_users": list(users)[:_MOST_SHOWN],
        "is_locked": False,
        "subscribed": False,
    }


def _escaped(text: str) -> str:
    return re.sub("[&<>]", lambda match: _ESCAPES[match.group()], text)
