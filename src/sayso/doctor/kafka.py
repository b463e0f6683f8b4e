"""Whether the broker answers, its topics are right, and somebody works on them."""

import asyncio

from confluent_kafka import KafkaException
from pydantic import SecretStr

from sayso.doctor.finding import Finding, failed, ok, warning
from sayso.settings import Settings, WrongSettings
from sayso.streams.errors import BrokerUnreachable
from sayso.streams.group import count_workers
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import app_id, plan_topics, wanted_topics
from sayso.worker import TABLES


async def check_kafka(settings: Settings) -> tuple[Finding, ...]:
    """Broker, topics and workers, one after the other: each needs the one before."""
    return await asyncio.to_thread(_check, settings)


def _check(settings: Settings) -> tuple[Finding, ...]:
    kafka = settings.kafka
    try:
        password = settings.kafka_password()
        plan = plan_topics(kafka, wanted_topics(kafka, tables=TABLES), password=password)
    except WrongSettings as error:
        return (failed("broker", str(error)), *_not_looked_at())
    except BrokerUnreachable as error:
        what, _, mend = str(error).partition("; ")
        return (failed("broker", what, mend or None), *_not_looked_at())
    answers = ok("broker", f"Kafka answers at {kafka.bootstrap}")
    if plan.problems:
        topics = failed("topics", "; ".join(plan.problems))
    else:
        topics = ok("topics", "all are as this build needs them")
    return (answers, topics, _workers(kafka, password))


def _not_looked_at() -> tuple[Finding, ...]:
    return tuple(warning(check, "not looked at, for want of a broker") for check in _LATER)


_LATER = ("topics", "workers")


def _workers(kafka: KafkaSettings, password: SecretStr | None) -> Finding:
    group = app_id(kafka)
    try:
        count = count_workers(kafka, password=password)
    except KafkaException as error:
        return warning("workers", f"the group {group} cannot be read: {error.args[0].str()}")
    if count == 0:
        return warning(
            "workers", f"none is in the group {group}, so nothing is settled", "run `sayso worker`"
        )
    return ok("workers", f"{count} in the group {group}")
