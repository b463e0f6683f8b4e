"""What moves records in and out of Faust: whole fetches in, librdkafka out, nothing forgotten.

Faust finds the driver by the scheme of the broker's address, `sayso://host:port`, through the
entry point group `faust.transports`.
"""

from typing import ClassVar

from confluent_kafka import libversion
from faust.transport.drivers import aiokafka

from sayso.streams.transport.consumer import FetchConsumer
from sayso.streams.transport.producer import CountingProducer

__all__ = ["SCHEME", "Transport"]

SCHEME = "sayso"


class Transport(aiokafka.Transport):
    """The driver: aiokafka reads, librdkafka writes."""

    Consumer: ClassVar = FetchConsumer
    Producer: ClassVar = CountingProducer
    driver_version = f"{aiokafka.Transport.driver_version}, librdkafka={libversion()[0]}"
