"""All settings: one TOML file, environment over it, secrets only from environment or files.

The file is `sayso.toml` in the working folder, or what `SAYSO_CONFIG` names. Every key can be
overridden by an environment variable: `SAYSO_SLACK__API_URL` is `slack.api_url`.
"""

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from sayso.agents.effects.settings import EffectSettings
from sayso.agents.feedback.settings import FeedbackSettings, OrchestratorChannels
from sayso.connectors.anthropic.settings import ModelSettings
from sayso.connectors.slack.settings import SlackSettings
from sayso.streams.settings import KafkaSettings, WorkerSettings

CONFIG_VARIABLE = "SAYSO_CONFIG"
DEFAULT_FILE = Path("sayso.toml")


class WrongSettings(Exception):
    """The settings cannot be used. The message names the key, what it should be and the mend."""


class OrchestratorSettings(BaseModel):
    """Section `[orgs.<org>.orchestrator]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    autoGoalChannelID: OrchestratorChannels = OrchestratorChannels()  # noqa: N815 - a given name


class ScanSettings(BaseModel):
    """Section `[orgs.<org>.scan]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conversations: tuple[str, ...] = ()
    """Ids of the channels that the org lets us read."""


class OrgSettings(BaseModel):
    """Section `[orgs.<org>]`: one tenant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slack_token_variable: str = "SLACK_BOT_TOKEN"  # noqa: S105 - a variable's name, not a token
    """The environment variable that holds this org's bot token."""
    slack_token_file: Path | None = None
    orchestrator: OrchestratorSettings = OrchestratorSettings()
    scan: ScanSettings = ScanSettings()
    feedback: FeedbackSettings = FeedbackSettings()
    fields: dict[str, str] = Field(default_factory=dict)
    """Strategic fields and their kinds: `text`, `texts` or `number`."""

    @property
    def suggestions_channel(self) -> str | None:
        """The suggestions channel, named but not necessarily scanned."""
        return self.orchestrator.autoGoalChannelID.suggestions


class Settings(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix="SAYSO_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
    )

    data_dir: Path = Path(".sayso")
    """Where tables and an embedded broker keep their files."""
    kafka: KafkaSettings = KafkaSettings()
    worker: WorkerSettings = WorkerSettings()
    slack: SlackSettings = SlackSettings()
    model: ModelSettings = ModelSettings()
    effects: EffectSettings = EffectSettings()
    orgs: dict[str, OrgSettings] = Field(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment first, then the TOML file."""
        named = os.environ.get(CONFIG_VARIABLE)
        file = Path(named) if named else DEFAULT_FILE
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, file))

    def org(self, name: str | None) -> tuple[str, OrgSettings]:
        """The org of that name; the only one when no name is given. Raises WrongSettings."""
        if name is None:
            if len(self.orgs) != 1:
                known = ", ".join(sorted(self.orgs)) or "none"
                raise WrongSettings(f"name the org with --org; the settings declare: {known}")
            name = next(iter(self.orgs))
        if name not in self.orgs:
            known = ", ".join(sorted(self.orgs)) or "none"
            raise WrongSettings(f"orgs.{name} is not in the settings, which declare: {known}")
        return name, self.orgs[name]

    def suggestions_channel(self, org: str) -> str:
        """The suggestions channel of an org. Raises WrongSettings when none is named."""
        channel = self.orgs[org].suggestions_channel
        if channel is None:
            raise WrongSettings(
                f"orgs.{org}.orchestrator.autoGoalChannelID.suggestions is not set: "
                "name the suggestions channel's id there"
            )
        return channel

    def slack_token(self, org: str) -> SecretStr:
        """The bot token of an org. Raises WrongSettings when there is none."""
        section = self.orgs[org]
        return _secret(
            section.slack_token_variable,
            section.slack_token_file or self.slack.token_file,
            f"orgs.{org}.slack_token_file",
            "the Slack bot token",
        )

    def model_key(self) -> SecretStr:
        """The model's API key. Raises WrongSettings when there is none."""
        return _secret(
            "ANTHROPIC_API_KEY", self.model.key_file, "model.key_file", "the model's API key"
        )

    def kafka_password(self) -> SecretStr | None:
        """The SASL password, when a user name is set."""
        if self.kafka.username is None:
            return None
        return _secret(
            "SAYSO_KAFKA_PASSWORD",
            self.kafka.password_file,
            "kafka.password_file",
            "Kafka's password",
        )


def _secret(variable: str, file: Path | None, key: str, what: str) -> SecretStr:
    value = os.environ.get(variable, "").strip()
    if not value and file is not None:
        try:
            value = file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise WrongSettings(f"{key}: cannot read {file}: {error.strerror}") from error
    if not value:
        raise WrongSettings(f"{what} is missing: set {variable} or name a file in {key}")
    return SecretStr(value)


def load_settings(**overrides: Any) -> Settings:
    """Read the settings. Raises WrongSettings naming every key that is wrong."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named and not Path(named).is_file():
        raise WrongSettings(f"{CONFIG_VARIABLE} names {named}, which is not a file")
    try:
        return Settings(**overrides)
    except ValidationError as error:
        lines = [_explain(dict(item)) for item in error.errors(include_url=False)]
        raise WrongSettings("\n".join(lines)) from error
    except (SettingsError, ValueError, OSError) as error:
        where = named or DEFAULT_FILE
        raise WrongSettings(
            f"{where} or the environment cannot be read: {error}; correct it there"
        ) from error


def _explain(item: dict[str, Any]) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{key}: there is no such setting; remove it or correct its name"
    got = type(item["input"]).__name__
    return f"{key}: {item['msg']} (got {got}); correct it in the settings file or environment"
