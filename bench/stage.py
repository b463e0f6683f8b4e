"""The org whose replies the whole pipeline settles, and its worker's settings."""

import json
from pathlib import Path
from typing import Final

from job import PARTITIONS
from sayso.demo.stage import settings_file

ORG: Final = "acme"
CHANNEL: Final = "C0SUGGEST"
LEAD: Final = "U0LEAD"


def write_settings(folder: Path, *, bootstrap: str, slack: str, model: str) -> None:
    """Write `sayso.toml` into a new folder; `slack` and `model` are addresses."""
    folder.mkdir(parents=True)
    values: dict[str, dict[str, object]] = {
        "kafka": {"bootstrap": bootstrap, "prefix": "whole.", "partitions": PARTITIONS},
        # Slack's own limits would be all that is measured.
        "slack": {"api_url": slack, "calls_per_minute": 10_000},
        "model": {"url": model},
        f"orgs.{ORG}.orchestrator.autoGoalChannelID": {"suggestions": CHANNEL},
        f"orgs.{ORG}.scan": {"conversations": [CHANNEL]},
        f"orgs.{ORG}.fields": {"target_margin": "number"},
    }
    lines = [f"data_dir = {json.dumps(str(folder))}"]
    for section, entries in values.items():
        lines += [f"[{section}]", *(f"{name} = {json.dumps(one)}" for name, one in entries.items())]
    settings_file(folder).write_text("\n".join(lines) + "\n", encoding="utf-8")
