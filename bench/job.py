"""The job that both engines do, and what it has to come to.

Read a JSON record, validate it with pydantic, look its key up in a keyed RocksDB table with a
changelog, and drop it when it was there. Else remember it and write one output and one status
record. At least once, offsets committed every second, one worker process, the same broker.
"""

import os
import random
import threading
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

PARTITIONS = 4
COMMIT_SECONDS = 1.0
COPIES = 0.1
"""Share of records that are copies of an earlier one."""
INPUT, OUTPUT, STATUS = "bench.input", "bench.output", "bench.status"


class Order(BaseModel):
    """The input: about 200 bytes of JSON."""

    model_config = ConfigDict(frozen=True)

    id: str
    org: str
    amount: float
    quantity: int
    note: str
    tags: tuple[str, ...]


def orders(count: int, *, seed: int = 1) -> Iterator[Order]:
    """`count` orders, some of them twice; the same ones for a seed."""
    chance = random.Random(seed)
    for number in range(count):
        name = number
        if number and chance.random() < COPIES:
            name = chance.randrange(number)
        yield Order(
            id=f"order-{name:09d}",
            org="acme",
            amount=name * 1.25,
            quantity=name % 17,
            note="a note of some length, as people write them " + "x" * 40,
            tags=("first", "second"),
        )


def expected(count: int) -> set[str]:
    """Ids that have to come out, each at least once."""
    return {order.id for order in orders(count)}


def end_with_starter() -> None:
    """End this process when the one that started it is gone, however that went.

    Standard input is a pipe from it, which closes with its other end.
    """

    def watch() -> None:
        while os.read(0, 1_024):
            continue
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
