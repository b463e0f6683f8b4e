"""Wait until a broker answers clients."""

import logging
import socket
import time
from collections.abc import Callable

START_WITHIN = 120.0
"""Seconds; a start takes 3, a recovery of much data or a busy machine longer."""


def wait_until_ready(
    bootstrap: str, *, cluster_id: str, alive: Callable[[], bool], within: float = START_WITHIN
) -> bool:
    """Whether the cluster of that id answered a metadata request while alive and in time."""
    host, _, port = bootstrap.rpartition(":")
    deadline = time.monotonic() + within
    while alive() and time.monotonic() < deadline:
        if _accepts(host, int(port)) and _answers(bootstrap, cluster_id):
            return True
        time.sleep(0.05)
    return False


def _accepts(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


def _answers(bootstrap: str, cluster_id: str) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    quiet = logging.getLogger("sayso.streams.broker.ready.librdkafka")
    quiet.disabled = True
    client = AdminClient({"bootstrap.servers": bootstrap}, logger=quiet)
    try:
        metadata = client.list_topics(timeout=5)
    except KafkaException:
        return False
    return metadata.cluster_id == cluster_id and bool(metadata.brokers)
