"""What the pipeline left on the topics about one channel."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.strategy import Decision, StrategyValue
from sayso.streams.codec import decode
from sayso.streams.latest import latest_by_key
from sayso.streams.reader import read_topic
from sayso.streams.settings import KafkaSettings

_PATIENCE: Final = 5.0
"""Seconds until the broker serves what the worker said that it wrote."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Rows and decisions by the reply's ts, fields by name."""

    rows: Mapping[str, FeedbackRow]
    decisions: Mapping[str, Decision]
    fields: Mapping[str, StrategyValue]


def read_fields(kafka: KafkaSettings, *, org: str) -> dict[str, StrategyValue]:
    """The strategic fields of an org as they stand."""
    latest = latest_by_key(kafka, "strategy", StrategyValue)
    return {value.field: value for value in latest.records.values() if value.org == org}


def read_found(
    kafka: KafkaSettings, *, org: str, channel: str, settled: Mapping[str, str]
) -> Found:
    """What there is about a channel, once the rows are as far as `settled` (ts to status) says."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        rows = read_rows(kafka, org=org, channel=channel)
        behind = [
            ts for ts, status in settled.items() if ts not in rows or rows[ts].status != status
        ]
        if not behind or time.monotonic() > deadline:
            break
    decisions = (
        decode(Decision, raw.value)
        for raw in read_topic(kafka, "decisions", key=f"{org}/*")
        if raw.value is not None
    )
    return Found(
        rows=rows,
        decisions={one.ts: one for one in decisions if one.channel == channel},
        fields=read_fields(kafka, org=org),
    )


def read_rows(kafka: KafkaSettings, *, org: str, channel: str) -> dict[str, FeedbackRow]:
    """The feedback rows of a channel, by the reply's ts."""
    latest = latest_by_key(kafka, "feedback", FeedbackRow)
    return {
        row.ts: row for row in latest.records.values() if row.org == org and row.channel == channel
    }
