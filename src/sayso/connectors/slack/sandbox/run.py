"""The sandbox as a running server: in a thread of its own, or alone until it is stopped."""

import socket
from asyncio import BaseTransport, Transport
from collections import Counter
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sayso.connectors.slack.sandbox.faults import Faults
from sayso.connectors.slack.sandbox.server import WebApiServer
from sayso.connectors.slack.sandbox.workspace import DEFAULT_TOKEN, Workspace

_HOST: Final = "127.0.0.1"
_START_LIMIT: Final = 10.0
"""Seconds within which the server must answer."""


class SlackSandbox:
    """A Slack of one's own at `url`. A context manager that serves in a thread."""

    def __init__(self, *, workspace: Workspace | None = None, port: int = 0) -> None:
        self.workspace = workspace or Workspace()
        self.faults = Faults()
        connections: dict[tuple[str, int], Transport] = {}
        server = WebApiServer(workspace=self.workspace, faults=self.faults, connections=connections)
        self.calls: Counter[str] = server.calls
        """Calls per method so far."""
        self.requests = server.requests
        """The newest calls with their arguments, as they came."""
        self._socket = socket.create_server((_HOST, port), reuse_port=False)
        self._server = _Server(
            uvicorn.Config(
                server.app(),
                http=_protocol(connections),
                log_level="critical",
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
        )
        self._thread: Thread | None = None

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def base_url(self) -> str:
        """Address of the server; the control endpoints are under `_sandbox/`."""
        return f"http://{_HOST}:{self.port}/"

    @property
    def url(self) -> str:
        """What `slack.api_url` is set to."""
        return f"{self.base_url}api/"

    @property
    def token(self) -> str:
        """The bot's token."""
        return next(iter(self.workspace.tokens), DEFAULT_TOKEN)

    def serve(self) -> None:
        """Serve until interrupted."""
        self._server.run(sockets=[self._socket])

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.serve, name="slack-sandbox", daemon=True)
        self._thread.start()
        if not self._server.up.wait(_START_LIMIT):
            raise RuntimeError("the Slack sandbox did not start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_START_LIMIT)
        self._socket.close()


class _Server(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


def _protocol(connections: dict[tuple[str, int], Transport]) -> type[H11Protocol]:
    """uvicorn's HTTP protocol, noting open connections so that a fault can drop one."""

    class Noted(H11Protocol):
        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            connections[_peer(transport)] = transport

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(_peer(self.transport), None)
            super().connection_lost(exc)

    return Noted


def _peer(transport: BaseTransport) -> tuple[str, int]:
    host, port = transport.get_extra_info("peername")[:2]
    return str(host), int(port)
