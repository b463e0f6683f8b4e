"""What is read of a channel, and what reading it gives: the values that rules work on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sayso.agents.polling.state import Progress
from sayso.schemas.slack import Message
from sayso.schemas.ts import Ts, just_before, micros


class Addressing(Protocol):
    """How a message can name us or a post of ours."""

    def mentions(self, text: str) -> bool:
        """True when the text mentions our bot."""
        ...

    def linked(self, text: str) -> frozenset[Ts]:
        """The messages of this channel that the text links to."""
        ...


@dataclass(frozen=True, kw_only=True)
class Adjacency:
    """The setting that lets a message answer the post right before it."""

    enabled: bool
    window: float
    """Seconds."""


@dataclass(frozen=True, kw_only=True)
class Where:
    """The channel that is read, and the tick that reads it."""

    org: str
    channel: str
    tick: str


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """A stretch of a channel's history, both ends exclusive."""

    oldest: Ts
    latest: Ts | None = None
    """None for everything up to now."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """What was read of a channel's history: every message between the bounds.

    A message outside them may be there as what stands before the first.
    """

    messages: tuple[Message, ...]
    bounds: Bounds

    def covers(self, ts: Ts) -> bool:
        """True when a message of that ts would be among the messages."""
        latest = self.bounds.latest
        return micros(ts) > micros(self.bounds.oldest) and (
            latest is None or micros(ts) < micros(latest)
        )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one channel or thread has to publish."""

    replies: tuple[Message, ...] = ()
    """Answers to our posts, withdrawn ones included; each will be settled."""
    others: tuple[Message, ...] = ()
    newest: Ts
    edits: Ts


def bounds_to_read(
    progress: Progress, roots: Sequence[Ts], sweep_to: Ts | None
) -> tuple[Bounds, ...]:
    """Which stretches of the channel a tick reads, newest first.

    One reaches back to the oldest watched root, since history tells of every root whether its
    thread changed. Where the tick before was cut short, the new messages come first and then
    what was left.
    """
    floor = min((progress.cursor, *map(just_before, roots[:1])), key=micros)
    if sweep_to is None or micros(sweep_to) <= micros(floor):
        return (Bounds(oldest=floor),)
    # Our newest post is read again: what directly follows it may answer it.
    edges = (progress.seen, *map(just_before, (*roots[-1:], *progress.outstanding[:1])))
    return (
        Bounds(oldest=min(edges, key=micros)),
        Bounds(oldest=floor, latest=sweep_to),
    )
