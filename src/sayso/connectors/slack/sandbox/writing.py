"""Methods that change messages: chat.postMessage, update and delete, reactions.add and remove."""

import json
import re
from collections.abc import Mapping
from typing import Final

from sayso.connectors.slack.sandbox.arguments import Args, Refused, flag, message_ts, text
from sayso.connectors.slack.sandbox.reading import reacted_to, readable
from sayso.connectors.slack.sandbox.serving import served
from sayso.connectors.slack.sandbox.state import Channel, Stored, User
from sayso.connectors.slack.sandbox.workspace import Workspace
from sayso.schemas.ts import micros

_UPDATE_LIMIT: Final = 4_000
_EMOJI: Final = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


def post(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """A `thread_ts` that names nothing posts into the channel, and the answer says ok."""
    place = _writable(workspace, caller, args)
    words = text(args, "text")
    if not words and not args.get("blocks"):
        raise Refused("no_text")
    root = place.messages.get(message_ts(args, "thread_ts"))
    if root is not None and root.root is not None:
        root = place.messages.get(root.root)
    ts = workspace.say(
        place.id,
        caller.id,
        words,
        thread_ts=None if root is None else root.ts,
        broadcast=root is not None and flag(args, "reply_broadcast"),
        metadata=_metadata(args),
        through_api=True,
    )
    message = served(place, place.messages[micros(ts)], with_metadata=True)
    return {"channel": place.id, "ts": ts, "message": message}


def update(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Only the author may."""
    place = _writable(workspace, caller, args)
    message = _standing(place, args)
    if message.raw.get("user") != caller.id:
        raise Refused("cant_update_message")
    words = text(args, "text")
    if not words and not args.get("blocks"):
        raise Refused("no_text")
    if len(words) > _UPDATE_LIMIT:
        raise Refused("msg_too_long")
    workspace.edit(place.id, message.ts, words)
    metadata = _metadata(args)
    if metadata is not None:
        message.metadata = metadata
    return {
        "channel": place.id,
        "ts": message.ts,
        "text": message.raw["text"],
        "message": served(place, message),
    }


def delete(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Only the author may."""
    place = _writable(workspace, caller, args)
    message = _standing(place, args)
    if message.raw.get("user") != caller.id:
        raise Refused("cant_delete_message")
    workspace.delete(place.id, message.ts)
    return {"channel": place.id, "ts": message.ts}


def add_reaction(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Refuses colons, capitals, spaces and emoji characters as `invalid_name`."""
    place = _writable(workspace, caller, args, outside="channel_not_found")
    message = reacted_to(place, args)
    name = text(args, "name")
    if not _EMOJI.fullmatch(name):
        raise Refused("invalid_name")
    if caller.id in message.reactions.get(name, ()):
        raise Refused("already_reacted")
    workspace.react(place.id, message.ts, caller.id, name)
    return {}


def remove_reaction(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Removes the caller's own reaction only."""
    place = _writable(workspace, caller, args, outside="channel_not_found")
    message = reacted_to(place, args)
    name = text(args, "name")
    if caller.id not in message.reactions.get(name, ()):
        raise Refused("no_reaction")
    workspace.unreact(place.id, message.ts, caller.id, name)
    return {}


def _writable(
    workspace: Workspace, caller: User, args: Args, *, outside: str = "not_in_channel"
) -> Channel:
    place = readable(workspace, caller, args, outside=outside)
    if place.archived:
        raise Refused("is_archived")
    return place


def _standing(place: Channel, args: Args) -> Stored:
    message = place.messages.get(message_ts(args, "ts"))
    if message is None or message.tombstone:
        raise Refused("message_not_found")
    return message


def _metadata(args: Args) -> dict[str, object] | None:
    """JSON in a form, an object in JSON."""
    given = args.get("metadata")
    if isinstance(given, str):
        try:
            given = json.loads(given) if given else None
        except ValueError:
            raise Refused("invalid_metadata_format") from None
    if given is None:
        return None
    if not isinstance(given, Mapping) or not isinstance(given.get("event_type"), str):
        raise Refused("invalid_metadata_schema")
    return dict(given)
