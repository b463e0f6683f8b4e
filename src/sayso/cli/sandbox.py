"""`sayso sandbox`: stand-ins for outside systems, each running alone."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="sandbox",
    help="Stand-ins for outside systems, for people who write agents.",
    no_args_is_help=True,
)


@app.command(
    epilog="Example: sayso sandbox slack --port 41800; set slack.api_url to what it prints, and "
    'curl -d \'{"channel": "C0SUGGEST", "user": "U0LEAD", "text": "yes"}\' '
    "http://127.0.0.1:41800/_sandbox/say"
)
def slack(
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 takes a free one.")
    ] = 0,
    token: Annotated[
        str | None, typer.Option(help="The bot token it accepts; xoxb-sandbox when not given.")
    ] = None,
) -> None:
    """Run a Slack of one's own with a small made-up workspace, until Ctrl-C.

    It prints its addresses. People are played by POST to /_sandbox/say, edit, delete, react;
    faults are ordered at /_sandbox/faults; state and calls are read at /_sandbox/state and calls.
    """
    from sayso.connectors.slack.sandbox import SlackSandbox
    from sayso.connectors.slack.sandbox.made_up import made_up_workspace
    from sayso.connectors.slack.sandbox.workspace import DEFAULT_TOKEN

    workspace = made_up_workspace(token=token or DEFAULT_TOKEN)
    try:
        sandbox = SlackSandbox(workspace=workspace, port=port)
    except OSError as error:
        typer.echo(
            f"port {port} cannot be opened ({error.strerror}); choose another with --port", err=True
        )
        raise typer.Exit(1) from None
    typer.echo(f"slack.api_url is {sandbox.url}")
    typer.echo(f"drive it at {sandbox.base_url}_sandbox/")
    with suppress(KeyboardInterrupt):
        sandbox.serve()


@app.command(
    epilog="Example: sayso sandbox model --port 41900; set model.url to what it prints, and "
    'curl -d \'[{"when": "yes", "fault": "overloaded", "times": 1}]\' '
    "http://127.0.0.1:41900/_sandbox/script"
)
def model(
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on loopback; 0 takes a free one.")
    ] = 0,
    key: Annotated[
        str | None, typer.Option(help="The API key it accepts; any when not given.")
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="A JSON list of lines: when, answer or text, fault, times.")
    ] = None,
) -> None:
    """Run a stand-in for the Anthropic Messages API, until Ctrl-C. No model answers there.

    Replies are answered from a script, else by simple rules such as "set <field> to <value>".
    Lines are added by POST to /_sandbox/script; questions are read at /_sandbox/journal.
    """
    from pydantic import ValidationError

    from sayso.connectors.anthropic.sandbox.script import Script, read_lines
    from sayso.connectors.anthropic.sandbox.server import ModelSandbox

    try:
        lines = read_lines(script.read_bytes()) if script else ()
    except (OSError, ValidationError) as error:
        wrong = error.strerror if isinstance(error, OSError) else f"{error.errors()[0]['msg']}"
        typer.echo(f"--script {script} cannot be read: {wrong}; correct the file", err=True)
        raise typer.Exit(1) from None
    try:
        sandbox = ModelSandbox(script=Script(*lines), key=key, port=port)
    except OSError as error:
        typer.echo(
            f"port {port} cannot be opened ({error.strerror}); choose another with --port", err=True
        )
        raise typer.Exit(1) from None
    typer.echo(f"model.url is {sandbox.url} (a stand-in: no model answers here)")
    typer.echo(f"drive it at {sandbox.url}/_sandbox/")
    with suppress(KeyboardInterrupt):
        sandbox.serve()
