"""Expected failures become one sentence on standard error and exit code 1."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

INTERRUPTED: Final = 130
"""Exit code of a command that was stopped by Ctrl-C, as shells expect it."""


@contextmanager
def reported() -> Iterator[None]:
    """Report what an operator can mend; anything else is a fault of ours and keeps its traceback.

    Works as a context manager and as a decorator of a command.
    """
    from sayso.settings import WrongSettings
    from sayso.streams.errors import BrokerFailed, BrokerUnreachable, NotDelivered, TopicsMismatch

    try:
        yield
    except (WrongSettings, BrokerUnreachable, BrokerFailed, NotDelivered, TopicsMismatch) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except SystemError as error:
        # Kafka's client answers an interrupt in the middle of a callback with this.
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        raise typer.Exit(INTERRUPTED) from None
