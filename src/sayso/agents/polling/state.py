"""What is remembered of a channel and of each thread that is watched in it."""

from typing import Final

from pydantic import Field

from sayso.schemas.record import Part
from sayso.schemas.slack import Earlier
from sayso.schemas.tick import TickRead
from sayso.schemas.ts import Ts, just_before, micros

BEGINNING: Final = "0000000000.000000"
"""Before every message."""


class Progress(Part):
    """How far a channel or a thread is read and settled."""

    cursor: Ts
    """Everything up to here is settled. Reading goes on after it."""
    seen: Ts
    """Everything up to here is published."""
    outstanding: tuple[Ts, ...] = ()
    """Replies that are published and not settled; they hold the cursor."""
    edits: Ts = BEGINNING
    """The newest edit published."""
    gap: tuple[Ts, Ts] | None = None
    """What a rate limit left unread: messages between the two are not published yet."""

    def is_new(self, ts: Ts) -> bool:
        """True for a message that was not published yet."""
        at = micros(ts)
        if at > micros(self.seen):
            return True
        return self.gap is not None and micros(self.gap[0]) < at < micros(self.gap[1])

    def published(
        self, *, newest: Ts, edits: Ts, replies: tuple[Ts, ...], left: Ts | None = None
    ) -> "Progress":
        """After everything up to `newest` was published, `replies` of it to be settled.

        `left` is where reading was cut short: older messages are still to come.
        """
        return self._with(
            seen=max(self.seen, newest, key=micros),
            edits=max(self.edits, edits, key=micros),
            outstanding=tuple(sorted({*self.outstanding, *replies}, key=micros)),
            gap=self._gap(left),
        )

    def settled(self, ts: Ts) -> "Progress":
        """After one reply was settled."""
        return self._with(
            seen=self.seen,
            edits=self.edits,
            outstanding=tuple(one for one in self.outstanding if one != ts),
            gap=self.gap,
        )

    def _gap(self, left: Ts | None) -> tuple[Ts, Ts] | None:
        if left is None:
            return None
        start = self.gap[0] if self.gap is not None else self.seen
        return (start, left) if micros(start) < micros(left) else None

    @staticmethod
    def _with(
        *, seen: Ts, edits: Ts, outstanding: tuple[Ts, ...], gap: tuple[Ts, Ts] | None
    ) -> "Progress":
        # Slack leaves out a message stamped exactly at `oldest`, so a held cursor stands before it.
        edges = [seen, *map(just_before, outstanding[:1]), *(gap or ())[:1]]
        return Progress(
            cursor=min(edges, key=micros),
            seen=seen,
            outstanding=outstanding,
            edits=edits,
            gap=gap,
        )


class Watch(Part):
    """A thread we started and read replies from. Key: org/channel/thread."""

    schema_version: int = 1
    thread: Ts
    text: str
    """What we posted."""
    progress: Progress
    recent: tuple[Earlier, ...] = Field(default=(), max_length=10)
    """The newest messages of the thread, as context for the next."""


class ChannelState(Part):
    """One polled channel. Key: org/channel."""

    schema_version: int = 1
    progress: Progress = Progress(cursor=BEGINNING, seen=BEGINNING)
    roots: tuple[Ts, ...] = ()
    """Threads watched, oldest first."""
    sweep_to: Ts | None = None
    """Where a rate limit cut the reading of the channel short; older messages come next."""
    blocked_by: Ts | None = None
    """A reply whose row this build cannot read; nothing else is settled until it can."""
    ticks: tuple[str, ...] = Field(default=(), max_length=64)
    """Newest ticks done."""
    last_read: TickRead | None = None


def new_watch(thread: Ts, text: str) -> Watch:
    """A watch from the birth of its thread."""
    return Watch(thread=thread, text=text, progress=Progress(cursor=thread, seen=thread))
