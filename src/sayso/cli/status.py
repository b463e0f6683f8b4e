"""`sayso status`: where every item stands."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sayso.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from sayso.schemas.status import Status
    from sayso.settings import Settings
    from sayso.streams.latest import Latest
    from sayso.streams.reader import RawRecord

_FRAME = 4
"""Lines of a live view that are not rows."""


@reported()
def status(
    kind: Annotated[
        str | None, typer.Option(help="feedback, proposal, task, candidate or example.")
    ] = None,
    org: Annotated[str | None, typer.Option(help="Only this org.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with changes until Ctrl-C.")
    ] = False,
    embedded: Annotated[
        bool, typer.Option("--embedded", help="From the embedded Kafka in the data folder.")
    ] = False,
) -> None:
    """Print the latest status of every feedback row, proposal, task, candidate and example.

    Example: sayso status --kind feedback --follow
    """
    from rich.console import Console

    from sayso.cli.embedded import with_broker
    from sayso.schemas.status import Status
    from sayso.settings import load_settings
    from sayso.streams.latest import latest_by_key

    is_asked_for = _asked_for(kind, org)
    with with_broker(load_settings(), embedded=embedded) as settings:
        try:
            with Console(stderr=True).status("reading the status topic ..."):
                latest = latest_by_key(
                    settings.kafka, "status", Status, password=settings.kafka_password()
                )
            for one in latest.unreadable:
                typer.echo(f"unreadable: {one}", err=True)
            if follow and not as_json and sys.stdout.isatty():
                _live(settings, latest, is_asked_for)
                return
            _print(_rows(latest, is_asked_for), as_json=as_json)
            if follow:
                _lines(settings, latest, is_asked_for, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(0 if follow else 130) from None


def _asked_for(kind: str | None, org: str | None) -> "Callable[[Status], bool]":
    from typing import get_args

    from sayso.schemas.status import StatusKind

    if kind is not None and kind not in get_args(StatusKind):
        known = ", ".join(get_args(StatusKind))
        raise typer.BadParameter(
            f"there is no kind {kind!r}; there are {known}", param_hint="--kind"
        )
    return lambda one: kind in (None, one.kind) and org in (None, one.org)


def _rows(latest: "Latest[Status]", is_asked_for: "Callable[[Status], bool]") -> "list[Status]":
    # A list first: a live view is drawn while records come in.
    rows = [one for one in list(latest.records.values()) if is_asked_for(one)]
    return sorted(rows, key=lambda one: (one.org, one.kind, one.id))


def _print(rows: "list[Status]", *, as_json: bool) -> None:
    from rich.console import Console

    if as_json:
        for one in rows:
            typer.echo(one.model_dump_json())
    elif rows:
        Console().print(_table(rows))
    else:
        typer.echo("no item has a status yet")


def _table(rows: "Iterable[Status]") -> "Table":
    from rich.table import Column, Table
    from rich.text import Text

    from sayso.cli.records import printable

    # The item is what other commands take, so it is never cut.
    rows = list(rows)
    item = Column("item", no_wrap=True, min_width=max((len(one.id) for one in rows), default=0))
    table = Table("org", "kind", item, "state", "at", "detail", box=None, padding=(0, 2, 0, 0))
    for one in rows:
        cells = (one.org, one.kind, one.id, one.state, _at(one), one.detail or "")
        table.add_row(
            # Text, since what people wrote may look like markup.
            *(Text(printable(cell.encode())) for cell in cells),
            style="dim" if one.terminal else None,
        )
    return table


def _live(
    settings: "Settings", latest: "Latest[Status]", is_asked_for: "Callable[[Status], bool]"
) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console()

    def newest() -> "Table":
        rows = sorted(_rows(latest, is_asked_for), key=lambda one: _at(one))
        return _table(rows[-max(1, console.height - _FRAME) :])

    with Live(get_renderable=newest, console=console):
        for raw in _changes(settings, latest):
            latest.apply(raw)


def _lines(
    settings: "Settings",
    latest: "Latest[Status]",
    is_asked_for: "Callable[[Status], bool]",
    *,
    as_json: bool,
) -> None:
    import json

    from sayso.cli.records import printable

    for raw in _changes(settings, latest):
        before = latest.records.get(raw.key_text)
        if not latest.apply(raw):
            continue
        now = latest.records.get(raw.key_text)
        shown = now or before
        if shown is None or not is_asked_for(shown):
            continue
        if as_json:
            removed = {**shown.model_dump(mode="json"), "removed": True}
            typer.echo(json.dumps(removed) if now is None else now.model_dump_json())
        else:
            state = shown.state if now is not None else "removed"
            line = f"{_at(shown)}  {shown.key}  {state}  {shown.detail or ''}".rstrip()
            typer.echo(printable(line.encode()))


def _changes(settings: "Settings", latest: "Latest[Status]") -> "Iterator[RawRecord]":
    from sayso.streams.reader import read_topic

    return read_topic(
        settings.kafka,
        "status",
        password=settings.kafka_password(),
        start=latest.next_offsets,
        follow=True,
    )


def _at(one: "Status") -> str:
    return "" if one.at is None else one.at.isoformat(timespec="seconds").replace("+00:00", "Z")
