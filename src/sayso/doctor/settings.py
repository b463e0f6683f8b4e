"""Whether the settings say what a worker needs."""

import os
from collections.abc import Iterator
from pathlib import Path

from sayso.agents.feedback.answer import is_known_kind
from sayso.doctor.finding import Finding, failed, ok, warning
from sayso.settings import CONFIG_VARIABLE, DEFAULT_FILE, OrgSettings, Settings

_CHECK = "settings"


def check_settings(settings: Settings) -> tuple[Finding, ...]:
    """The settings beyond their shape, and the data folder."""
    wrong = (*_of_data_dir(settings.data_dir), *_of_orgs(settings))
    return wrong or (ok(_CHECK, f"{_source()}; orgs: {', '.join(sorted(settings.orgs))}"),)


def _source() -> str:
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        return f"read from {named}"
    if DEFAULT_FILE.is_file():
        return f"read from {DEFAULT_FILE}"
    return f"there is no {DEFAULT_FILE} here, so the environment and the defaults count"


def _of_data_dir(folder: Path) -> Iterator[Finding]:
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield failed(
            _CHECK,
            f"data_dir: nothing can be written to {folder}",
            "name a folder that this user may write to in data_dir",
        )


def _of_orgs(settings: Settings) -> Iterator[Finding]:
    if not settings.orgs:
        yield failed(
            _CHECK,
            f"{_source()}; no org is declared, so there is nothing to do",
            f"declare one as [orgs.<name>] in {DEFAULT_FILE}, or name the file in "
            f"{CONFIG_VARIABLE}",
        )
    for name, section in settings.orgs.items():
        yield from _of_org(name, section)


def _of_org(name: str, section: OrgSettings) -> Iterator[Finding]:
    channel = section.suggestions_channel
    if channel is None:
        yield warning(
            _CHECK,
            f"orgs.{name} names no suggestions channel, so no replies are read",
            f"set orgs.{name}.orchestrator.autoGoalChannelID.suggestions to the channel's id",
        )
    elif channel not in section.scan.conversations:
        yield warning(
            _CHECK,
            f"orgs.{name}: the suggestions channel {channel} is not scanned",
            f"add it to orgs.{name}.scan.conversations",
        )
    if not section.fields:
        yield warning(
            _CHECK,
            f"orgs.{name} declares no strategic fields, so no reply can change one",
            f"declare them in [orgs.{name}.fields], each as text, texts or number",
        )
    for field, kind in section.fields.items():
        if not is_known_kind(kind):
            yield failed(
                _CHECK,
                f"orgs.{name}.fields.{field} is declared as {kind!r}, which this build cannot read",
                "declare it as text, texts or number",
            )
