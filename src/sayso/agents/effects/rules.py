"""How far an effect has come: planned, sending, done, ambiguous, failed. Pure steps.

`sending` is on the broker before the call goes out, so after a crash it means: perhaps.
"""

from datetime import datetime

from sayso.schemas.effect import Effect, EffectResult
from sayso.schemas.ts import Ts

_REFUSAL_LENGTH = 2_000


def planned(effect: Effect) -> EffectResult:
    """An effect that nothing was done for yet."""
    return EffectResult(
        id=effect.id,
        org=effect.org,
        target=effect.target,
        cause=effect.cause,
        state="planned",
        action=effect.action,
    )


def is_final(result: EffectResult) -> bool:
    """True when nothing more is to be done."""
    return result.state in ("done", "failed")


def is_uncertain(result: EffectResult) -> bool:
    """True when it may have happened, and has to be looked for before it is sent again."""
    return result.state in ("sending", "ambiguous")


def sending(result: EffectResult, *, at: datetime) -> EffectResult:
    """About to be sent."""
    return result.model_copy(
        update={
            "state": "sending",
            "sending_at": at,
            "attempt_count": result.attempt_count + 1,
            "refusal": None,
        }
    )


def not_sent(result: EffectResult) -> EffectResult:
    """The call was refused before anything happened: this was no attempt."""
    return result.model_copy(
        update={"state": "planned", "attempt_count": result.attempt_count - 1, "sending_at": None}
    )


def ambiguous(result: EffectResult, refusal: str) -> EffectResult:
    """It may or may not have happened."""
    return result.model_copy(update={"state": "ambiguous", "refusal": refusal[:_REFUSAL_LENGTH]})


def not_found(result: EffectResult) -> EffectResult:
    """It was looked for and did not happen: it may be sent again."""
    return result.model_copy(update={"state": "planned"})


def done(result: EffectResult, *, ts: Ts, reconciled: bool = False) -> EffectResult:
    """It happened."""
    return result.model_copy(
        update={"state": "done", "ts": ts, "reconciled": reconciled, "refusal": None}
    )


def failed(result: EffectResult, refusal: str) -> EffectResult:
    """It will not happen."""
    return result.model_copy(update={"state": "failed", "refusal": refusal[:_REFUSAL_LENGTH]})
