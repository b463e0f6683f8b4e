"""The topics that an app writes to."""

from collections.abc import Iterable
from typing import Final, cast

import faust

from sayso.schemas.headers import cloud_headers
from sayso.schemas.record import Record
from sayso.schemas.topics import TopicSpec
from sayso.streams.codec import encode
from sayso.streams.errors import NotDelivered
from sayso.streams.transport.producer import CountingProducer
from sayso.streams.transport.sent import Sent

_OVERHEAD: Final = 2_048
"""Bytes left for a record's key, headers and framing."""


class Outputs:
    """Sends records by the name of their topic without the prefix."""

    def __init__(self, app: faust.App, specs: Iterable[TopicSpec], *, prefix: str) -> None:
        self._app = app
        self._topics = {
            spec.name: (prefix + spec.name, spec.max_message_bytes - _OVERHEAD) for spec in specs
        }

    @property
    def producer(self) -> CountingProducer:
        """The app's producer; there is one once the app has a loop."""
        return cast(CountingProducer, self._app.producer)

    def new_sent(self) -> Sent:
        """A count of what somebody sends, to be waited for."""
        return Sent(self.producer.in_flight)

    def produce(self, topic: str, record: Record, *, sent: Sent, key: str | None = None) -> None:
        """Hand over a record; `key` where the topic is keyed by something else than the record.

        Raises NotDelivered for one that its topic cannot take.
        """
        name, most = self._topics[topic]
        value = encode(record)
        if len(value) > most:
            raise NotDelivered(
                f"a record of {len(value)} bytes is more than topic {topic} takes, {most}"
            )
        self.producer.produce(
            name,
            (key or record.key).encode(),
            value,
            headers=cloud_headers(record),
            delivered=sent.delivered,
        )
        sent.add()
