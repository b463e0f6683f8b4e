"""`sayso suggestions`: the strategic feedback loop by hand."""

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from sayso.schemas.feedback import FeedbackRow
    from sayso.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Replies to our posts and what they settle.")

Org = Annotated[str | None, typer.Option(help="The org, when the settings declare several.")]
Json = Annotated[bool, typer.Option("--json", help="JSON lines for scripts.")]
Embedded = Annotated[
    bool, typer.Option("--embedded", help="Bring a broker and a worker for this command.")
]
Broker = Annotated[
    bool, typer.Option("--embedded", help="Start the embedded broker for this command.")
]
Timeout = Annotated[float, typer.Option(help="Seconds to wait for the outcomes.", min=1)]


@app.command()
@reported()
def tick(
    trigger: Annotated[
        str | None,
        typer.Option(metavar="CHANNEL:TS", help="Handle this one message and read nothing else."),
    ] = None,
    org: Org = None,
    as_json: Json = False,
    embedded: Embedded = False,
    timeout: Timeout = 120.0,
) -> None:
    """Read the suggestions channel once and print what each reply settled.

    Refusals go to standard error. Exit code 1 when the scan failed or an outcome is missing.

    Example: sayso suggestions tick --json
    """
    from sayso.cli.embedded import with_worker
    from sayso.cli.ticks import run_tick, tick_for

    settings = _settings()
    name, _ = settings.org(org)
    asked = tick_for(name, settings.suggestions_channel(name), trigger=trigger)
    with with_worker(settings, embedded=embedded) as (running, worker):
        done = run_tick(running, asked, as_json=as_json, timeout=timeout, worker=worker)
    if not done:
        raise typer.Exit(1)


@app.command()
@reported()
def post(
    text: Annotated[str, typer.Argument(help="What to post; at most 4,000 characters.")],
    org: Org = None,
    as_json: Json = False,
    embedded: Embedded = False,
    timeout: Timeout = 60.0,
) -> None:
    """Post to the suggestions channel as the bot and watch the thread from its birth.

    Example: sayso suggestions post "Shall we raise the target margin to 40 %?"
    """
    from sayso.cli.embedded import with_worker
    from sayso.cli.posting import effect_for, run_effect

    settings = _settings()
    name, _ = settings.org(org)
    effect = effect_for(name, settings.suggestions_channel(name), text)
    with with_worker(settings, embedded=embedded) as (running, worker):
        done = run_effect(running, effect, as_json=as_json, timeout=timeout, worker=worker)
    if not done:
        raise typer.Exit(1)


@app.command("list")
@reported()
def list_rows(
    status: Annotated[
        str | None, typer.Option(help="pending, processed, ignored or failed.")
    ] = None,
    org: Org = None,
    as_json: Json = False,
    embedded: Broker = False,
) -> None:
    """List feedback rows, newest last.

    Example: sayso suggestions list --status failed
    """
    from sayso.cli.embedded import with_broker

    known = ("pending", "processed", "ignored", "failed")
    if status is not None and status not in known:
        typer.echo(f"--status is one of {', '.join(known)}, not {status!r}", err=True)
        raise typer.Exit(2)
    with with_broker(_settings(), embedded=embedded) as settings:
        rows = [
            row
            for row in _rows(settings)
            if (org is None or row.org == org) and (status is None or row.status == status)
        ]
    if as_json:
        for row in rows:
            typer.echo(row.model_dump_json())
        return
    from rich.console import Console
    from rich.table import Column, Table
    from rich.text import Text

    from sayso.cli.records import printable

    # The ts is what `show` takes, so it is never cut.
    table = Table(
        Column("ts", no_wrap=True, min_width=17),
        "status",
        "tries",
        "by",
        "reply",
        "outcome",
        box=None,
    )
    for row in rows:
        cells = (
            row.ts,
            row.status,
            str(row.attempt_count),
            row.message.author.id,
            _short(row.message.text),
            _short(_outcome(row)),
        )
        # Text, since what people wrote may look like markup or steer a terminal.
        table.add_row(*(Text(printable(cell.encode())) for cell in cells))
    Console().print(table if rows else "no feedback rows")


@app.command()
@reported()
def show(
    ts: Annotated[str, typer.Argument(help="The reply's ts.")],
    org: Org = None,
    as_json: Json = False,
    embedded: Broker = False,
) -> None:
    """Show one feedback row, its decision and what was posted because of it.

    Example: sayso suggestions show 1796000000.000100
    """
    from sayso.cli.embedded import with_broker
    from sayso.cli.evidence import evidence_of, print_evidence

    with with_broker(_settings(), embedded=embedded) as settings:
        found = [row for row in _rows(settings) if row.ts == ts and org in (None, row.org)]
        if not found:
            typer.echo(
                f"there is no feedback row for ts {ts}; see `sayso suggestions list`", err=True
            )
            raise typer.Exit(1)
        for row in found:
            evidence = evidence_of(settings, row)
            if as_json:
                typer.echo(evidence.model_dump_json())
            else:
                print_evidence(evidence)


def _settings() -> "Settings":
    from sayso.settings import load_settings

    return load_settings()


def _rows(settings: "Settings") -> list["FeedbackRow"]:
    """Every feedback row, oldest reply first; what cannot be read is named on standard error."""
    from sayso.schemas.feedback import FeedbackRow
    from sayso.streams.latest import latest_by_key

    latest = latest_by_key(
        settings.kafka, "feedback", FeedbackRow, password=settings.kafka_password()
    )
    for unreadable in latest.unreadable:
        typer.echo(f"cannot be read: {unreadable}", err=True)
    return sorted(latest.records.values(), key=lambda row: (row.org, row.channel, row.ts))


def _outcome(row: "FeedbackRow") -> str:
    if row.status == "processed" and row.conclusion is not None:
        return row.conclusion.title
    return row.last_error or row.reason or ""


def _short(text: str, length: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"
