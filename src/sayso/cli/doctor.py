"""`sayso doctor`: whether everything is there, and how to mend what is not."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sayso.doctor.finding import Finding


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="JSON for scripts.")] = False,
) -> None:
    """Check settings, broker, topics, workers, Slack, the model and the clock; changes nothing.

    Each org's Slack token needs these scopes and no others: channels:history (groups:history for
    a private channel), chat:write, users:read. Exit code 1 when a check failed; warnings are no
    failure.

    Example: sayso doctor --json
    """
    import asyncio
    import json
    from dataclasses import asdict

    from rich.console import Console

    from sayso.doctor.examine import examine

    with Console(stderr=True).status("looking at settings, Kafka, Slack and the model ..."):
        findings = asyncio.run(examine())
    is_well = all(one.state != "failed" for one in findings)
    if as_json:
        typer.echo(json.dumps({"ok": is_well, "checks": [asdict(one) for one in findings]}))
    else:
        _print(findings)
    if not is_well:
        raise typer.Exit(1)


def _print(findings: "Sequence[Finding]") -> None:
    from rich.console import Console
    from rich.text import Text

    styles = {"ok": "green", "warning": "yellow", "failed": "bold red"}
    width = max(len(one.check) for one in findings)
    console = Console(soft_wrap=True)
    for one in findings:
        line = Text(f"{one.state:<8} ", style=styles[one.state])
        line.append(f"{one.check:<{width}}  {one.detail}", style="default")
        if one.mend is not None:
            line.append(f": {one.mend}", style="default")
        console.print(line, highlight=False)
