"""Asking for a post and waiting until it stands in Slack."""

import subprocess
import time
import uuid
from html import escape

import typer

from sayso.cli.ticks import TAKEN_UP_WITHIN
from sayso.schemas.effect import Effect, EffectResult, PostMessage
from sayso.schemas.ids import effect_id
from sayso.settings import Settings
from sayso.streams.asking import Asking

_LONGEST_TEXT = 4_000
_NO_WORKER = (
    "no worker is running, so nothing is posted yet: the next one to start posts it; "
    "start one with `sayso worker`"
)


def effect_for(org: str, channel: str, text: str) -> Effect:
    """The effect that posts a text to a channel. Raises a usage error."""
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
        asking.publish("effects", effect)
        started, patient = time.monotonic(), True
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
            waited = time.monotonic() - started
            if worker is None and patient and waited > TAKEN_UP_WITHIN:
                patient = False
                if asking.workers() == 0:
                    typer.echo(_NO_WORKER, err=True)
                    return False
            if waited > timeout + TAKEN_UP_WITHIN:
                typer.echo(
                    f"no outcome within {timeout:g} s; it is still to be done: "
                    f"see `sayso topics read effect-results --key {effect.key}`",
                    err=True,
                )
                return False
    return False
