"""The job on Quix Streams, in the way its documentation does it."""

import json
import sys

from quixstreams import Application, State
from quixstreams.models import TopicConfig

from job import COMMIT_SECONDS, INPUT, OUTPUT, PARTITIONS, STATUS, Order, end_with_starter


def main(bootstrap: str, prefix: str, folder: str) -> None:
    """Work until SIGTERM."""
    app = Application(
        broker_address=bootstrap,
        consumer_group=f"{prefix}quix",
        auto_offset_reset="earliest",
        commit_interval=COMMIT_SECONDS,
        state_dir=folder,
        processing_guarantee="at-least-once",
        loglevel="WARNING",
    )
    config = TopicConfig(num_partitions=PARTITIONS, replication_factor=1)
    names = {"value_deserializer": "bytes", "value_serializer": "bytes", "config": config}
    source = app.topic(prefix + INPUT, **names)
    output = app.topic(prefix + OUTPUT, **names)
    status = app.topic(prefix + STATUS, **names)

    def is_new(order: Order, state: State) -> bool:
        if state.get("seen") is not None:
            return False
        state.set("seen", 1)
        return True

    def accepted(order: Order) -> bytes:
        return json.dumps({"id": order.id, "total": order.amount * order.quantity}).encode()

    def stated(order: Order) -> bytes:
        total = order.amount * order.quantity
        return json.dumps({"id": order.id, "total": total, "state": "accepted"}).encode()

    fresh = app.dataframe(source).apply(Order.model_validate_json).filter(is_new, stateful=True)
    fresh.apply(accepted).to_topic(output)
    fresh.apply(stated).to_topic(status)
    app.run()


if __name__ == "__main__":
    end_with_starter()
    main(*sys.argv[1:4])
