"""What every test of the transport starts from."""

import pytest
from driving import Driver

from sayso.streams.settings import KafkaSettings


@pytest.fixture
def kafka(kafka_bootstrap: str, prefix: str) -> KafkaSettings:
    """The session's Kafka under a prefix of the test's own."""
    return KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=4)


@pytest.fixture(params=list(Driver))
def driver(request: pytest.FixtureRequest) -> Driver:
    """Stock Faust's driver and ours in turn."""
    return Driver(request.param)
