"""A raw Slack message as one of ours."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from sayso.connectors.slack.errors import SlackMalformed
from sayso.connectors.slack.identity import Identity
from sayso.schemas.slack import Author, AuthorKind, Message, ThreadSummary
from sayso.schemas.ts import checked_ts

_WHERE: Final = "message"
_SLACK_ITSELF: Final = "USLACKBOT"

PERSONAL_SUBTYPES: Final = frozenset({None, "thread_broadcast", "file_share", "me_message"})
"""Subtypes of what people write. Every other one is housekeeping or a machine's."""


def normalise(
    raw: Mapping[str, object], *, org: str, channel: str, me: Identity, tick: str
) -> Message:
    """One message. A person's author kind is `unknown` until they are identified.

    Raises SlackMalformed for a ts that is not ten digits, a point and six digits, and for
    whatever else a message cannot be.
    """
    deleted = raw.get("subtype") == "tombstone"
    edited_ts = None if deleted else _edited_ts(raw)
    try:
        return Message(
            org=org,
            channel=channel,
            ts=_ts(raw, "ts"),
            author=_author(raw, me),
            text=_clipped(raw, "text", 40_000) or "",
            change="deleted" if deleted else "edited" if edited_ts else "created",
            edited_ts=edited_ts,
            subtype=_clipped(raw, "subtype", 64),
            thread_ts=_optional_ts(raw, "thread_ts"),
            thread=_thread(raw),
            read_by=tick,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SlackMalformed(_WHERE, f"{place} cannot be read: {first['msg']}") from None


def _author(raw: Mapping[str, object], me: Identity) -> Author:
    user, bot, app = (_text(raw.get(name)) for name in ("user", "bot_id", "app_id"))
    subtype = _text(raw.get("subtype"))
    identity = user or (f"bot:{bot or app}" if bot or app else "system")
    if me.wrote(raw):
        return Author(id=identity, kind="app", is_self=True)
    # A bare bot id is also on what a person's token posts, so it leaves the author to be asked for.
    is_app = app is not None or isinstance(raw.get("bot_profile"), Mapping)
    machine = is_app or (user is None and bot is not None)
    return Author(
        id=identity, kind=_kind(user, machine, subtype), name=_clipped(raw, "username", 200)
    )


def _kind(user: str | None, machine: bool, subtype: str | None) -> AuthorKind:
    if user == _SLACK_ITSELF:
        return "system"
    if subtype == "bot_message":
        return "bot"
    if subtype not in PERSONAL_SUBTYPES:
        return "system"
    if machine:
        # with a user it may be a person's token, but nobody typed it
        return "app" if user else "bot"
    return "unknown" if user else "system"


def _thread(raw: Mapping[str, object]) -> ThreadSummary | None:
    count = raw.get("reply_count")
    latest = _optional_ts(raw, "latest_reply")
    if not isinstance(count, int) and latest is None:
        return None
    return ThreadSummary(reply_count=count if isinstance(count, int) else 0, latest_reply=latest)


def _edited_ts(raw: Mapping[str, object]) -> str | None:
    edited = raw.get("edited")
    return _optional_ts(edited, "ts") if isinstance(edited, Mapping) else None


def _optional_ts(raw: Mapping[str, object], name: str) -> str | None:
    return None if raw.get(name) in (None, "") else _ts(raw, name)


def _ts(raw: Mapping[str, object], name: str) -> str:
    value = raw.get(name)
    try:
        return checked_ts(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        raise SlackMalformed(_WHERE, f"{name}: {error}") from None


def _text(value: object) -> str | None:
    """Text that is there, without lone surrogates: JSON can carry them, UTF-8 cannot."""
    return value.encode(errors="replace").decode() if isinstance(value, str) and value else None


def _clipped(raw: Mapping[str, object], name: str, limit: int) -> str | None:
    """Text that is too long is cut: one message must not stop a scan."""
    value = _text(raw.get(name))
    return None if value is None else value[:limit]
