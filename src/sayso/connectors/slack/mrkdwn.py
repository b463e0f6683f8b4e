"""Slack's mrkdwn: escaping what we post, reading what people wrote.

`&`, `<` and `>` arrive escaped and only those three, so a bare `<...>` is always a token. Tokens
are split off first and each piece is unescaped once, last: an escaped token stays text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

_TOKEN: Final = re.compile(r"<([^<>]*)>")
_BARE_LINK: Final = re.compile(r"https?://[^\s<>|]+")
_PERMALINK: Final = re.compile(r"/archives/([A-Z0-9]{2,})/p(\d{10})(\d{6})/?")
_TS: Final = re.compile(r"\d{10}\.\d{6}")


@dataclass(frozen=True, kw_only=True)
class Permalink:
    """A message that a text links to."""

    channel: str
    ts: str
    thread_ts: str | None
    """The root's ts, for a link to a reply."""


def escape(text: str) -> str:
    """Text of ours as Slack must be given it, so that nothing in it links or pings."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """The characters that Slack escapes, once: `&amp;lt;` is the four characters `&lt;`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def plain(text: str) -> str:
    """The text as a person reads it: tokens by their labels, links with their address."""
    return "".join(
        _shown(piece) if is_token else unescape(piece) for piece, is_token in _pieces(text)
    )


def mentions(text: str, user_id: str) -> bool:
    """True when the text mentions the user."""
    return any(
        is_token and piece.partition("|")[0] == f"@{user_id}" for piece, is_token in _pieces(text)
    )


def links(text: str) -> tuple[Permalink, ...]:
    """The messages that the text links to, in its order. A link's label does not count."""
    found = []
    for piece, is_token in _pieces(text):
        addresses = [piece.partition("|")[0]] if is_token else _BARE_LINK.findall(piece)
        found += [link for address in addresses if (link := _permalink(unescape(address)))]
    return tuple(found)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in order, each piece with whether it is the inside of a token."""
    for index, piece in enumerate(_TOKEN.split(text)):
        if piece:
            yield piece, index % 2 == 1


def _shown(token: str) -> str:
    target, _, label = token.partition("|")
    target, label = unescape(target), unescape(label)
    match target[:1]:
        case "@":
            return f"@{label.removeprefix('@') or target[1:]}"
        case "#":
            return f"#{label.removeprefix('#') or target[1:]}"
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:")
    return f"{label} ({address})" if label and label != address else address


def _permalink(address: str) -> Permalink | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not (where := _PERMALINK.fullmatch(parts.path)):
        return None
    channel, seconds, fraction = where.groups()
    root = parse_qs(parts.query).get("thread_ts", [""])[0]
    return Permalink(
        channel=channel,
        ts=f"{seconds}.{fraction}",
        thread_ts=root if _TS.fullmatch(root) else None,
    )
