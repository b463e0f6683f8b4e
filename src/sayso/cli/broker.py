"""`sayso broker`: the embedded Kafka in the foreground."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from sayso.streams.broker.progress import BrokerProgress


@reported()
def broker(
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder of its data; `kafka` in the settings' data_dir by default."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="Port on loopback; the last one or a free one."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print its address as JSON.")] = False,
) -> None:
    """Run a real single-node Kafka on this machine until Ctrl-C.

    The first start downloads Kafka (45 MB). The data stays in the folder.

    Example: sayso broker --port 9092
    """
    from sayso.settings import load_settings
    from sayso.streams.broker.server import start_broker

    folder = data_dir if data_dir is not None else load_settings().data_dir / "kafka"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with shown_progress() as on_progress:
            running = start_broker(folder, port=port, on_progress=on_progress)
        with running:
            if as_json:
                found = {"bootstrap": running.bootstrap, "pid": running.pid}
                typer.echo(json.dumps({**found, "data_dir": str(running.data_dir)}))
            else:
                typer.echo(f"kafka.bootstrap is {running.bootstrap} (Ctrl-C stops it)")
            why = running.wait()
        if why is not None:
            raise why
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)


@contextmanager
def shown_progress() -> Iterator[Callable[["BrokerProgress"], None]]:
    """Show a start on standard error, from the first report until Kafka is ready.

    Yields what `start_broker` reports to. Nothing is shown for a broker found running.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bars = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    shown = {"": bars.add_task("starting", visible=False)}

    def show(progress: "BrokerProgress") -> None:
        if progress.step not in shown:
            bars.update(shown.popitem()[1], visible=False)
            total = progress.total or None
            shown[progress.step] = bars.add_task(progress.text, total=total)
            bars.start()
        if progress.step == "download":
            text = (
                f"downloading Kafka: jar {progress.done} of {progress.total}, "
                f"{progress.fetched / 1e6:.0f} MB"
            )
            bars.update(shown["download"], description=text, completed=progress.done)
        if progress.step == "ready":
            bars.stop()

    try:
        yield show
    finally:
        bars.stop()
