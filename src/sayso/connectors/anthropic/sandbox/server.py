"""Runs the stand-in, in a thread of a test or demo, or as a process of its own."""

import socket
import threading
from typing import Self

import uvicorn

from sayso.connectors.anthropic.sandbox.app import StandIn
from sayso.connectors.anthropic.sandbox.journal import Entry, Journal
from sayso.connectors.anthropic.sandbox.script import Script

_HOST = "127.0.0.1"


class ModelSandbox:
    """The stand-in on loopback and a free port; as a context manager it serves in a thread.

    It answers from `script`, and from simple rules where no line applies.
    """

    def __init__(
        self,
        *,
        script: Script | None = None,
        key: str | None = None,
        models: frozenset[str] | None = None,
        port: int = 0,
    ) -> None:
        """`key` None takes any key; `models` None knows every model; port 0 is a free one.

        Raises OSError when the port is taken.
        """
        self.script = script or Script()
        self._journal = Journal()
        self._socket = socket.create_server((_HOST, port))
        self.url = f"http://{_HOST}:{self._socket.getsockname()[1]}"
        """For `model.url`."""
        stand_in = StandIn(script=self.script, journal=self._journal, key=key, models=models)
        self._server = uvicorn.Server(_config(stand_in))
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="model-sandbox"
        )

    @property
    def journal(self) -> tuple[Entry, ...]:
        """The questions so far, in order of arrival."""
        return self._journal.entries

    @property
    def requests(self) -> int:
        """HTTP requests so far, refused ones and other endpoints included."""
        return self._journal.requests

    def start(self) -> Self:
        """Start serving; connections made from now on are answered."""
        self._thread.start()
        return self

    def serve(self) -> None:
        """Serve in this thread instead, until interrupted."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Stop serving, answers under way are dropped."""
        self._server.should_exit = True
        self._server.force_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _config(stand_in: StandIn) -> uvicorn.Config:
    # Faults that drop a connection are errors to uvicorn, which need not fill anybody's terminal.
    return uvicorn.Config(
        stand_in.app, lifespan="off", access_log=False, log_config=None, log_level="critical"
    )
