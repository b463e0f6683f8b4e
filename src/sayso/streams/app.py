"""The Faust app, set up so that nothing is lost and nothing is exposed."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import uuid4

import faust
from pydantic import BaseModel, SecretStr

from sayso.schemas.topics import BY_NAME, TOPICS, TopicSpec
from sayso.streams.client_config import faust_settings, librdkafka_settings
from sayso.streams.guard import Guard, Handler
from sayso.streams.limits import DeadLimit
from sayso.streams.liveness import Liveness
from sayso.streams.membership import SESSION_SECONDS, Membership
from sayso.streams.outputs import Outputs
from sayso.streams.parking import Parking
from sayso.streams.settings import KafkaSettings, WorkerSettings
from sayso.streams.store import URL
from sayso.streams.topics import app_id
from sayso.streams.transport.fetch import FetchSchema

M = TypeVar("M", bound=BaseModel)

_NOISY: Final = ("aiokafka", "faust", "mode", "asyncio")
_MAX_REQUEST_BYTES: Final = 5_000_000


class App(faust.App):
    """A Faust app with what our transport needs beyond Faust's settings."""

    librdkafka_settings: Mapping[str, str | int | float | bool]
    fetch_limits: dict[str, int]
    """By topic: the most records of one fetch, where it is not the transport's own."""


def create_app(kafka: KafkaSettings, *, data_dir: Path, password: SecretStr | None = None) -> App:
    """A Faust app on our own topics; it creates none and serves nothing over HTTP.

    `data_dir` exists and belongs to this worker alone.
    """
    for name in _NOISY:
        # Faust builds DEBUG records for every message, which costs half its speed.
        logging.getLogger(name).setLevel(logging.WARNING)
    app = App(
        app_id(kafka),
        **faust_settings(kafka, password=password),
        autodiscover=False,
        broker_commit_interval=1.0,
        broker_session_timeout=SESSION_SECONDS,
        consumer_auto_offset_reset="earliest",
        # A worker that starts again takes its partitions back without waiting for its own ghost.
        consumer_group_instance_id=_instance_id(data_dir),
        datadir=str(data_dir),
        processing_guarantee="at_least_once",
        producer_max_request_size=_MAX_REQUEST_BYTES,
        # Fetches read ahead of a slow agent and thrown away by a rebalance.
        stream_buffer_maxsize=16,
        # A model call may outlast a rebalance; what is cut short is delivered again.
        stream_wait_empty=False,
        store=URL,
        table_standby_replicas=0,
        topic_allow_declare=False,
        topic_disable_leader=True,
        topic_partitions=kafka.partitions,
        topic_replication_factor=kafka.replication,
        web_enabled=False,
        worker_redirect_stdouts=False,
    )
    app.librdkafka_settings = librdkafka_settings(kafka, password=password)
    app.fetch_limits = {}
    return app


def _instance_id(data_dir: Path) -> str:
    """The id of whoever owns this folder of tables, kept in it."""
    file = data_dir / "instance-id"
    if not file.exists():
        file.write_text(f"sayso-{uuid4()}", encoding="utf-8")
    return file.read_text(encoding="utf-8")


_ALWAYS: Final = (BY_NAME["dead"], BY_NAME["parked"])
"""Topics of the error policy."""


class Pipeline:
    """What agents are registered on: an app, its topics and its error policy."""

    def __init__(
        self,
        *,
        app: App,
        kafka: KafkaSettings,
        worker: WorkerSettings,
        specs: Sequence[TopicSpec] = TOPICS,
    ) -> None:
        self.app = app
        self._kafka = kafka
        self._worker = worker
        self._membership = Membership(app)
        self.liveness = Liveness(app)
        self._topics = {
            spec.name: app.topic(
                kafka.prefix + spec.name,
                key_type=bytes,
                value_type=bytes,
                schema=FetchSchema(),
            )
            for spec in specs
        }
        self.outputs = Outputs(app, (*specs, *_ALWAYS), prefix=kafka.prefix)
        self._parking = Parking(app)

    def consume(
        self,
        topic: str,
        model: type[M],
        handler: Handler[M],
        *,
        name: str,
        fetch: int | None = None,
        parks: bool = True,
    ) -> None:
        """Run `handler` over every record of a topic, one partition after the other in itself.

        Partitions run beside each other, each in order. Faust's own `concurrency` would lose
        records in flight when a worker dies. `fetch` is how many records are acknowledged at
        once, and done again after a crash: 1 where each costs a call outside. `parks` is False
        where a later record of a key does not depend on the ones before: then one that died of an
        unknown error makes nothing wait.
        """
        if topic not in self._topics:
            raise KeyError(f"there is no topic {topic}")
        if fetch is not None:
            self.app.fetch_limits[self._kafka.prefix + topic] = fetch
        guard = Guard(
            name=name,
            app=self.app,
            membership=self._membership,
            liveness=self.liveness,
            model=model,
            handler=handler,
            outputs=self.outputs,
            settings=self._worker,
            limit=DeadLimit(
                ratio=self._worker.dead_ratio, consecutive=self._worker.dead_consecutive
            ),
            parking=self._parking if parks else None,
        )

        async def run(stream: Any) -> None:
            await guard.run(stream)

        self.app.agent(self._topics[topic], name=name, isolated_partitions=True)(run)
