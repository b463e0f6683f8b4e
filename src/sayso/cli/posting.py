"""Asking for a post and waiting until it stands in Slack."""

import subprocess
import time
import uuid
from html import escape

import typer

from sayso.cli.ticks import TAKEN_UP_WITHIN
from sayso.schemas.effect import Effect, EffectResult, PostMessage
from sayso.schemas.ids import effect_id
from sayso.settings import OrgSettings, Settings, WrongSettings
from sayso.streams.asking import Asking

_LONGEST_TEXT = 4_000


def effect_for(org: str, section: OrgSettings, text: str) -> Effect:
    """The effect that posts a text to the suggestions channel. Raises WrongSettings."""
    channel = section.suggestions_channel
    if channel is None:
        raise WrongSettings(
            f"orgs.{org}.orchestrator.autoGoalChannelID.suggestions is not set: "
            "name the suggestions channel's id there"
        )
    escaped = escape(text.strip(), quote=False)
    if not escaped or len(escaped) > _LONGEST_TEXT:
        raise typer.BadParameter(
            f"a post has 1 to {_LONGEST_TEXT} characters, and this one has {len(escaped)}"
        )
    return Effect(
        id=effect_id("post", str(uuid.uuid4())),
        org=org,
        target=channel,
        cause="command",
        action=PostMessage(channel=channel, text=escaped),
    )


def run_effect(
    settings: Settings,
    effect: Effect,
    *,
    as_json: bool,
    timeout: float,
    worker: subprocess.Popen[bytes] | None = None,
) -> bool:
    """Publish the effect and wait for its end; True when it is done."""
    with Asking(
        settings.kafka,
        results="effect-results",
        model=EffectResult,
        password=settings.kafka_password(),
    ) as asking:
        if worker is None and asking.workers() == 0:
            typer.echo("no worker is running: start one with `sayso worker`", err=True)
            return False
        asking.publish("effects", effect)
        started = time.monotonic()
        for result in asking.results():
            if result is not None and result.id == effect.id:
                if as_json:
                    typer.echo(result.model_dump_json())
                if result.state == "done":
                    if not as_json:
                        typer.echo(f"posted as {result.ts}; its thread is watched")
                    return True
                if result.state == "failed":
                    typer.echo(f"not posted: {result.refusal}", err=True)
                    return False
            if time.monotonic() - started > timeout + TAKEN_UP_WITHIN:
                typer.echo(
                    f"no outcome within {timeout:g} s; it is still to be done: "
                    f"see `sayso topics read effect-results --key {effect.key}`",
                    err=True,
                )
                return False
    return False
