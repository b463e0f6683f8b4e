"""One worker: every agent on one app, with its clients, until it is told to stop."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Iterator, Mapping
from pathlib import Path
from typing import Final

import structlog
from filelock import FileLock, Timeout

from sayso.agents.effects.agent import EFFECT_STATES, EffectsAgent
from sayso.agents.feedback.agent import ROWS, FeedbackAgent, OrgFeedback
from sayso.agents.polling.agent import CHANNELS, WATCHES, PollingAgent
from sayso.agents.polling.reading import Adjacency
from sayso.agents.polling.scan import Slack
from sayso.agents.strategy.agent import DECIDED, STRATEGIES, StrategyAgent
from sayso.connectors.anthropic.client import ModelClient
from sayso.connectors.slack.client import SlackClient
from sayso.settings import OrgSettings, Settings, WrongSettings
from sayso.streams.app import Pipeline, create_app
from sayso.streams.schedule import publish_ticks
from sayso.streams.topics import check_topics, wanted_topics

TABLES: Final = (ROWS, DECIDED, STRATEGIES, CHANNELS, WATCHES, EFFECT_STATES)
"""Tables whose changelogs `sayso topics apply` creates."""

_LOCK_SECONDS: Final = 5.0
"""Long enough for a worker that is just stopping."""

log = structlog.get_logger(__name__)


async def run_worker(settings: Settings, *, schedule: bool = True) -> None:
    """Run until SIGTERM or SIGINT.

    Raises WrongSettings for a missing secret, TopicsMismatch and BrokerUnreachable before
    anything is started, and whatever made Faust stop.
    """
    password = settings.kafka_password()
    wanted = wanted_topics(settings.kafka, tables=TABLES)
    await asyncio.to_thread(check_topics, settings.kafka, wanted, password=password)
    tables = settings.data_dir / "tables"
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(_alone_in(tables))
        clients = {
            org: await stack.enter_async_context(
                SlackClient(org=org, token=settings.slack_token(org), settings=settings.slack)
            )
            for org in settings.orgs
        }
        model = await stack.enter_async_context(
            ModelClient(key=settings.model_key(), settings=settings.model)
        )
        app = create_app(settings.kafka, data_dir=tables, password=password)
        pipeline = Pipeline(app=app, kafka=settings.kafka, worker=settings.worker)
        register_agents(pipeline, settings, clients=clients, model=model)
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopping.set)
        await app.start()
        log.info("worker ready", group=app.conf.id, orgs=sorted(settings.orgs))
        beside = [pipeline.liveness.watch(settings.worker.stuck_after)]
        if schedule:
            beside.append(_ticking(pipeline, settings))
        try:
            await _until_stopped(stopping.wait(), app.wait_until_stopped(), *beside)
        finally:
            await app.stop()
        if app.crash_reason is not None:
            raise app.crash_reason


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder of tables. Raises WrongSettings when another worker has it, or it is no use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "worker.lock", timeout=_LOCK_SECONDS)
        lock.acquire()
    except Timeout as error:
        raise WrongSettings(
            f"another worker uses {folder}: give each worker its own data_dir (SAYSO_DATA_DIR)"
        ) from error
    except OSError as error:
        raise WrongSettings(f"data_dir: {folder} cannot be used: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def register_agents(
    pipeline: Pipeline,
    settings: Settings,
    *,
    clients: Mapping[str, SlackClient],
    model: ModelClient,
) -> None:
    """Put every loop's agents on the pipeline."""
    PollingAgent(
        pipeline,
        orgs={org: _slack(clients[org], section) for org, section in settings.orgs.items()},
    )
    FeedbackAgent(
        pipeline,
        model=model,
        orgs={
            org: OrgFeedback(settings=section.feedback, fields=section.fields)
            for org, section in settings.orgs.items()
        },
    )
    StrategyAgent(pipeline)
    EffectsAgent(pipeline, clients=clients, settings=settings.effects)


def _slack(client: SlackClient, section: OrgSettings) -> Slack:
    feedback = section.feedback
    return Slack(
        client=client,
        suggestions=section.suggestions_channel,
        conversations=frozenset(section.scan.conversations),
        adjacency=Adjacency(enabled=feedback.adjacent_replies, window=feedback.adjacent_window),
    )


async def _ticking(pipeline: Pipeline, settings: Settings) -> None:
    channels = [
        (org, section.suggestions_channel)
        for org, section in settings.orgs.items()
        if section.suggestions_channel is not None
    ]
    await publish_ticks(pipeline.outputs, channels, interval=settings.worker.tick_interval)


async def _until_stopped(*whatever: Awaitable[object]) -> None:
    """Return when the first of them ends; raise what it raised."""
    tasks = [asyncio.ensure_future(one) for one in whatever]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
