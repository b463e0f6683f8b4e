"""A whole deployment on the session's Kafka."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from deployment import Deployment


@pytest.fixture
def deploy(
    kafka_bootstrap: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Deployment]]:
    """Make a deployment; more settings as TOML."""
    with ExitStack() as stack:
        yield lambda toml="", **options: stack.enter_context(
            Deployment(
                bootstrap=kafka_bootstrap,
                prefix=prefix,
                folder=tmp_path,
                monkeypatch=monkeypatch,
                toml=toml,
                **options,
            )
        )
