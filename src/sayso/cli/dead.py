"""`sayso dead`: records that could not be processed, and what is done about them."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from sayso.cli.dead_cases import Filter
    from sayso.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Records that could not be processed.")

Json = Annotated[bool, typer.Option("--json", help="JSON lines for scripts.")]
Embedded = Annotated[
    bool, typer.Option("--embedded", help="On the embedded Kafka in the data folder.")
]
Topic = Annotated[str | None, typer.Option(help="Only those of this topic.")]
ErrorName = Annotated[
    str | None, typer.Option("--error", help="Only those of this error, such as ValueError.")
]
Since = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only those that died then or later: 2h, 7d."),
]
Until = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Only those that died before this.")
]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="As `sayso dead list` shows them."),
]
Everything = Annotated[bool, typer.Option("--all", help="Every open one that the filters leave.")]
Reason = Annotated[str | None, typer.Option(help="Why, for the audit.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, do nothing.")]
Wait = Annotated[
    float, typer.Option(help="Seconds to wait until a worker has taken each up.", min=0)
]


@app.command("list")
@reported()
def list_cases(
    topic: Topic = None,
    error: ErrorName = None,
    since: Since = None,
    until: Until = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Also those that were put back or dropped.")
    ] = False,
    as_json: Json = False,
    embedded: Embedded = False,
) -> None:
    """List dead records, newest last, and how many later ones of their key wait for each.

    Example: sayso dead list --topic slack.messages --from 2h
    """
    from sayso.cli.dead_cases import as_json_line, print_table, read
    from sayso.cli.embedded import with_broker

    wanted = _filter(topic, error, since, until)
    with with_broker(_settings(), embedded=embedded) as settings:
        cases = wanted.of(read(settings).by_id.values(), prefix=settings.kafka.prefix)
    cases = [case for case in cases if closed or case.state == "open"]
    if not as_json:
        print_table(cases)
        return
    for case in cases:
        typer.echo(as_json_line(case))


@app.command()
@reported()
def show(
    case_id: Annotated[str, typer.Argument(metavar="ID", help="As `sayso dead list` shows it.")],
    as_json: Json = False,
    embedded: Embedded = False,
) -> None:
    """Show one dead record with its bytes, and what waits for it.

    Example: sayso dead show slack.messages:3:1207
    """
    from sayso.cli.dead_cases import as_json_line, named, print_case, read
    from sayso.cli.embedded import with_broker

    with with_broker(_settings(), embedded=embedded) as settings:
        (case,) = named(read(settings), [case_id])
    if as_json:
        typer.echo(as_json_line(case))
    else:
        print_case(case)


@app.command()
@reported()
def requeue(
    ids: Ids = None,
    everything: Everything = False,
    topic: Topic = None,
    error: ErrorName = None,
    since: Since = None,
    until: Until = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    wait: Wait = 30.0,
    as_json: Json = False,
) -> None:
    """Put dead records back on their topics, and after each those that wait for it, in order.

    Mend the cause first: what dies again is a dead letter again. Exit code 1 when no worker took
    them up in time, or when one died again meanwhile.

    Example: sayso dead requeue --all --error ValueError --reason "fixed in 1.2"
    """
    wanted = _filter(topic, error, since, until)
    _act("requeue", ids or [], everything, wanted, reason, dry_run, wait, as_json)


@app.command()
@reported()
def drop(
    ids: Ids = None,
    everything: Everything = False,
    topic: Topic = None,
    error: ErrorName = None,
    since: Since = None,
    until: Until = None,
    reason: Reason = None,
    dry_run: DryRun = False,
    wait: Wait = 30.0,
    as_json: Json = False,
) -> None:
    """Give dead records up; those that wait for them are processed, in order.

    The letter stays on `dead` until its time is over, and `requeue ID` still works. Exit code 1
    when no worker took up those that wait in time.

    Example: sayso dead drop slack.messages:3:1207 --reason "test data"
    """
    wanted = _filter(topic, error, since, until)
    _act("drop", ids or [], everything, wanted, reason, dry_run, wait, as_json)


def _act(
    action: Literal["requeue", "drop"],
    ids: list[str],
    everything: bool,
    wanted: "Filter",
    reason: str | None,
    dry_run: bool,
    wait: float,
    as_json: bool,
) -> None:
    from sayso.cli.dead_cases import as_json_line, chosen
    from sayso.streams.requeue import Requeue

    settings = _settings()
    cases = chosen(settings, ids, everything=everything, wanted=wanted)
    done = "put back" if action == "requeue" else "dropped"
    requeueing = Requeue(settings.kafka, password=settings.kafka_password())
    is_well = True
    for case in cases:
        records = len(case.waiting) + 1
        if not dry_run:
            act = requeueing.requeue if action == "requeue" else requeueing.drop
            result = act(case, reason=reason, wait=wait)
            records = result.records
            if result.problem is not None:
                is_well = False
                typer.echo(f"{case.id}: {result.problem}", err=True)
        if as_json:
            typer.echo(as_json_line(case, dry_run=dry_run, records=records))
        else:
            also = f", and {len(case.waiting)} that wait for it" if case.waiting else ""
            typer.echo(f"{case.id} {'would be ' if dry_run else ''}{done}{also}")
    if not cases:
        typer.echo("no dead letters", err=as_json)
    if not is_well:
        raise typer.Exit(1)


def _filter(topic: str | None, error: str | None, since: str | None, until: str | None) -> "Filter":
    from sayso.cli.dead_cases import Filter

    return Filter(topic=topic, error=error, since=since, until=until)


def _settings() -> "Settings":
    from sayso.settings import load_settings

    return load_settings()
