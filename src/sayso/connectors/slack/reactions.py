"""Reactions as people's votes, and what changed between two polls.

Slack serves who reacted now, never when: a reaction added and removed between two polls is not
seen.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sayso.connectors.slack.identity import Identity
from sayso.schemas.slack import Reaction

RawReactions = Sequence[Mapping[str, object]] | None
"""A message's `reactions` as Slack serves them: `[{name, users, count}]`, or absent."""

_SKIN_TONE: Final = re.compile(r"::skin-tone-[2-6]")
_ALIASES: Final = {"thumbsup": "+1", "thumbsdown": "-1"}


def canonical(name: str, *, aliases: Mapping[str, str] | None = None) -> str:
    """The name without colons and skin tone, aliases resolved: `+1`, never `thumbsup`.

    `aliases` are the workspace's own, from custom emoji to the name they stand for.
    """
    bare = _SKIN_TONE.sub("", name.strip()).strip(":").lower()
    bare = (aliases or {}).get(bare, bare)
    return _ALIASES.get(bare, bare)


def people(reactions: RawReactions, me: Identity) -> set[tuple[str, str]]:
    """Pairs of reaction and user, our own left out. One person in two skin tones is one pair."""
    return {pair for pair in _pairs(reactions) if pair[1] not in (me.user_id, me.bot_id)}


def changes(
    before: RawReactions,
    after: RawReactions,
    *,
    org: str,
    channel: str,
    ts: str,
    me: Identity,
    tick: str,
) -> list[Reaction]:
    """What was added and removed between two polls of one message, in a fixed order.

    Slack may leave users out of a long list while its count stays right; somebody missing from
    such a list did not remove their reaction.
    """
    then, now = _pairs(before), _pairs(after)
    cut = _incomplete(after)
    removed = {pair for pair in then - now if pair[0] not in cut}

    def seen(pairs: Iterable[tuple[str, str]], *, added: bool) -> list[Reaction]:
        return [
            Reaction(
                org=org,
                channel=channel,
                ts=ts,
                name=name,
                user=user,
                is_self=user in (me.user_id, me.bot_id),
                change="added" if added else "removed",
                read_by=tick,
            )
            for name, user in sorted(pairs)
        ]

    return seen(now - then, added=True) + seen(removed, added=False)


def _pairs(reactions: RawReactions) -> set[tuple[str, str]]:
    return {
        (canonical(str(reaction.get("name", ""))), user)
        for reaction in reactions or ()
        for user in _users(reaction)
    }


def _incomplete(reactions: RawReactions) -> set[str]:
    cut = set()
    for reaction in reactions or ():
        count = reaction.get("count")
        if isinstance(count, int) and count > len(_users(reaction)):
            cut.add(canonical(str(reaction.get("name", ""))))
    return cut


def _users(reaction: Mapping[str, object]) -> list[str]:
    users = reaction.get("users")
    return [user for user in users if isinstance(user, str)] if isinstance(users, list) else []
