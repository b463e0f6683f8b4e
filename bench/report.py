"""Figures as they are printed, kept as JSON and written to docs/performance.md."""

import os
import platform
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from calls import Calls
from engine import Round
from job import COMMIT_SECONDS, COPIES, PARTITIONS
from pipeline import TICK_SECONDS, Whole
from quix_env import quix_version

ENGINES = ("sayso", "quix streams")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was measured; a part that was left out is None or empty."""

    machine: Mapping[str, object]
    records: int
    """Of one round of the engine job."""
    rounds: tuple[Round, ...] = ()
    calls: Calls | None = None
    whole: Whole | None = None

    @property
    def ratio(self) -> float:
        """Sayso's median rate over that of Quix Streams."""
        sayso, quix = (statistics.median(self._of(name, "records_per_s")) for name in ENGINES)
        return sayso / quix

    def rows(self) -> list[tuple[str, ...]]:
        """Engine, records/s and CPU seconds as medians with least and most, most megabytes."""
        return [
            (
                name,
                _spread(self._of(name, "records_per_s"), "{:,.0f}"),
                _spread(self._of(name, "cpu_s_per_1000"), "{:.3f}"),
                f"{max(self._of(name, 'peak_mb')):.0f}",
            )
            for name in ENGINES
        ]

    def as_json(self) -> dict[str, object]:
        """Everything, for programs."""
        return {
            "machine": dict(self.machine),
            "engine": {
                "records": self.records,
                "rounds": [asdict(one) for one in self.rounds],
                "ratio_to_quix": round(self.ratio, 3),
            }
            if self.rounds
            else None,
            "slack": asdict(self.calls) if self.calls else None,
            "pipeline": asdict(self.whole) if self.whole else None,
        }

    def _of(self, engine: str, figure: str) -> list[float]:
        return [asdict(one)[figure] for one in self.rounds if one.engine == engine]


def machine() -> dict[str, object]:
    """What the figures depend on."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        # What other processes were doing to the figures.
        "load before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "sayso": version("sayso"),
        "faust-streaming": version("faust-streaming"),
        "aiokafka": version("aiokafka"),
        "quixstreams": quix_version(),
        "kafka": "4.4.0, one embedded node",
    }


def print_figures(figures: Figures, console: Console) -> None:
    """Tables and sentences for people."""
    if figures.rounds:
        console.print(_about_rounds(figures))
        table = Table("engine", "records/s", "CPU s/1,000", "peak MB", box=None)
        for row in figures.rows():
            table.add_row(*row)
        console.print(table)
        console.print(f"{_about_ratio(figures)}\n")
    if figures.calls:
        console.print(f"{_about_calls(figures.calls)}\n")
    if figures.whole:
        for line in _about_whole(figures.whole):
            console.print(line)


def write_document(figures: Figures, file: Path) -> None:
    """docs/performance.md from figures that are complete."""
    if not figures.rounds or figures.calls is None or figures.whole is None:
        raise ValueError("a document needs every figure")
    rows = "\n".join(f"| {' | '.join(row)} |" for row in figures.rows())
    known = "\n".join(f"- {name}: {value}" for name, value in figures.machine.items())
    whole = "\n".join(f"- {line}" for line in _about_whole(figures.whole))
    file.write_text(
        f"""# Performance

Written by `make bench ARGS=--write-docs`. No test asserts any of it.

## Machine and versions

{known}

## Engine

One job on both engines: read a JSON record of about 200 bytes, validate it with pydantic, look its
key up in a RocksDB table with a compacted changelog, drop it when it was there ({COPIES:.0%} are
copies), else remember it and write one output and one status record. Both: at least once, offsets
committed every {COMMIT_SECONDS:g} s, {PARTITIONS} partitions, one worker process, the same broker,
the same input, rounds in turn with the first to go alternating. A round counts only when reading
its outputs back gives every id of the reference and no other.

The rate is all input records over the time between the first output and the last, by the broker's
timestamps, so start-up does not count. CPU is the worker's, user and system, start-up left out.

What differs, and for whom:

- Sayso waits until the broker has what a record sent and wrote before it takes the partition's
  next; Quix Streams waits once per commit. For Quix Streams.
- Sayso's outputs carry seven CloudEvents headers, those of Quix Streams none. For Quix Streams.
- Quix Streams writes its changelog with the commit, which may come after its last output and is
  then not timed. For Quix Streams.
- Sayso runs on Faust and aiokafka, with uvloop; Quix Streams on librdkafka.
- Sayso is set up as its worker is; Quix Streams has its defaults but for what is named above.

{_about_rounds(figures)}

| engine | records/s | CPU s per 1,000 records | peak MB |
|---|---|---|---|
{rows}

{_about_ratio(figures)}

## Slack calls

{_about_calls(figures.calls)} A cold tick is the first of a worker, which has to ask who it is and
who wrote; a warm one knows.

## Whole pipeline

From replies in Slack to settled decisions, with one worker, through polling, the model, the row,
the strategy and the confirmation. Slack and the model are Sayso's stand-ins over HTTP, which answer
at once and share the machine, as Kafka does. One tick reads what stood there at once; after that
one is asked for every {TICK_SECONDS:g} s. Slack's own limits are lifted.

{whole}
""",
        encoding="utf-8",
    )


def _spread(values: list[float], shape: str) -> str:
    middle, least, most = (
        shape.format(value) for value in (statistics.median(values), min(values), max(values))
    )
    return f"{middle} ({least} to {most})"


def _about_rounds(figures: Figures) -> str:
    rounds = len(figures.rounds) // len(ENGINES)
    return (
        f"Engine job, {figures.records:,} records a round, {PARTITIONS} partitions, one worker "
        f"each, {rounds} round{'s' if rounds > 1 else ''}, median (least to most):"
    )


def _about_ratio(figures: Figures) -> str:
    return f"Sayso does {figures.ratio:.2f} times the records per second of Quix Streams."


def _about_calls(calls: Calls) -> str:
    named = ", ".join(f"{method} {count}" for method, count in sorted(calls.cold.items()))
    return (
        f"One tick with {calls.threads:,} watched threads of which {calls.changed} changed makes "
        f"{sum(calls.cold.values())} Slack calls when cold, {sum(calls.warm.values())} when warm, "
        f"counted by the server; cold: {named}."
    )


def _about_whole(whole: Whole) -> tuple[str, ...]:
    reply, message = whole.reply_to_decision_s, whole.message_to_decision_s
    return (
        f"{whole.burst} replies that stood there at once: {whole.burst_replies_per_s:.1f} replies "
        f"settled a second, {whole.burst_cpu_s_per_reply * 1000:.0f} ms of the worker's CPU each.",
        f"{whole.replies} replies at {whole.rate:g} a second, from the reply to its decision: "
        f"p50 {reply[0]:.2f} s, p99 {reply[1]:.2f} s, waiting for a tick included.",
        f"The same from the poller's record of the reply to its decision: p50 "
        f"{message[0] * 1000:.0f} ms, p99 {message[1] * 1000:.0f} ms.",
        f"Most memory of the worker: {whole.peak_mb:.0f} MB.",
    )
