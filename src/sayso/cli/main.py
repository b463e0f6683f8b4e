"""The `sayso` command. Groups import what they need when they run, so that help stays quick."""

import sys

import typer

app = typer.Typer(
    name="sayso",
    help="Turns what people say to agents into settled decisions on Kafka topics.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; exit codes are 0 done, 1 refused or failed, 2 usage."""
    sys.exit(app())
