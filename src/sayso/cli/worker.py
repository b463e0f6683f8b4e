"""`sayso worker`."""

import os
import signal
import threading
import time
from typing import Annotated, Final

import typer

from sayso.cli.failures import reported

_GRACE: Final = 5.0
"""Seconds to stop in once whoever started us is gone, and the broker they brought with them."""


@reported()
def worker(
    embedded: Annotated[
        bool, typer.Option("--embedded", help="Start a broker in the data folder as well.")
    ] = False,
    schedule: Annotated[
        bool, typer.Option(help="Publish ticks on a schedule.", show_default=True)
    ] = True,
    stop_with_input: Annotated[
        bool, typer.Option("--stop-with-input", hidden=True, help="Stop when the input ends.")
    ] = False,
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
    if stop_with_input:
        threading.Thread(target=_stop_with_input, daemon=True).start()
    with with_broker(load_settings(), embedded=embedded) as settings:
        uvloop.run(run_worker(settings, schedule=schedule))


def _stop_with_input() -> None:
    """Stop at the end of standard input: a pipe closes when its other end dies, however."""
    while os.read(0, 1_024):
        continue
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os.kill(os.getpid(), signal.SIGKILL)
