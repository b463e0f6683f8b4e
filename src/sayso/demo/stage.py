"""The demo's folder and settings, and an environment in which nothing else can be reached."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sayso.connectors.anthropic.settings import ModelSettings
from sayso.connectors.slack.settings import SlackSettings
from sayso.demo.errors import DemoFailed
from sayso.demo.scenario import FIELDS
from sayso.settings import CONFIG_VARIABLE, Settings, load_settings
from sayso.streams.settings import KafkaSettings
from sayso.streams.topics import apply_topics, wanted_topics
from sayso.worker import TABLES

KAFKA: Final = "kafka"
"""The folder in which an embedded broker keeps its data, as every `--embedded` expects it."""
PARTITIONS: Final = 4
_SETTINGS: Final = "sayso.toml"
_MARK: Final = "# Written by `sayso demo`"
_OURS: Final = (KAFKA, "tables", "worker.log", _SETTINGS)
"""What the demo and its worker leave in the folder."""


def prepare_folder(folder: Path, *, fresh: bool) -> Path:
    """The demo's folder, emptied when `fresh`. Raises DemoFailed for a folder of somebody else."""
    folder = folder.expanduser().resolve()
    try:
        if folder.exists() and any(folder.iterdir()) and not _is_ours(folder):
            raise DemoFailed(
                f"{folder} holds something else than a demo's data: choose another --data-dir"
            )
        if fresh:
            for name in _OURS:
                _remove(folder / name)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DemoFailed(
            f"{folder} cannot be used: {error.strerror}; choose another --data-dir"
        ) from error
    return folder


def settings_file(folder: Path) -> Path:
    """Where the demo's settings stand."""
    return folder / _SETTINGS


def write_settings(
    folder: Path,
    *,
    org: str,
    channel: str,
    kafka: KafkaSettings,
    slack: SlackSettings,
    model: ModelSettings,
    about: str,
) -> None:
    """Write `sayso.toml`; secrets stay in the environment."""
    values: Mapping[str, Mapping[str, object]] = {
        "kafka": {
            "bootstrap": kafka.bootstrap,
            "prefix": kafka.prefix,
            "partitions": kafka.partitions,
        },
        "slack": {"api_url": slack.api_url},
        "model": {"url": model.url, "name": model.name},
        f"orgs.{org}.orchestrator.autoGoalChannelID": {"suggestions": channel},
        f"orgs.{org}.scan": {"conversations": [channel]},
        f"orgs.{org}.fields": FIELDS,
    }
    lines = [_MARK, *(f"# {line}" for line in about.splitlines())]
    lines += ["", f"data_dir = {json.dumps(str(folder))}"]
    for section, entries in values.items():
        # A JSON string or list of strings is one of TOML too.
        lines += ["", f"[{section}]", *(f"{k} = {json.dumps(v)}" for k, v in entries.items())]
    settings_file(folder).write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def environment(folder: Path, *, keep: tuple[str, ...] = (), **secrets: str) -> Iterator[None]:
    """Only the folder's settings count, for us and for a worker started meanwhile.

    Every other setting in the environment is set aside but those that start with one of `keep`:
    it may lead to a real workspace.
    """
    before = dict(os.environ)
    for name in before:
        if name.startswith("SAYSO_") and not name.startswith(keep):
            del os.environ[name]
    os.environ.update(secrets, **{CONFIG_VARIABLE: str(settings_file(folder))})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def load_stage() -> Settings:
    """The settings that were written, their topics made. Raises WrongSettings, TopicsMismatch."""
    settings = load_settings()
    apply_topics(settings.kafka, wanted_topics(settings.kafka, tables=TABLES))
    return settings


def _is_ours(folder: Path) -> bool:
    file = settings_file(folder)
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace").startswith(_MARK)
    # A first start may have been cut short before the settings were written.
    return {entry.name for entry in folder.iterdir()} <= {KAFKA, "real"}


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
