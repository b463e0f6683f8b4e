"""The Kafka that tests run against, and a prefix of topics for each test."""

import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

BOOTSTRAP_VARIABLE = "SAYSO_TEST_BOOTSTRAP"
KAFKA_IMAGE = "confluentinc/cp-kafka:8.1.0"


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a real Kafka: one named, a container, or the embedded broker."""
    named = os.environ.get(BOOTSTRAP_VARIABLE)
    if named:
        yield named
    elif _docker_answers():
        yield from _in_container()
    else:
        yield from _embedded(tmp_path_factory.mktemp("kafka"))


@pytest.fixture
def prefix() -> str:
    """Put before every topic and group of a test, so that tests share one broker."""
    return f"t{uuid.uuid4().hex[:8]}."


def _docker_answers() -> bool:
    """Whether an engine answers within two seconds."""
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        return False
    import docker
    from docker.errors import DockerException

    try:
        with closing(docker.from_env(timeout=2)) as client:
            return bool(client.ping())
    except (DockerException, OSError):
        return False


def _in_container() -> Iterator[str]:
    from testcontainers.kafka import KafkaContainer

    container = (
        KafkaContainer(KAFKA_IMAGE)
        .with_kraft()
        .with_env("KAFKA_AUTO_CREATE_TOPICS_ENABLE", "false")
        .with_env("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0")
        .with_env("KAFKA_MESSAGE_MAX_BYTES", str(8 << 20))
    )
    with container as running:
        yield running.get_bootstrap_server()


def _embedded(folder: Path) -> Iterator[str]:
    from sayso.streams.broker.server import start_broker

    with start_broker(folder) as broker:
        yield broker.bootstrap
