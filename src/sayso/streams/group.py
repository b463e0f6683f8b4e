"""The workers' consumer group, as the broker sees it."""

from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from pydantic import SecretStr

from sayso.streams.client_config import librdkafka_settings
from sayso.streams.patience import patiently
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import app_id

_ANSWER_SECONDS: Final = 5.0
_PATIENCE: Final = 10.0


def count_workers(kafka: KafkaSettings, *, password: SecretStr | None = None) -> int:
    """How many workers are in the group now.

    A broker that has just started has to load its groups first; that passes within seconds.
    Raises KafkaException.
    """
    group = app_id(kafka)
    admin = AdminClient(librdkafka_settings(kafka, password=password))
    for attempt in patiently(on=_passes, timeout=_PATIENCE):
        with attempt:
            described = admin.describe_consumer_groups([group], request_timeout=_ANSWER_SECONDS)
            try:
                return len(described[group].result().members)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
                    raise
    return 0


def _passes(error: Exception) -> bool:
    return isinstance(error, KafkaException) and bool(error.args[0].retriable())
