"""What a performance needs: a folder, a Kafka under its own prefix, a way to start a worker."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sayso.cli.embedded import worker_process
from sayso.streams.settings import KafkaSettings


@pytest.fixture
def told() -> list[str]:
    """What was said about what goes on."""
    return []


@pytest.fixture
def stage(kafka_bootstrap: str, prefix: str, tmp_path: Path, told: list[str]) -> dict[str, Any]:
    """Arguments of a performance."""
    return {
        "folder": tmp_path,
        "kafka": KafkaSettings(bootstrap=kafka_bootstrap, prefix=prefix, partitions=4),
        "worker": partial(worker_process, schedule=False),
        "tell": told.append,
    }
