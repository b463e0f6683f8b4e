"""The `sayso` command. Groups import what they need when they run, so that help stays quick."""

import sys

import typer

from sayso.cli import broker, dead, demo, doctor, sandbox, status, suggestions, topics, worker

app = typer.Typer(
    name="sayso",
    help="Turns what people say to agents into settled decisions on Kafka topics.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(demo.demo)
app.command()(doctor.doctor)
app.command()(worker.worker)
app.command()(broker.broker)
app.command()(status.status)
app.add_typer(topics.app, name="topics")
app.add_typer(suggestions.app, name="suggestions")
app.add_typer(dead.app, name="dead")
app.add_typer(sandbox.app, name="sandbox")


def main() -> None:
    """Run the command line; exit codes are 0 done, 1 refused or failed, 2 usage."""
    sys.exit(app())
