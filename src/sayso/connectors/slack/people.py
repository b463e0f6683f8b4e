"""What kind of person wrote a message, asked once per person and a while."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sayso.connectors.slack.errors import SlackMalformed, UserGone
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.web import WebApi
from sayso.schemas.slack import AuthorKind, Message

_TTL: Final = 900.0
"""Seconds a profile is believed: rights that were taken away count soon after."""
_MOST_PROFILES: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What Slack says about a user."""

    kind: AuthorKind
    name: str | None


class People:
    """Profiles of one workspace's users."""

    def __init__(self, *, web: WebApi, clock: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._clock = clock
        self._known: dict[str, tuple[float, Profile]] = {}

    async def identify(self, messages: Sequence[Message], *, me: Identity) -> tuple[Message, ...]:
        """The messages with the kind and name of each person filled in, in the same order.

        Only authors that are persons of unknown kind are looked up. Raises SlackError; what was
        learned before it is kept, so that the next call goes further.
        """
        return tuple([await self._identify(message, me) for message in messages])

    async def _identify(self, message: Message, me: Identity) -> Message:
        author = message.author
        if author.is_self or author.kind != "unknown":
            return message
        profile = await self._profile(author.id, me)
        filled = author.model_copy(update={"kind": profile.kind, "name": profile.name})
        return message.model_copy(update={"author": filled})

    async def _profile(self, user: str, me: Identity) -> Profile:
        now = self._clock()
        held = self._known.get(user)
        if held is not None and held[0] > now:
            return held[1]
        profile = await self._ask(user, me)
        self._known.pop(user, None)
        if len(self._known) >= _MOST_PROFILES:
            self._known.pop(next(iter(self._known)))
        self._known[user] = (now + _TTL, profile)
        return profile

    async def _ask(self, user: str, me: Identity) -> Profile:
        try:
            answer = await self._web.read("users.info", user=user)
        except UserGone:
            # people of a connected workspace may be unknown to ours
            return Profile(kind="external", name=None)
        raw = answer.get("user")
        if not isinstance(raw, Mapping):
            raise SlackMalformed("users.info", "the answer has no user")
        return profile_of(raw, me=me)


def profile_of(raw: Mapping[str, object], *, me: Identity) -> Profile:
    """A raw user object as a profile."""
    profile = raw.get("profile")
    shown = profile if isinstance(profile, Mapping) else {}
    names = (
        shown.get("display_name"),
        shown.get("real_name"),
        raw.get("real_name"),
        raw.get("name"),
    )
    name = next((value for value in names if isinstance(value, str) and value), None)
    return Profile(kind=_kind(raw, me), name=None if name is None else name[:200])


def _kind(raw: Mapping[str, object], me: Identity) -> AuthorKind:
    if raw.get("is_bot") or raw.get("is_workflow_bot"):
        return "bot"
    if raw.get("is_stranger") or not _belongs(raw, me.team_id):
        return "external"
    if raw.get("is_restricted") or raw.get("is_ultra_restricted"):
        return "guest"
    return "member"


def _belongs(raw: Mapping[str, object], team_id: str) -> bool:
    """True for a user of our workspace; in an Enterprise organisation it is one of several."""
    enterprise = raw.get("enterprise_user")
    teams = enterprise.get("teams") if isinstance(enterprise, Mapping) else None
    if isinstance(teams, list) and team_id in teams:
        return True
    return raw.get("team_id") in (None, "", team_id)
