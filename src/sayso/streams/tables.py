"""Keyed tables: one frozen model per key."""

from typing import Final, Generic, TypeVar, cast

import faust

from sayso.schemas.record import Part
from sayso.streams.codec import decode, encode
from sayso.streams.delivery import current
from sayso.streams.errors import Poison, UnreadableState
from sayso.streams.store import OPTIONS, Store
from sayso.streams.topics import changelog_name
from sayso.streams.transport.fetch import FetchSchema
from sayso.streams.transport.producer import CountingProducer

M = TypeVar("M", bound=Part)

_RECOVERY_FETCHES: Final = 2
"""Fetches that recovery collects before it writes them; one would read the changelog for ever."""


class ModelTable(Generic[M]):
    """A table of models by key. Keys are functions of the record being processed.

    Faust gives a table the partition of that record, so a key that belongs to another partition
    would be lost on the wrong worker.
    """

    def __init__(self, app: faust.App, *, name: str, model: type[M]) -> None:
        self.name = name
        self._app = app
        self._model = model
        self._table = app.Table(
            name,
            key_type=bytes,
            value_type=bytes,
            schema=FetchSchema(),
            partitions=app.conf.topic_partitions,
            recovery_buffer_size=_RECOVERY_FETCHES,
            options=dict(OPTIONS),
        )
        self._changelog = changelog_name(app.conf.id, name)

    def get(self, key: str) -> M | None:
        """The value of a key. Raises UnreadableState when this build cannot read it."""
        raw = self._store.read(current.get().partition, key.encode())
        if raw is None:
            return None
        try:
            return decode(self._model, raw)
        except Poison as error:
            raise UnreadableState(f"{self.name} row {key}: {error}") from error

    def keys(self) -> set[str]:
        """Every key of the partition of the record being processed; reads all of them."""
        return {key.decode() for key in self._store.keys_of(current.get().partition)}

    def put(self, key: str, value: M) -> None:
        """Write a value: seen by the next `get`, on the broker when the delivery settles.

        Raises PartitionLost: what a delivery learned before a rebalance must not overwrite what
        the partition's new owner wrote since. Raises NotDelivered for a value that is too large.
        """
        self._write(key, encode(value))

    def remove(self, key: str) -> None:
        """Remove a key, if it is there. Raises as `put` does."""
        self._write(key, None)

    def _write(self, key: str, raw: bytes | None) -> None:
        delivery = current.get()
        delivery.insist_mine()
        raw_key = key.encode()
        partition = delivery.partition
        store, sent = self._store, delivery.sent
        self._producer.produce(
            self._changelog,
            raw_key,
            raw,
            partition=partition,
            delivered=store.callback(partition, sent),
        )
        sent.add()
        store.keep(partition, raw_key, raw)

    @property
    def _store(self) -> Store:
        return cast(Store, self._table.data)

    @property
    def _producer(self) -> CountingProducer:
        return cast(CountingProducer, self._app.producer)
