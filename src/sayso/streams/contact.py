"""Talking to a broker with confluent-kafka: its errors become one sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from sayso.streams.errors import BrokerUnreachable
from sayso.streams.settings import KafkaSettings

ANSWER_SECONDS: Final = 5.0
"""How long a broker may take to answer before it counts as unreachable."""

_UNREACHABLE: Final = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.SASL_AUTHENTICATION_FAILED,
    }
)


class Contact:
    """One client's way to the broker. Give `heard` to the client as its `error_cb`."""

    def __init__(self, kafka: KafkaSettings) -> None:
        self._bootstrap = kafka.bootstrap
        self._reason = ""

    def heard(self, error: KafkaError) -> None:
        """Keep what a client says about its connections: only there it names the cause."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._reason = error.str().partition(" (after")[0].rpartition(" failed: ")[2]

    @contextmanager
    def made(self, listen: Callable[[], object]) -> Iterator[None]:
        """Turn an error that means no broker answers into BrokerUnreachable.

        `listen` lets the client call `heard` with what it has to say.
        """
        try:
            yield
        except KafkaException as failure:
            listen()
            error = failure.args[0]
            if isinstance(error, KafkaError) and error.code() in _UNREACHABLE:
                raise self.lost(error.str()) from failure
            raise

    def lost(self, otherwise: str = "no answer") -> BrokerUnreachable:
        """The error to raise; it tells what was heard last, or else `otherwise`."""
        return BrokerUnreachable(
            f"no Kafka answers at {self._bootstrap} ({self._reason or otherwise}); "
            "start one with `sayso broker`, or correct kafka.bootstrap"
        )
