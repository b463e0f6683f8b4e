"""`make bench`: what Sayso costs, measured on this machine beside its peer.

Nothing here is a test: figures are printed, never asserted.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from calls import count_calls
from engine import BenchFailed, Round, engines, run_round
from pipeline import run_pipeline
from quix_env import ROOT, quix_python
from report import Figures, machine, print_figures, write_document
from sayso.streams.broker.server import start_broker
from sayso.streams.errors import BrokerFailed

PARTS = ("engine", "calls", "pipeline")
RESULTS = ROOT / "bench" / "results" / "latest.json"
DOCUMENT = ROOT / "docs" / "performance.md"
THREADS, CHANGED = 1_000, 3
_INTERRUPTED = 130

out = Console()
notes = Console(stderr=True)


class Steps:
    """A bar of equal steps, each with a share of its own."""

    def __init__(self, progress: Progress, count: int) -> None:
        self._progress = progress
        self._bar = progress.add_task("starting", total=count)
        self._before = -1

    def step(self, name: str) -> Callable[[float], None]:
        """Begin a step; call what is returned with the share of it that is done."""
        self._before += 1
        begun = self._before
        self._progress.update(self._bar, description=name, completed=begun)
        return lambda share: self._progress.update(self._bar, completed=begun + min(share, 1.0))


def main() -> int:
    """Measure what was asked for."""
    args = _arguments()
    known = machine()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=notes,
        transient=True,
    ) as progress:
        figures = _measured(args, progress, known)
    print_figures(figures, out)
    for file in filter(None, (RESULTS, args.json)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(figures.as_json(), indent=2) + "\n", encoding="utf-8")
    if args.write_docs:
        write_document(figures, DOCUMENT)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench",
        description=__doc__,
        epilog='example: make bench ARGS="--rounds 5 --records 50000"',
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each engine (3)")
    parser.add_argument("--records", type=int, default=20_000, help="records a round (20000)")
    parser.add_argument("--burst", type=int, default=200, help="replies at once (200)")
    parser.add_argument("--rate", type=float, default=10.0, help="replies a second (10)")
    parser.add_argument("--quick", action="store_true", help="a short run; figures are rough")
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    parser.add_argument("--write-docs", action="store_true", help="write docs/performance.md")
    args = parser.parse_args()
    if args.rounds < 1 or args.records < 1_000 or args.burst < 1 or not 0.1 <= args.rate <= 1_000:
        parser.error(
            "--rounds and --burst are at least 1, --records at least 1000, --rate 0.1 to 1000"
        )
    if args.write_docs and (args.only or args.quick):
        parser.error("--write-docs needs every figure, and none of a short run")
    args.seconds = 15.0
    if args.quick:
        args.rounds, args.records, args.burst, args.seconds = 1, 3_000, 30, 5.0
    return args


def _measured(args: argparse.Namespace, progress: Progress, known: dict[str, object]) -> Figures:
    wanted = (args.only,) if args.only else PARTS
    rounds: list[Round] = []
    calls = whole = None
    count = sum(2 * args.rounds if part == "engine" else 1 for part in wanted)
    steps = Steps(progress, count)
    if "calls" in wanted:
        steps.step(f"a tick over {THREADS:,} threads")
        calls = asyncio.run(count_calls(threads=THREADS, changed=CHANGED))
    if wanted == ("calls",):
        return Figures(machine=known, records=args.records, calls=calls)
    pair = engines(quix_python(progress.console.print)) if "engine" in wanted else ()
    with (
        tempfile.TemporaryDirectory(prefix="sayso-bench-") as name,
        start_broker(Path(name) / "kafka") as broker,
    ):
        if "pipeline" in wanted:
            whole = run_pipeline(
                bootstrap=broker.bootstrap,
                folder=Path(name) / "pipeline",
                burst=args.burst,
                rate=args.rate,
                seconds=args.seconds,
                done=steps.step("whole pipeline"),
            )
        for number in range(args.rounds if pair else 0):
            # Who goes first alternates too.
            for engine in pair if number % 2 == 0 else reversed(pair):
                measured = run_round(
                    engine,
                    bootstrap=broker.bootstrap,
                    count=args.records,
                    folder=Path(name),
                    done=steps.step(f"round {number + 1}: {engine.name}"),
                )
                rounds.append(measured)
    return Figures(
        machine=known, records=args.records, rounds=tuple(rounds), calls=calls, whole=whole
    )


def _run() -> int:
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        return main()
    except (KeyboardInterrupt, SystemError):
        # Kafka's client answers an interrupt in the middle of its work with a SystemError.
        if not interrupted:
            raise
        notes.print("stopped; nothing is left running")
        return _INTERRUPTED
    except (BenchFailed, BrokerFailed, OSError) as error:
        notes.print(str(error), style="red", markup=False)
        return 1


if __name__ == "__main__":
    sys.exit(_run())
