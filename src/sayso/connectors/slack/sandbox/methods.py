"""The Web API's methods and the scopes they need."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sayso.connectors.slack.sandbox import directory, reading, writing
from sayso.connectors.slack.sandbox.arguments import Args, Refused, text
from sayso.connectors.slack.sandbox.state import Token, User
from sayso.connectors.slack.sandbox.workspace import Workspace

Method = Callable[[Workspace, User, Args], dict[str, object]]


@dataclass(frozen=True, kw_only=True)
class _Entry:
    run: Method
    scope: str | None
    private_scope: str | None = None
    """Needed instead in a private channel."""


METHODS: Final[Mapping[str, _Entry]] = {
    "auth.test": _Entry(run=directory.auth_test, scope=None),
    "bots.info": _Entry(run=directory.bots_info, scope="users:read"),
    "users.info": _Entry(run=directory.users_info, scope="users:read"),
    "users.list": _Entry(run=directory.users_list, scope="users:read"),
    "conversations.info": _Entry(
        run=directory.conversations_info, scope="channels:read", private_scope="groups:read"
    ),
    "conversations.list": _Entry(run=directory.conversations_list, scope="channels:read"),
    "conversations.history": _Entry(
        run=reading.history, scope="channels:history", private_scope="groups:history"
    ),
    "conversations.replies": _Entry(
        run=reading.replies, scope="channels:history", private_scope="groups:history"
    ),
    "chat.getPermalink": _Entry(run=reading.permalink, scope=None),
    "chat.postMessage": _Entry(run=writing.post, scope="chat:write"),
    "chat.update": _Entry(run=writing.update, scope="chat:write"),
    "chat.delete": _Entry(run=writing.delete, scope="chat:write"),
    "reactions.get": _Entry(run=reading.reactions, scope="reactions:read"),
    "reactions.add": _Entry(run=writing.add_reaction, scope="reactions:write"),
    "reactions.remove": _Entry(run=writing.remove_reaction, scope="reactions:write"),
}


def call(workspace: Workspace, name: str, token: Token | None, args: Args) -> dict[str, object]:
    """The answer to one call, `ok: false` included."""
    try:
        with workspace.lock:
            return {"ok": True} | _answer(workspace, name, token, args)
    except Refused as refusal:
        return {"ok": False, "error": refusal.code} | refusal.details


def _answer(workspace: Workspace, name: str, token: Token | None, args: Args) -> dict[str, object]:
    entry = METHODS.get(name)
    if entry is None:
        raise Refused("unknown_method", req_method=name)
    if token is None:
        raise Refused("invalid_auth")
    place = workspace.channels.get(text(args, "channel"))
    private = place is not None and place.private
    needed = entry.private_scope if private and entry.private_scope else entry.scope
    if needed is not None and needed not in token.scopes:
        raise Refused("missing_scope", needed=needed, provided=",".join(sorted(token.scopes)))
    return entry.run(workspace, workspace.users[token.user], args)
