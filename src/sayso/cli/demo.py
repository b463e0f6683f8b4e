"""`sayso demo`: the main job on this machine, played and checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    pass


@reported()
def demo(
    data_dir: Annotated[Path, typer.Option(help="Folder that keeps Kafka's data.")] = Path(
        "demo-data"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove what earlier demos left.")] = False,
) -> None:
    """Play a workspace."""
    from functools import partial

    from sayso.cli.broker import shown_progress
    from sayso.cli.embedded import worker_process
    from sayso.demo.perform import perform
    from sayso.demo.stage import KAFKA, PARTITIONS, prepare_folder
    from sayso.streams.broker.server import start_broker
    from sayso.streams.settings import KafkaSettings

    folder = prepare_folder(data_dir, fresh=fresh)
    with (
        shown_progress() as progress,
        start_broker(folder / KAFKA, on_progress=progress) as broker,
    ):
        report = perform(
            folder=folder,
            kafka=KafkaSettings(bootstrap=broker.bootstrap, partitions=PARTITIONS),
            worker=partial(worker_process, schedule=False),
            tell=lambda line: typer.echo(line, err=True),
        )
    typer.echo(report.model_dump_json(indent=1))
    raise typer.Exit(0 if report.is_right else 1)
