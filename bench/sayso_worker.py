"""The job on Sayso's own app: its codec, error wrapper, tables and deliveries."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import ClassVar

import uvloop

from job import INPUT, OUTPUT, PARTITIONS, STATUS, Order, end_with_starter
from sayso.schemas.record import Part, Record
from sayso.schemas.topics import BY_NAME, TopicSpec
from sayso.streams.app import Pipeline, create_app
from sayso.streams.delivery import Delivery
from sayso.streams.settings import KafkaSettings, WorkerSettings
from sayso.streams.tables import ModelTable


class Seen(Part):
    """What the table remembers of a key."""

    offset: int


class Accepted(Record):
    """The output."""

    ce_type: ClassVar[str] = "bench.accepted"

    id: str
    total: float

    @property
    def key(self) -> str:
        return self.id

    @property
    def ce_id(self) -> str:
        return self.id


class State(Accepted):
    """The status."""

    ce_type: ClassVar[str] = "bench.state"

    state: str = "accepted"


SPECS = (
    TopicSpec(name=INPUT, model=Order, key="id", about=""),
    TopicSpec(name=OUTPUT, model=Accepted, key="id", about=""),
    TopicSpec(name=STATUS, model=State, key="id", about=""),
    BY_NAME["dead"],
)


async def run(bootstrap: str, prefix: str, folder: Path) -> None:
    """Work until SIGTERM."""
    kafka = KafkaSettings(bootstrap=bootstrap, prefix=prefix, partitions=PARTITIONS)
    app = create_app(kafka, data_dir=folder)
    pipeline = Pipeline(app=app, kafka=kafka, worker=WorkerSettings(), specs=SPECS)
    table = ModelTable(app, name="seen", model=Seen)

    async def accept(order: Order, delivery: Delivery) -> None:
        if table.get(order.id) is not None:
            return
        table.put(order.id, Seen(offset=delivery.position.offset))
        total = order.amount * order.quantity
        await delivery.emit(OUTPUT, Accepted(id=order.id, total=total))
        await delivery.emit(STATUS, State(id=order.id, total=total))

    pipeline.consume(INPUT, Order, accept, name="bench.accept")
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    await app.start()
    await stopping.wait()
    await app.stop()


if __name__ == "__main__":
    end_with_starter()
    uvloop.run(run(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
