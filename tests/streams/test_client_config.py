"""One section of settings leads every client to the same broker."""

from pathlib import Path

import certifi
import pytest
from pydantic import SecretStr

from sayso.streams.client_config import faust_settings, librdkafka_settings
from sayso.streams.errors import BrokerUnreachable
from sayso.streams.settings import KafkaSettings

PASSWORD = SecretStr("hunter2")
CA_FILE = Path(certifi.where())


def test_a_plain_connection() -> None:
    kafka = KafkaSettings(bootstrap="a:1, b:2")
    assert librdkafka_settings(kafka)["security.protocol"] == "PLAINTEXT"
    assert faust_settings(kafka) == {
        "broker": ["sayso://a:1", "sayso://b:2"],
        "broker_credentials": None,
    }


def test_encryption_with_a_private_authority() -> None:
    kafka = KafkaSettings(security_protocol="SSL", ca_file=CA_FILE)
    assert librdkafka_settings(kafka)["ssl.ca.location"] == str(CA_FILE)
    credentials = faust_settings(kafka)["broker_credentials"]
    assert credentials.protocol.value == "SSL"
    assert credentials.context.check_hostname


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_login(protocol: str, mechanism: str) -> None:
    from confluent_kafka.admin import AdminClient

    kafka = KafkaSettings.model_validate(
        {"security_protocol": protocol, "sasl_mechanism": mechanism, "username": "sayso"}
    )
    settings = librdkafka_settings(kafka, password=PASSWORD)
    assert settings["sasl.mechanism"] == mechanism
    assert settings["sasl.username"] == "sayso"
    assert settings["sasl.password"] == "hunter2"
    AdminClient(dict(settings))  # librdkafka refuses settings that it does not know
    credentials = faust_settings(kafka, password=PASSWORD)["broker_credentials"]
    assert credentials.protocol.value == protocol
    assert credentials.mechanism.value == mechanism
    assert "hunter2" not in repr(credentials)


def test_a_login_without_a_password_says_what_is_missing() -> None:
    kafka = KafkaSettings(security_protocol="SASL_SSL")
    for settings in (librdkafka_settings, faust_settings):
        with pytest.raises(BrokerUnreachable, match=r"SASL_SSL, which needs kafka\.username"):
            settings(kafka)


def test_an_unusable_authority_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for file in (tmp_path / "missing.pem", broken):
        kafka = KafkaSettings(security_protocol="SSL", ca_file=file)
        for settings in (librdkafka_settings, faust_settings):
            with pytest.raises(BrokerUnreachable, match=rf"kafka\.ca_file: .*{file.name} cannot"):
                settings(kafka)
