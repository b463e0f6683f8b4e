"""Keyed tables: one frozen model per key, its changelog awaited by the delivery that wrote it."""

from typing import Any, Final, Generic, TypeVar

import faust

from sayso.schemas.record import Part
from sayso.streams.codec import decode, encode
from sayso.streams.delivery import current
from sayso.streams.errors import Poison, UnreadableState

M = TypeVar("M", bound=Part)

ROCKSDB_OPTIONS: Final = {
    # The defaults are 2 GiB of block cache and 192 MiB of write buffers per table and partition.
    "block_cache_size": 8 << 20,
    "write_buffer_size": 4 << 20,
    "max_write_buffer_number": 2,
    "max_open_files": 64,
}


class AwaitedTable(faust.Table[bytes, bytes]):
    """A Faust table whose changelog records can be awaited.

    Faust forgets the future of a changelog record, so nothing could wait until the state that an
    outside call rests on is on the broker.
    """

    def send_changelog(self, *args: Any, **kwargs: Any) -> Any:
        """Send one changelog record and keep its future for the delivery at hand."""
        future = super().send_changelog(*args, **kwargs)
        delivery = current.get()
        if delivery is not None:
            delivery.pending.append(future)
        return future


class ModelTable(Generic[M]):
    """A table of models by key. Keys are functions of the record being processed.

    Faust writes to the partition of that record, so a key that belongs to another partition would
    be lost on the wrong worker.
    """

    def __init__(self, app: faust.App, *, name: str, model: type[M]) -> None:
        self.name = name
        self._model = model
        self._table = app.Table(
            name,
            key_type=bytes,
            value_type=bytes,
            partitions=app.conf.topic_partitions,
            options=dict(ROCKSDB_OPTIONS),
        )

    def get(self, key: str) -> M | None:
        """The value of a key. Raises UnreadableState when this build cannot read it."""
        raw: bytes | None = self._table.get(key.encode())
        if raw is None:
            return None
        try:
            return decode(self._model, raw)
        except Poison as error:
            raise UnreadableState(f"{self.name} row {key}: {error}") from error

    def put(self, key: str, value: M) -> None:
        """Write a value: at once in RocksDB, on the broker when the delivery settles.

        Raises PartitionLost: what a delivery learned before a rebalance must not overwrite what
        the partition's new owner wrote since.
        """
        delivery = current.get()
        if delivery is not None:
            delivery.insist_mine()
        self._table[key.encode()] = encode(value)
