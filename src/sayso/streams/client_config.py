"""Kafka settings in the words of each client: librdkafka (confluent-kafka) and Faust."""

import ssl
from typing import Any

from pydantic import SecretStr

from sayso.streams.errors import BrokerUnreachable
from sayso.streams.settings import KafkaSettings


def librdkafka_settings(
    kafka: KafkaSettings, *, password: SecretStr | None = None
) -> dict[str, str | int | float | bool]:
    """Connection settings of a confluent-kafka client.

    Raises BrokerUnreachable when the settings cannot lead to a connection.
    """
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": kafka.security_protocol,
        "client.id": "sayso",
        # The console is for our own sentences; failures reach us as errors.
        "log_level": 0,
    }
    if _is_encrypted(kafka):
        _tls(kafka)
        if kafka.ca_file is not None:
            settings["ssl.ca.location"] = str(kafka.ca_file)
    if _has_login(kafka):
        username, secret = _login(kafka, password)
        settings["sasl.mechanism"] = kafka.sasl_mechanism
        settings["sasl.username"] = username
        settings["sasl.password"] = secret.get_secret_value()
    return settings


def faust_settings(kafka: KafkaSettings, *, password: SecretStr | None = None) -> dict[str, Any]:
    """The Faust settings that lead to the broker: `broker` and `broker_credentials`.

    Raises BrokerUnreachable when the settings cannot lead to a connection.
    """
    import faust

    servers = [f"sayso://{server.strip()}" for server in kafka.bootstrap.split(",")]
    if _has_login(kafka):
        username, secret = _login(kafka, password)
        credentials: Any = faust.SASLCredentials(
            username=username,
            password=secret.get_secret_value(),
            ssl_context=_tls(kafka) if _is_encrypted(kafka) else None,
            mechanism=kafka.sasl_mechanism,
        )
    else:
        credentials = faust.SSLCredentials(_tls(kafka)) if _is_encrypted(kafka) else None
    return {"broker": servers, "broker_credentials": credentials}


def _is_encrypted(kafka: KafkaSettings) -> bool:
    return kafka.security_protocol in ("SSL", "SASL_SSL")


def _has_login(kafka: KafkaSettings) -> bool:
    return kafka.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")


def _login(kafka: KafkaSettings, password: SecretStr | None) -> tuple[str, SecretStr]:
    if kafka.username is None or password is None:
        raise BrokerUnreachable(
            f"kafka.security_protocol is {kafka.security_protocol}, which needs kafka.username and "
            "a password: set them, or SAYSO_KAFKA_PASSWORD"
        )
    return kafka.username, password


def _tls(kafka: KafkaSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=kafka.ca_file)
    except OSError as error:  # an SSLError is one too
        raise BrokerUnreachable(
            f"kafka.ca_file: {kafka.ca_file} cannot be used: {error.strerror or error}"
        ) from error
