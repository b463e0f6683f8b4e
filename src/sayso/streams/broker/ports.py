"""Ports on loopback."""

import socket

from sayso.streams.broker.errors import PortTaken
from sayso.streams.broker.kafka import HOST


def choose_port(asked: int | None, *, remembered: int) -> int:
    """The port asked for, or the remembered one, or any. Raises PortTaken for one asked for."""
    if asked is not None:
        if not is_free(asked):
            raise PortTaken(
                f"port {asked} is in use on {HOST}: stop what listens there, or choose "
                "another with --port"
            )
        return asked
    return remembered if remembered and is_free(remembered) else free_port()


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now."""
    with socket.socket() as probe:
        # As Java does: a port whose last connections are closing may be taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port(*, other_than: int = 0) -> int:
    """A port that nothing uses now, and that is not `other_than`."""
    while True:
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        if port != other_than:
            return port
