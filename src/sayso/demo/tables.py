"""The report for people, on a terminal or in a log."""

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sayso.demo.report import FieldLine, MessageLine, Report

_STYLES = {"processed": "green", "failed": "red", "ignored": "yellow", "pending": "red"}
_WIDTH = 150
"""Characters of a line where the output is no terminal."""


def print_report(report: Report) -> None:
    """Print it on standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(Group(*_parts(report)))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text(f"Slack: {report.slack}\nModel: {report.model}\n")
    yield _messages(report)
    yield _fields(report)
    yield _confirmations(report)
    yield Text(f"{_calls(report)}\n")
    for difference in report.differences:
        yield Text(f"WRONG  {difference}", style="bold red")
    if report.look_further:
        yield Text("\n".join(["To look further:", *(f"  {one}" for one in report.look_further)]))


def _messages(report: Report) -> Table:
    table = Table(
        "shows", "who", "where", "message", "outcome", "tries", "why", title="Messages",
        title_justify="left",
    )  # fmt: skip
    for line in report.messages:
        table.add_row(
            Text(line.shows),
            Text(line.who),
            Text(line.where),
            Text(line.text),
            Text(line.outcome, style=_STYLES.get(line.outcome, "dim")),
            Text(str(line.attempts)),
            Text(_why(line)),
        )
    return table


def _why(line: MessageLine) -> str:
    if line.first_refusal is None or line.first_refusal == line.why:
        return line.why
    return f"{line.why}; first: {line.first_refusal}"


def _fields(report: Report) -> Table:
    table = Table(
        "field", "before", "after", "set by", title="Strategic fields", title_justify="left"
    )
    for line in report.fields:
        table.add_row(line.field, *(Text(one) for one in _values(line)), line.set_by or "")
    return table


def _values(line: FieldLine) -> tuple[str, str]:
    def shown(value: object) -> str:
        if value is None:
            return "-"
        return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return shown(line.before), shown(line.after)


def _confirmations(report: Report) -> Table:
    table = Table(
        "thread", "message of ours", title="Confirmations, read back from Slack",
        title_justify="left",
    )  # fmt: skip
    for line in report.confirmations:
        table.add_row(Text(line.thread), Text(line.text))
    return table


def _calls(report: Report) -> str:
    said = []
    if report.slack_calls:
        methods = ", ".join(f"{method} {times}" for method, times in report.slack_calls.items())
        said.append(f"{sum(report.slack_calls.values())} calls of Slack ({methods})")
    if report.model_calls is not None:
        said.append(f"{report.model_calls} of the model")
    if report.limited:
        said.append(f"ticks that met Slack's 429: {report.limited}")
    said.append(f"{report.seconds:.1f} s")
    return "; ".join(said)
