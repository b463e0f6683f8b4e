"""Later records of a key wait in order behind one that died.

A record that died of an unknown error holds its key: what comes later for the key is set aside on
`parked` until an operator has the dead record taken up again, or dropped, and then those that
wait, each in its turn. All of it comes back on the topic it first came on, with a header that says
its place.
"""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

import faust

from sayso.schemas.parked import ParkedKey, Requeued
from sayso.streams.codec import decode
from sayso.streams.delivery import Delivery
from sayso.streams.tables import ModelTable
from sayso.streams.topics import PARKED_KEYS

REQUEUED: Final = "sayso_requeued"
"""Header of a record that was put back, a `Requeued` as JSON; the first of its headers."""

_MAX_HEADER: Final = 1_024


class Turn(Enum):
    """What is to be done with a record of a key."""

    PROCESS = auto()
    """Nothing holds it."""
    RELEASE = auto()
    """The key is held and this record is the next in turn."""
    WAIT = auto()
    """It is to wait."""
    PASS = auto()
    """It was taken up before, or is not in turn and waits already."""


def turn_of(held: ParkedKey | None, offset: int, place: Requeued | None) -> Turn:
    """Whose turn it is. `offset` is where the record stands, `place` what its header says."""
    if held is None:
        # A copy of what waited is done; a dead record may be one that never held its key.
        return Turn.PASS if place is not None and place.after is not None else Turn.PROCESS
    if place is not None and place.dead == held.dead:
        return Turn.RELEASE if place.after == held.done else Turn.PASS
    if place is not None and place.after is not None:
        return Turn.PASS
    if offset < held.dead:
        return Turn.PROCESS
    if offset == held.dead:
        return Turn.RELEASE if held.done is None else Turn.PASS
    return Turn.PASS if held.done is not None and offset <= held.done else Turn.WAIT


def place_of(headers: Sequence[tuple[str, bytes]]) -> Requeued | None:
    """What the header of a record that was put back says. Raises Poison for one that is broken."""
    if not headers or headers[0][0] != REQUEUED:
        return None
    return decode(Requeued, headers[0][1], max_bytes=_MAX_HEADER)


class Parking:
    """The keys that each agent holds.

    Which rows there are is remembered, since almost always there is none and every record asks.
    """

    def __init__(self, app: faust.App) -> None:
        self._keys = ModelTable(app, name=PARKED_KEYS, model=ParkedKey)
        self._rows: dict[int, tuple[int | None, set[str]]] = {}
        """By partition: the generation in which they were read, and they."""

    def held(self, agent: str, delivery: Delivery) -> ParkedKey | None:
        """What holds the record's key; None for a key that is free, and without a key."""
        if not self._rows_of(delivery) or delivery.record.key is None:
            return None
        return self._keys.get(_row(agent, delivery))

    def hold(self, agent: str, delivery: Delivery, place: Requeued | None) -> None:
        """Hold the key of a record that died."""
        if delivery.record.key is None:
            return
        row = _row(agent, delivery)
        offset = delivery.record.offset if place is None else place.offset
        held = self._keys.get(row)
        last = offset if held is None else max(held.last, offset)
        self._keys.put(row, ParkedKey(topic=delivery.record.topic, dead=offset, last=last))
        self._rows_of(delivery).add(row)

    def wait(self, agent: str, delivery: Delivery, held: ParkedKey) -> None:
        """Count a record that waits."""
        if delivery.record.offset > held.last:
            waits = held.model_copy(update={"last": delivery.record.offset})
            self._keys.put(_row(agent, delivery), waits)

    def release(self, agent: str, delivery: Delivery, place: Requeued | None) -> None:
        """Note that a record was taken up in its turn; the last one frees the key."""
        row = _row(agent, delivery)
        held = self._keys.get(row)
        if held is None:
            return
        offset = held.dead if place is None else place.offset
        if offset >= held.last:
            self._keys.remove(row)
            self._rows_of(delivery).discard(row)
        else:
            self._keys.put(row, held.model_copy(update={"done": offset}))

    def _rows_of(self, delivery: Delivery) -> set[str]:
        generation, rows = self._rows.get(delivery.partition, (None, None))
        if rows is None or generation != delivery.generation:
            rows = self._keys.keys()
            self._rows[delivery.partition] = delivery.generation, rows
        return rows


def _row(agent: str, delivery: Delivery) -> str:
    return f"{agent}/{delivery.record.key.decode('utf-8', 'backslashreplace')}"
