"""Methods that name things: auth.test, users, bots and channels."""

from collections.abc import Sequence
from typing import TypeVar

from sayso.connectors.slack.sandbox.arguments import Args, Refused, limit, text
from sayso.connectors.slack.sandbox.reading import readable
from sayso.connectors.slack.sandbox.state import Channel, User
from sayso.connectors.slack.sandbox.workspace import Workspace


def auth_test(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Who the token acts for."""
    answer: dict[str, object] = {
        "url": "https://sandbox.slack.invalid/",
        "team": "Sandbox",
        "team_id": workspace.team_id,
        "user": caller.name,
        "user_id": caller.id,
        "is_enterprise_install": False,
    }
    if caller.bot_id is not None:
        answer["bot_id"] = caller.bot_id
    return answer


def users_info(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """One user."""
    user = workspace.users.get(text(args, "user"))
    if user is None or user.kind == "hidden":
        raise Refused("user_not_found")
    return {"user": _user(workspace, user)}


def users_list(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Every user, in pages."""
    users = [user for user in workspace.users.values() if user.kind != "hidden"]
    page, cursor = _page(users, args)
    return {
        "members": [_user(workspace, user) for user in page],
        "response_metadata": {"next_cursor": cursor},
    }


def bots_info(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """One bot, with its app."""
    named = text(args, "bot")
    bot = next((user for user in workspace.users.values() if named and user.bot_id == named), None)
    if bot is None:
        raise Refused("bot_not_found")
    return {
        "bot": {
            "id": bot.bot_id,
            "deleted": False,
            "name": bot.name,
            "app_id": bot.app_id,
            "user_id": bot.id,
        }
    }


def conversations_info(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """One channel."""
    place = workspace.channels.get(text(args, "channel"))
    if place is not None and not place.private:
        return {"channel": _channel(place, caller)}
    return {"channel": _channel(readable(workspace, caller, args, outside=""), caller)}


def conversations_list(workspace: Workspace, caller: User, args: Args) -> dict[str, object]:
    """Every channel the caller may know of, in pages; the last has an empty cursor."""
    places = [
        place
        for place in workspace.channels.values()
        if (not place.private or caller.id in place.members)
        and not (place.archived and text(args, "exclude_archived").lower() in ("1", "true"))
    ]
    page, cursor = _page(places, args)
    return {
        "channels": [_channel(place, caller) for place in page],
        "response_metadata": {"next_cursor": cursor},
    }


_Item = TypeVar("_Item")


def _page(items: Sequence[_Item], args: Args) -> tuple[Sequence[_Item], str]:
    """One page and the cursor of the next, empty at the end."""
    given = text(args, "cursor")
    if given and not given.isdigit():
        raise Refused("invalid_cursor")
    start = int(given or 0)
    end = start + limit(args, default=100)
    return items[start:end], str(end) if end < len(items) else ""


def _user(workspace: Workspace, user: User) -> dict[str, object]:
    external = user.kind == "external"
    return {
        "id": user.id,
        "team_id": "T0OTHER" if external else workspace.team_id,
        "name": user.name,
        "deleted": False,
        "real_name": user.name,
        "is_bot": user.kind == "bot",
        "is_app_user": False,
        "is_restricted": user.kind == "guest",
        "is_ultra_restricted": False,
        "is_stranger": external,
        "profile": {"real_name": user.name, "display_name": user.name},
    }


def _channel(place: Channel, caller: User) -> dict[str, object]:
    return {
        "id": place.id,
        "name": place.name,
        "is_channel": not place.private,
        "is_group": place.private,
        "is_private": place.private,
        "is_archived": place.archived,
        "is_member": caller.id in place.members,
        "num_members": len(place.members),
    }
