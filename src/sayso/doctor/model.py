"""Whether the model's server takes our key and knows the model."""

from collections.abc import Mapping
from typing import Final

from sayso.connectors.anthropic.client import ModelClient
from sayso.connectors.anthropic.errors import ModelRefusal, RefusalKind
from sayso.doctor.finding import Finding, failed, ok, warning
from sayso.settings import Settings, WrongSettings

_CHECK: Final = "model"
_LONGEST: Final = 20.0
"""Seconds the answer may take here, whatever `model.timeout` says: somebody is waiting."""
_MENDS: Final[Mapping[RefusalKind, str]] = {
    "unreachable": "check model.url, name resolution, proxy and firewall",
    "timed out": "look at the network, and whether model.url is right",
    "unauthorised": "set ANTHROPIC_API_KEY (or model.key_file) to a key that may use model.name",
    "wrong shape": "correct model.url, or look at the proxy in front of it",
    "failed": "see whether model.name and model.url are right",
}
_PASSING: Final = ("overloaded", "rate limited")


async def check_model(settings: Settings) -> tuple[Finding, ...]:
    """Ask for as little as the server allows."""
    shorter = min(settings.model.timeout, _LONGEST)
    model = settings.model.model_copy(update={"timeout": shorter})
    try:
        async with ModelClient(key=settings.model_key(), settings=model) as client:
            name = await client.check()
    except WrongSettings as error:
        what, _, mend = str(error).partition(": ")
        return (failed(_CHECK, what, mend or None),)
    except ModelRefusal as error:
        where = f"{error} (model.url is {model.url}, model.name {model.name})"
        if error.kind in _PASSING:
            return (warning(_CHECK, where, "wait, then look again"),)
        return (failed(_CHECK, where, _MENDS.get(error.kind)),)
    return (ok(_CHECK, f"{name} answers at {model.url}"),)
