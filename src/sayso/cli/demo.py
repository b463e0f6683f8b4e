"""`sayso demo`: the main job on this machine, played and checked."""

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from sayso.demo.report import Report
    from sayso.streams.settings import KafkaSettings

_INTERRUPTED = 130


@reported()
def demo(
    data_dir: Annotated[
        Path, typer.Option(help="Folder that keeps Kafka's data; a second run goes on with it.")
    ] = Path("demo-data"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Remove what earlier demos left in the folder first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    real: Annotated[
        bool,
        typer.Option(
            "--real",
            help="Use the real Slack and model: post one question to --channel and settle what "
            "people answer. Needs SLACK_BOT_TOKEN and ANTHROPIC_API_KEY.",
        ),
    ] = False,
    channel: Annotated[
        str | None,
        typer.Option(help="With --real: id of a channel made for this, the bot invited."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=1, max=86_400, help="With --real: seconds to wait for answers.")
    ] = 120.0,
) -> None:
    """Play a workspace on the embedded Kafka and check what came of each message.

    Slack and the model are stand-ins on this machine, whatever tokens the environment holds; only
    --real with --channel posts anywhere else. Exit code 1 when an outcome is not as it has to be.

    Example: sayso demo; or: sayso demo --real --channel C0123456789 --wait 300
    """
    from sayso.cli.broker import shown_progress
    from sayso.demo.errors import DemoFailed
    from sayso.demo.stage import KAFKA, PARTITIONS, prepare_folder, settings_file
    from sayso.demo.tables import print_report
    from sayso.streams.broker.server import start_broker
    from sayso.streams.settings import KafkaSettings

    _refuse_half_real(real=real, channel=channel)
    started = time.monotonic()
    interrupt = _Interrupt()
    try:
        folder = prepare_folder(data_dir / "real" if real else data_dir, fresh=fresh)
        with (
            shown_progress() as progress,
            start_broker(folder / KAFKA, on_progress=progress) as broker,
            _told(started) as tell,
        ):
            kafka = KafkaSettings(bootstrap=broker.bootstrap, partitions=PARTITIONS)
            report = _performed(folder, kafka, tell, channel=channel if real else None, wait=wait)
    except DemoFailed as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except (KeyboardInterrupt, SystemError):
        # Kafka's client answers an interrupt in the middle of its work with a SystemError.
        if not interrupt.came:
            raise
        typer.echo("stopped; nothing is left running", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    report = report.model_copy(
        update={
            "look_further": _commands(settings_file(folder), report),
            "seconds": round(time.monotonic() - started, 1),
        }
    )
    if as_json:
        typer.echo(report.model_dump_json(indent=1))
    else:
        print_report(report)
    if not report.is_right:
        count = len(report.differences)
        typer.echo(f"{count} outcomes are not as they have to be; they are named above", err=True)
        raise typer.Exit(1)


class _Interrupt:
    """Ctrl-C, or SIGTERM: whoever sends that wants nothing left running either."""

    def __init__(self) -> None:
        self.came = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def _take(self, *_: object) -> None:
        self.came = True
        raise KeyboardInterrupt


def _performed(
    folder: Path,
    kafka: "KafkaSettings",
    tell: Callable[[str], None],
    *,
    channel: str | None,
    wait: float,
) -> "Report":
    from functools import partial

    from sayso.cli.embedded import worker_process
    from sayso.demo.perform import perform
    from sayso.demo.real import perform_real

    worker = partial(worker_process, schedule=False)
    if channel is None:
        return perform(folder=folder, kafka=kafka, worker=worker, tell=tell)
    return perform_real(
        folder=folder, kafka=kafka, channel=channel, wait=wait, worker=worker, tell=tell
    )


def _refuse_half_real(*, real: bool, channel: str | None) -> None:
    if real and channel is None:
        raise typer.BadParameter(
            "--real posts to a workspace, so it needs the channel to post to",
            param_hint="--channel",
        )
    if channel is not None and not real:
        raise typer.BadParameter(
            "is for --real; without it everything stays on this machine", param_hint="--channel"
        )
    if channel is not None and not re.fullmatch(r"[CG][A-Z0-9]{2,}", channel):
        raise typer.BadParameter(
            f"{channel!r} is no channel id such as C0123456789", param_hint="--channel"
        )


@contextmanager
def _told(started: float) -> Iterator[Callable[[str], None]]:
    """Lines about what goes on, on standard error, and the last one beside a spinner."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status("") as status:

        def tell(line: str) -> None:
            console.print(Text(f"{time.monotonic() - started:5.1f} s  {line}"), highlight=False)
            status.update(Text(line))

        yield tell


def _commands(settings: Path, report: "Report") -> tuple[str, ...]:
    """Commands that read what is left, from the working folder."""
    program = f"SAYSO_CONFIG={shlex.quote(_short(settings))} {_program()}"
    last = next((one.ts for one in report.messages if one.outcome == "processed"), None)
    return (
        f"{program} status --embedded",
        f"{program} suggestions list --embedded",
        *([f"{program} suggestions show {last} --embedded"] if last else []),
        f"{program} topics read decisions --embedded",
    )


def _program() -> str:
    called = Path(sys.argv[0])
    if called.name == "sayso" and called.is_file():
        return shlex.quote(_short(called.resolve()))
    return "sayso"


def _short(path: Path) -> str:
    """Seen from the working folder, when that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
