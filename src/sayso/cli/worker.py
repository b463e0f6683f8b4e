"""`sayso worker`."""

from typing import Annotated

import typer

from sayso.cli.failures import reported


@reported()
def worker(
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Start a broker in the data folder as well.")
    ] = False,
    schedule: Annotated[
        bool, typer.Option(help="Publish ticks on a schedule.", show_default=True)
    ] = True,
) -> None:
    """Run one worker until Ctrl-C or SIGTERM.

    Example: sayso worker --embedded
    """
    import uvloop

    from sayso.cli.embedded import with_broker
    from sayso.logs import set_up_logs
    from sayso.settings import load_settings
    from sayso.worker import run_worker

    set_up_logs()
    with with_broker(load_settings(), embedded=embedded) as settings:
        uvloop.run(run_worker(settings, schedule=schedule))
