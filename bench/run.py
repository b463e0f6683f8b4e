"""`make bench`: what Sayso costs, measured on this machine beside its peer.

Nothing here is a test: figures are printed, never asserted.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from calls import count_calls
from engine import Round, engines, run_round, spread
from sayso.streams.broker.server import start_broker

ROOT = Path(__file__).parent.parent
QUIX_VENV = ROOT / ".venv-bench"
LOCK = ROOT / "requirements" / "bench.lock"
RESULTS = ROOT / "bench" / "results" / "latest.json"
DOCUMENT = ROOT / "docs" / "performance.md"
THREADS, CHANGED = 1_000, 3

out = Console()
notes = Console(stderr=True)


def quix_python() -> str:
    """The interpreter of an environment with Quix Streams, whose dependencies are not ours."""
    ready = QUIX_VENV / ".ready"
    python = QUIX_VENV / "bin" / "python"
    if not ready.exists() or ready.stat().st_mtime < LOCK.stat().st_mtime:
        notes.print("installing Quix Streams into .venv-bench …")
        subprocess.run([sys.executable, "-m", "venv", str(QUIX_VENV)], check=True)
        subprocess.run(
            [
                str(python),
                "-m",
                "pip",
                "install",
                "-q",
                "--disable-pip-version-check",
                "--require-hashes",
                "-r",
                str(LOCK),
            ],
            check=True,
        )
        ready.touch()
    return str(python)


def main() -> int:
    """Run the benches that were asked for."""
    parser = argparse.ArgumentParser(
        prog="make bench",
        description=__doc__,
        epilog='example: make bench ARGS="--rounds 5 --records 50000"',
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each engine (3)")
    parser.add_argument("--records", type=int, default=20_000, help="records a round (20000)")
    parser.add_argument("--quick", action="store_true", help="one short round of each")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--write-docs", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    if args.rounds < 1 or args.records < 100:
        parser.error("--rounds is at least 1 and --records at least 100")
    rounds, records = (1, 3_000) if args.quick else (args.rounds, args.records)

    calls = asyncio.run(count_calls(threads=THREADS, changed=CHANGED))
    measured = _rounds(rounds, records)
    figures = _figures(measured, calls, records)
    _print(measured, calls, records)
    for file in filter(None, (RESULTS, args.json)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if args.write_docs:
        _write_document(measured, calls, figures)
    return 0


def _rounds(rounds: int, records: int) -> list[Round]:
    pair = engines(quix_python())
    measured: list[Round] = []
    with (
        tempfile.TemporaryDirectory(prefix="sayso-bench-") as folder,
        start_broker(Path(folder) / "kafka") as broker,
        Progress(console=notes, transient=True) as progress,
    ):
        bar = progress.add_task("rounds", total=rounds * len(pair))
        for number in range(rounds):
            # Who goes first alternates too.
            for engine in pair if number % 2 == 0 else reversed(pair):
                progress.update(bar, description=f"round {number + 1}: {engine.name}")
                measured.append(
                    run_round(
                        engine,
                        bootstrap=broker.bootstrap,
                        count=records,
                        folder=Path(folder),
                        advance=lambda: progress.advance(bar),
                    )
                )
    return measured


def _of(measured: list[Round], engine: str, figure: str) -> list[float]:
    return [asdict(one)[figure] for one in measured if one.engine == engine]


def _ratio(measured: list[Round]) -> float:
    rates = [_of(measured, name, "records_per_s") for name in ("sayso", "quix streams")]
    return statistics.median(rates[0]) / statistics.median(rates[1])


def _figures(measured: list[Round], calls: dict[str, int], records: int) -> dict[str, object]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": _machine(),
        "engine.records": records,
        "engine.rounds": [asdict(one) for one in measured],
        "engine.ratio_to_quix": round(_ratio(measured), 3),
        "slack.calls_per_tick": sum(calls.values()),
        "slack.calls_by_method": calls,
    }


def _machine() -> dict[str, object]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sayso": version("sayso"),
        "faust-streaming": version("faust-streaming"),
        "aiokafka": version("aiokafka"),
        "quixstreams": LOCK.read_text(encoding="utf-8").split("quixstreams==")[1].split()[0],
        "kafka": "4.4.0, one embedded node",
    }


def _engine_table(measured: list[Round]) -> Table:
    table = Table("engine", "records/s", "CPU s per 1,000", "peak MB", box=None)
    for name in ("sayso", "quix streams"):
        table.add_row(
            name,
            spread(_of(measured, name, "records_per_s")),
            f"{statistics.median(_of(measured, name, 'cpu_s_per_1000')):.3f}",
            f"{max(_of(measured, name, 'peak_mb')):.0f}",
        )
    return table


def _print(measured: list[Round], calls: dict[str, int], records: int) -> None:
    out.print(
        f"Engine job, {records:,} records a round, 4 partitions, one worker each, "
        "median (least to most):"
    )
    out.print(_engine_table(measured))
    out.print(f"ratio of the medians, sayso to quix streams: {_ratio(measured):.2f}")
    named = ", ".join(f"{method} {count}" for method, count in sorted(calls.items()))
    out.print(
        f"\nSlack calls of one cold tick, {THREADS:,} watched threads of which {CHANGED} changed: "
        f"{sum(calls.values())} ({named})"
    )


def _write_document(
    measured: list[Round], calls: dict[str, int], figures: dict[str, object]
) -> None:
    rows = "\n".join(
        f"| {name} | {spread(_of(measured, name, 'records_per_s'))} "
        f"| {statistics.median(_of(measured, name, 'cpu_s_per_1000')):.3f} "
        f"| {max(_of(measured, name, 'peak_mb')):.0f} |"
        for name in ("sayso", "quix streams")
    )
    named = ", ".join(f"`{method}` {count}" for method, count in sorted(calls.items()))
    total = sum(calls.values())
    machine = "\n".join(f"- {name}: {value}" for name, value in _machine().items())
    DOCUMENT.write_text(
        f"""# Performance

Written by `make bench ARGS=--write-docs` on {figures["at"]}. Nothing here is asserted by a test.

## Machine and versions

{machine}

## Engine

One job on both engines: read a JSON record of about 200 bytes, validate it with pydantic, look its
key up in a RocksDB table with a changelog, drop it when it was there (a tenth are copies), else
remember it and write an output and a status record. At least once, offsets committed every second,
four partitions, one worker process, the same broker, rounds in turn. The rate is taken between
the first output and the last, by the broker's timestamps, so start-up does not count. Every round
reads the outputs back and fails when one is missing.

What differs: Sayso waits until the broker has everything that a record sent before it goes on, and
its outputs carry CloudEvents headers; Quix Streams waits once per commit and writes none. Sayso's
records travel through Faust and aiokafka, Quix Streams' through librdkafka.

| engine | records/s, median (least to most) | CPU s per 1,000 records | peak MB |
|---|---|---|---|
{rows}

Ratio of the medians, Sayso to Quix Streams: {_ratio(measured):.2f}.

## Slack calls

One tick with {THREADS:,} watched threads of which {CHANGED} changed makes {total} calls, counted by
the server: {named}. The client is new, so finding out who it is and who wrote counts as well.
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        notes.print("stopped")
        sys.exit(130)
    except RuntimeError as error:
        notes.print(f"[red]{error}[/red]")
        sys.exit(1)
