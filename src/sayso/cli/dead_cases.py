"""Choosing dead letters by what an operator says of them, and showing them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from sayso.cli.points import point
from sayso.cli.records import printable
from sayso.settings import Settings
from sayso.streams.dead_letters import Case, Cases, read_cases


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which dead letters are meant; None leaves a matter open."""

    topic: str | None = None
    """Without the prefix."""
    error: str | None = None
    since: str | None = None
    until: str | None = None

    def of(self, cases: Iterable[Case], *, prefix: str) -> list[Case]:
        """Those that are meant. Exits 2 for a time that is none."""
        since, until = _time(self.since, "--from"), _time(self.until, "--to")
        return [
            case
            for case in cases
            if self.topic in (None, case.letter.source.topic.removeprefix(prefix))
            and self.error in (None, case.letter.error)
            and (since is None or case.letter.at >= since)
            and (until is None or case.letter.at < until)
        ]


def read(settings: Settings) -> Cases:
    """Every dead letter; how many records could not be read goes to standard error."""
    cases = read_cases(settings.kafka, password=settings.kafka_password())
    if cases.unreadable:
        typer.echo(f"records that this build cannot read: {cases.unreadable}", err=True)
    return cases


def named(cases: Cases, ids: Sequence[str]) -> list[Case]:
    """The cases of these ids, in the order in which they died. Exits 1 for an unknown one."""
    for case_id in ids:
        if case_id not in cases.by_id:
            typer.echo(
                f"there is no dead letter {case_id}; see `sayso dead list --closed`", err=True
            )
            raise typer.Exit(1)
    return [case for case in cases.by_id.values() if case.id in ids]


def chosen(
    settings: Settings, ids: Sequence[str], *, everything: bool, wanted: Filter
) -> list[Case]:
    """The cases that a command is about: those named, or with `--all` the open ones."""
    if bool(ids) == everything:
        typer.echo("name ids as `sayso dead list` shows them, or give --all", err=True)
        raise typer.Exit(2)
    cases = read(settings)
    if ids:
        return named(cases, ids)
    still_open = (case for case in cases.by_id.values() if case.state == "open")
    return wanted.of(still_open, prefix=settings.kafka.prefix)


def as_json_line(case: Case, **more: Any) -> str:
    """One case as a JSON object."""
    letter = case.letter.model_dump(mode="json")
    waiting = [one.ce_id for one in case.waiting]
    return json.dumps({"id": case.id, "state": case.state, "waiting": waiting, **more, **letter})


def print_table(cases: Sequence[Case]) -> None:
    """For people, on standard output; the newest last."""
    table = Table(
        # The id is what the other commands take, so it is never cut.
        Column("id", no_wrap=True, min_width=max((len(case.id) for case in cases), default=2)),
        "died",
        "state",
        "key",
        "error",
        "waiting",
        "refusal",
        box=None,
    )
    for case in cases:
        letter = case.letter
        cells = (
            case.id,
            letter.at.strftime("%Y-%m-%d %H:%M:%SZ"),
            case.state,
            letter.key,
            letter.reason if letter.reason == "poison" else letter.error,
            str(len(case.waiting) or ""),
            letter.refusal[:200],
        )
        # Text, since keys and refusals may look like markup or steer a terminal.
        table.add_row(*(Text(printable(cell.encode())) for cell in cells))
    Console().print(table if cases else "no dead letters")


def print_case(case: Case) -> None:
    """One case in full."""
    letter = case.letter
    lines = {
        "id": case.id,
        "state": case.state,
        "reason": f"{letter.reason}: {letter.error}",
        "refusal": letter.refusal,
        "tries": str(letter.attempt),
        "died": letter.at.isoformat(timespec="seconds"),
        "build": letter.build,
        "key": letter.key,
        "value": "(none)" if letter.raw_value is None else printable(letter.raw_value),
        "waiting": ", ".join(one.ce_id for one in case.waiting) or "nothing",
    }
    for name, text in lines.items():
        typer.echo(f"{name:<8} {printable(text.encode())}")


def _time(text: str | None, option: str) -> datetime | None:
    when = point(text, option=option)
    if isinstance(when, int):
        raise typer.BadParameter("offsets do not apply here; give a time", param_hint=option)
    return when
