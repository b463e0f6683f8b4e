"""`sayso topics`: create, check and read the topics."""

from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from sayso.schemas.topics import TopicSpec
    from sayso.settings import Settings
    from sayso.streams.topic_plan import Alteration, WantedTopic

app = typer.Typer(help="Create, check and read the Kafka topics.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="JSON for scripts.")]


@app.command()
@reported()
def apply(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create the topics that are missing and change settings that differ.

    Refuses to change a topic's partitions.

    Example: sayso topics apply --dry-run
    """
    from sayso.settings import load_settings
    from sayso.streams.errors import TopicsMismatch
    from sayso.streams.topics import apply_topics, plan_topics

    settings = load_settings()
    password = settings.kafka_password()
    wanted = _wanted(settings)
    with _waiting():
        if dry_run:
            plan = plan_topics(settings.kafka, wanted, password=password)
            if plan.refused:
                raise TopicsMismatch(plan.refused)
            created, altered = [topic.name for topic in plan.create], plan.alter
        else:
            report = apply_topics(settings.kafka, wanted, password=password)
            created, altered = list(report.created), report.altered
    _say_applied(created, altered, total=len(wanted), dry_run=dry_run, as_json=as_json)


@app.command()
@reported()
def check(as_json: Json = False) -> None:
    """Compare the topics with what this build needs; exit 1 when a worker would refuse to start.

    Example: sayso topics check
    """
    import json

    from sayso.settings import load_settings
    from sayso.streams.errors import TopicsMismatch
    from sayso.streams.topics import plan_topics

    settings = load_settings()
    wanted = _wanted(settings)
    with _waiting():
        plan = plan_topics(settings.kafka, wanted, password=settings.kafka_password())
    if as_json:
        typer.echo(json.dumps({"topics": len(wanted), "problems": plan.problems}))
        raise typer.Exit(1 if plan.problems else 0)
    if plan.problems:
        raise TopicsMismatch(plan.problems)
    typer.echo(f"all {len(wanted)} topics are as they should be")


@app.command()
@reported()
def read(
    topic: Annotated[str, typer.Argument(help="The topic's name, without the prefix.")],
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME|OFFSET",
            help="Begin here: a time (2026-11-30T12:00, UTC unless told), an age (2h, 30m, 7d), "
            "or an offset of every partition. The first record by default; with --follow the next.",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME|OFFSET", help="Stop before this.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Only this key; 'acme/*' is every key that begins so.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, with headers and all values.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with new records until Ctrl-C.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many records.")] = None,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="From the embedded Kafka in the data folder.")
    ] = False,
) -> None:
    """Print a topic's records, each partition in its order.

    Example: sayso topics read decisions --from 2h --key 'acme/*' --json
    """
    from itertools import islice

    from sayso.cli.embedded import with_broker
    from sayso.cli.points import point
    from sayso.cli.records import Printer
    from sayso.settings import load_settings
    from sayso.streams.reader import read_topic

    spec = _known_topic(topic)
    if follow and end is not None:
        raise typer.BadParameter(
            "--follow never stops; leave one of the two out", param_hint="--to"
        )
    begin = point(start, option="--from")
    stop = point(end, option="--to")
    printer = Printer(spec, as_json=as_json)
    with with_broker(load_settings(), embedded=embedded) as settings:
        records = read_topic(
            settings.kafka,
            topic,
            password=settings.kafka_password(),
            start=begin if begin is not None else ("next" if follow else "first"),
            end=stop,
            key=key,
            follow=follow,
        )
        try:
            for record in islice(records, limit):
                printer.show(record)
        except KeyboardInterrupt:
            raise typer.Exit(0 if follow else 130) from None
        finally:
            records.close()
            printer.finish()


def _wanted(settings: "Settings") -> "tuple[WantedTopic, ...]":
    from sayso.streams.topics import wanted_topics
    from sayso.worker import TABLES

    return wanted_topics(settings.kafka, tables=TABLES)


def _known_topic(name: str) -> "TopicSpec":
    from sayso.schemas.topics import BY_NAME

    if name not in BY_NAME:
        known = ", ".join(sorted(BY_NAME))
        raise typer.BadParameter(f"there is no topic {name!r}; there are {known}")
    return BY_NAME[name]


def _say_applied(
    created: "Sequence[str]",
    altered: "Sequence[Alteration]",
    *,
    total: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    import json

    if as_json:
        changes = [
            {"topic": one.topic, "setting": one.setting, "from": one.now, "to": one.wanted}
            for one in altered
        ]
        typer.echo(json.dumps({"created": list(created), "changed": changes, "dry_run": dry_run}))
        return
    would = "would be " if dry_run else ""
    for name in created:
        typer.echo(f"{name}: {would}created")
    for one in altered:
        typer.echo(f"{one.topic}: {one.setting} {would}changed from {one.now} to {one.wanted}")
    touched = {*created, *(one.topic for one in altered)}
    typer.echo(f"{total - len(touched)} of {total} topics were as they should be")


def _waiting() -> "AbstractContextManager[object]":
    from rich.console import Console

    return Console(stderr=True).status("talking to Kafka ...")
