"""Which offsets may be committed: everything before the first message that is not acknowledged."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from faust.types import TP


@dataclass(eq=False, slots=True)
class _Partition:
    waiting: deque[Any] = field(default_factory=deque)
    """Messages handed out, oldest first."""
    next: int | None = None
    """The offset after the last message of which everything before is acknowledged."""


class Ledger:
    """Messages handed out per partition, in order.

    Faust lists acknowledged offsets and searches them for gaps, which compaction and whole fetches
    are full of. What was handed out in order needs no search.
    """

    def __init__(self) -> None:
        self._partitions: dict[TP, _Partition] = {}

    def hand_out(self, message: Any) -> None:
        """Take note of a message before anybody gets it."""
        self._partitions.setdefault(message.tp, _Partition()).waiting.append(message)

    def acknowledge(self, tp: TP) -> None:
        """Move on past the messages at the front that say `acked`."""
        partition = self._partitions.get(tp)
        if partition is None:
            # Handed out before a rebalance: whoever owns the partition now gets it again.
            return
        waiting = partition.waiting
        while waiting and waiting[0].acked:
            partition.next = waiting.popleft().offset + 1

    def committable(self, tp: TP) -> int | None:
        """The offset to commit, which is that of the next message; None while there is none."""
        partition = self._partitions.get(tp)
        if partition is None:
            return None
        if partition.waiting:
            settled: int | None = partition.waiting[0].value.settled
            if settled is not None:
                return settled + 1
        return partition.next

    def is_waiting(self, tp: TP) -> bool:
        """True while something handed out is not acknowledged."""
        partition = self._partitions.get(tp)
        return partition is not None and bool(partition.waiting)

    def forget(self, tps: Iterable[TP]) -> None:
        """Drop partitions that were taken away."""
        for tp in tps:
            self._partitions.pop(tp, None)

    def __iter__(self) -> Iterator[TP]:
        return iter(tuple(self._partitions))
