"""Performs effects, the one place that changes anything outside. Keyed by target, in order."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from sayso.agents.effects import rules
from sayso.agents.effects.settings import EffectSettings
from sayso.connectors.slack.client import SlackClient
from sayso.connectors.slack.errors import (
    PostAmbiguous,
    RateLimited,
    SlackError,
    SlackUnavailable,
    WindowLost,
)
from sayso.schemas.effect import Effect, EffectResult
from sayso.schemas.keys import key
from sayso.schemas.ts import Ts, from_micros
from sayso.streams.app import Pipeline
from sayso.streams.delivery import Delivery
from sayso.streams.tables import ModelTable

EFFECT_STATES: Final = "effect_states"
_FIRST_PAUSE: Final = 0.5
_CLOCK_MARGIN: Final = timedelta(days=1)
"""By how much our clock may be ahead of Slack's when a post in a channel is looked for."""

log = structlog.get_logger(__name__)


class EffectsAgent:
    """Performs each effect once, whatever is delivered twice or killed in between."""

    def __init__(
        self, pipeline: Pipeline, *, clients: Mapping[str, SlackClient], settings: EffectSettings
    ) -> None:
        self._clients = clients
        self._settings = settings
        self._states = ModelTable(pipeline.app, name=EFFECT_STATES, model=EffectResult)
        pipeline.consume("effects", Effect, self.on_effect, name="effects.perform", fetch=1)

    async def on_effect(self, effect: Effect, delivery: Delivery) -> None:
        """Bring an effect to an end; a copy of one that ended sends its result again."""
        result = self._states.get(_key(effect)) or rules.planned(effect)
        client = self._clients.get(effect.org)
        if client is None:
            refusal = f"orgs.{effect.org} is not in this worker's settings"
            await self._save(rules.failed(result, refusal), delivery)
            return
        pause = _FIRST_PAUSE
        while not rules.is_final(result):
            try:
                result = await self._step(client, effect, result, delivery)
            except (RateLimited, SlackUnavailable, WindowLost) as error:
                # Nothing was done. The target waits, in order, until Slack answers again.
                asked = error.retry_after if isinstance(error, RateLimited) else pause
                log.warning("effect waits", effect=effect.id, reason=str(error), pause=asked)
                await delivery.pause(asked)
                pause = min(pause * 2, self._settings.longest_pause)
        await self._save(result, delivery)

    async def _step(
        self, client: SlackClient, effect: Effect, result: EffectResult, delivery: Delivery
    ) -> EffectResult:
        if rules.is_uncertain(result):
            return await self._reconcile(client, effect, result, delivery)
        if result.attempt_count >= self._settings.tries:
            return rules.failed(result, f"not done after {result.attempt_count} tries")
        result = rules.sending(result, at=datetime.now(UTC))
        await self._save(result, delivery)
        await delivery.settle()
        try:
            posted = await client.post(
                effect.action, effect_id=effect.id, before=delivery.confirm_mine
            )
        except PostAmbiguous as error:
            result = rules.ambiguous(result, str(error))
            await self._save(result, delivery)
            return result
        except (RateLimited, SlackUnavailable, WindowLost):
            await self._save(rules.not_sent(result), delivery)
            raise
        except SlackError as error:
            return rules.failed(result, str(error))
        return rules.done(result, ts=posted.ts)

    async def _reconcile(
        self, client: SlackClient, effect: Effect, result: EffectResult, delivery: Delivery
    ) -> EffectResult:
        """Look for what may have happened; only when it did not may it be sent again."""
        sent = result.sending_at or datetime.now(UTC)
        since_sent = (datetime.now(UTC) - sent).total_seconds()
        # A clock that was set back must not make this wait longer than it ever has to.
        await delivery.pause(min(max(self._settings.settle - since_sent, 0), self._settings.settle))
        try:
            posted = await client.find_post(
                effect.action, effect_id=effect.id, since=_since(effect, sent)
            )
        except (RateLimited, SlackUnavailable, WindowLost):
            raise
        except SlackError as error:
            return rules.failed(result, f"it may have happened and cannot be looked for: {error}")
        if posted is None:
            return rules.not_found(result)
        return rules.done(result, ts=posted.ts, reconciled=True)

    async def _save(self, result: EffectResult, delivery: Delivery) -> None:
        # Whatever was waited for, another worker may have brought the effect to its end meanwhile.
        await delivery.confirm_mine()
        self._states.put(key(result.org, result.target, result.id), result)
        await delivery.emit("effect-results", result)


def _key(effect: Effect) -> str:
    return key(effect.org, effect.target, effect.id)


def _since(effect: Effect, sent: datetime) -> Ts:
    # In a thread no clock is needed: whatever we posted there came after its root.
    if effect.action.thread_ts is not None:
        return effect.action.thread_ts
    return from_micros(int((sent - _CLOCK_MARGIN).timestamp() * 1_000_000))
