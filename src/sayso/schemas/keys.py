"""Record keys: parts joined by a slash, the org always first.

A part never holds a slash or a control character and is at most 255 characters long, so a key is
split in one way only.
"""

import re

_PART = re.compile(r"[^/\x00-\x1f\x7f]{1,255}")


def key(*parts: str) -> str:
    """Join key parts; raise ValueError naming the part that cannot be one."""
    for part in parts:
        if not _PART.fullmatch(part):
            raise ValueError(f"key part {part[:60]!r} is empty, too long or holds a slash")
    return "/".join(parts)


def key_parts(value: str) -> tuple[str, ...]:
    """The parts of a key."""
    return tuple(value.split("/"))


def channel_key(org: str, channel: str) -> str:
    """Key of ticks, tick results, and of effects whose target is a Slack channel."""
    return key(org, channel)


def message_key(org: str, channel: str, ts: str) -> str:
    """Key of a message, of its reactions and of its feedback row."""
    return key(org, channel, ts)


def decision_key(org: str, decision_id: str) -> str:
    """Key of a decision."""
    return key(org, decision_id)


def field_key(org: str, field: str) -> str:
    """Key of a strategic field's current value."""
    return key(org, field)


def status_key(org: str, kind: str, item: str) -> str:
    """Key of the latest status of a candidate, proposal, task or feedback row."""
    return key(org, kind, item)
