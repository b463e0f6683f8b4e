"""The stand-in, a client on it, and a server that says exactly the bytes a test gives it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from sayso.connectors.anthropic.client import ModelClient
from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.anthropic.settings import ModelSettings

KEY = "sk-secret-of-this-test"


@pytest.fixture(autouse=True)
def _no_settings_of_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK reads addresses, keys and headers from the environment."""
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_"):
            monkeypatch.delenv(name)


@pytest.fixture
def sandbox() -> Iterator[ModelSandbox]:
    with ModelSandbox(key=KEY) as running:
        yield running


@pytest.fixture
def settings_for() -> Callable[..., ModelSettings]:
    def make(url: str, **changed: object) -> ModelSettings:
        return ModelSettings.model_validate({"url": url, "timeout": 20.0} | changed)

    return make


@pytest.fixture
async def client(
    sandbox: ModelSandbox, settings_for: Callable[..., ModelSettings]
) -> AsyncIterator[ModelClient]:
    async with ModelClient(key=SecretStr(KEY), settings=settings_for(sandbox.url)) as made:
        yield made


class RawServer:
    """Answers every connection with the same bytes and closes it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections = 0


@pytest.fixture
def raw_server() -> Callable[..., Any]:
    @asynccontextmanager
    async def running(*chunks: bytes, endless: bytes = b"", pace: float = 0) -> Any:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server.connections += 1
            try:
                if chunks:
                    await reader.readuntil(b"\r\n\r\n")
                for chunk in chunks:
                    writer.write(chunk)
                    await writer.drain()
                while endless:
                    writer.write(endless)
                    await writer.drain()
                    await asyncio.sleep(pace)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        opened = await asyncio.start_server(handle, "127.0.0.1", 0)
        server = RawServer(f"http://127.0.0.1:{opened.sockets[0].getsockname()[1]}")
        try:
            yield server
        finally:
            opened.close()

    return running
