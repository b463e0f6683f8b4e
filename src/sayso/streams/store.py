"""RocksDB behind a table, never ahead of the table's changelog.

What an agent puts is kept in memory until the broker has its changelog record, and only then
written, with the offset it was read up to. So a killed worker finds exactly the changelog's state,
and what it had put beyond that is put again by the record that is delivered again.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

import rocksdict
from faust.stores import rocksdb
from faust.types import TP

from sayso.streams.transport.sent import Sent

URL: Final = "sayso-rocksdb://"
OPTIONS: Final = {
    "driver": "rocksdict",
    # The defaults are 2 GiB of block cache and 192 MiB of write buffers per table and partition.
    "block_cache_size": 8 << 20,
    "write_buffer_size": 4 << 20,
    "max_write_buffer_number": 2,
    "max_open_files": 64,
}


class _Unwritten:
    """What was put into one partition and is not in RocksDB yet."""

    __slots__ = ("offset", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        """None for a key that was removed."""
        self.offset = -1
        """Of the newest changelog record that the broker has of them."""

    def delivered(self, sent: Sent, error: Any, message: Any) -> None:
        if error is None:
            self.offset = message.offset()
        sent.delivered(error, message)


class Store(rocksdb.Store):
    """Faust's RocksDB store, written in batches behind the changelog."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._newer: dict[int, _Unwritten] = {}
        self._older: dict[int, _Unwritten] = {}

    def read(self, partition: int, key: bytes) -> bytes | None:
        """The newest value of a key."""
        for unwritten in (self._newer, self._older):
            part = unwritten.get(partition)
            if part is not None and key in part.values:
                return part.values[key]
        stored: bytes | None = self._db_for_partition(partition).get(key)
        return stored

    def keys_of(self, partition: int) -> set[bytes]:
        """Every key of a partition that has a value; reads all of them."""
        found = set(self._visible_keys(self._db_for_partition(partition)))
        for unwritten in (self._older, self._newer):
            part = unwritten.get(partition)
            if part is not None:
                found |= part.values.keys()
                found -= {key for key, value in part.values.items() if value is None}
        return found

    def callback(self, partition: int, sent: Sent) -> Any:
        """The producer's callback for the changelog record of what is kept next."""
        return partial(self._unwritten(partition).delivered, sent)

    def keep(self, partition: int, key: bytes, value: bytes | None) -> None:
        """Remember a value, or a removal, whose changelog record is on its way."""
        self._unwritten(partition).values[key] = value

    def _unwritten(self, partition: int) -> _Unwritten:
        part = self._newer.get(partition)
        if part is None:
            part = self._newer[partition] = _Unwritten()
        return part

    def begin_write(self) -> None:
        """Set aside what was put so far; everything of it is on its way to the broker."""
        for partition, newer in self._newer.items():
            older = self._older.setdefault(partition, newer)
            if older is not newer:
                # The write before did not come to its end.
                older.values.update(newer.values)
        self._newer = {}

    def end_write(self) -> None:
        """Write what was set aside; the broker has all of it."""
        for partition, part in self._older.items():
            db = self._db_for_partition(partition)
            batch = rocksdict.WriteBatch(raw_mode=True)
            for key, value in part.values.items():
                if value is None:
                    batch.delete(key)
                else:
                    batch.put(key, value)
            batch.put(self.offset_key, str(part.offset).encode())
            db.write(batch)
        self._older = {}

    def apply_changelog_batch(self, batch: Iterable[Any], to_key: Any, to_value: Any) -> None:
        """Write fetches of the changelog, as recovery reads them."""
        for event in batch:
            message = event.message
            changes = rocksdict.WriteBatch(raw_mode=True)
            for record in message.value.records:
                if record.value is None:
                    changes.delete(record.key)
                else:
                    changes.put(record.key, record.value)
            changes.put(self.offset_key, str(message.offset).encode())
            self._db_for_partition(message.partition).write(changes)

    async def on_rebalance(
        self,
        assigned: set[TP],
        revoked: set[TP],
        newly_assigned: set[TP],
        generation_id: int = 0,
    ) -> None:
        """Forget what is not written: recovery reads it from the changelog, if it is there."""
        self._newer, self._older = {}, {}
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    def _set(self, key: bytes, value: bytes | None) -> None:
        raise TypeError("write through ModelTable.put, which counts the changelog record")

    def _del(self, key: bytes) -> None:
        raise TypeError("remove through ModelTable.remove, which counts the changelog record")
