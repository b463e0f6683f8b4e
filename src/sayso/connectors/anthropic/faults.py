"""Names what went wrong between us and the model's server."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from sayso.connectors.anthropic.errors import ModelRefusal, RefusalKind

if TYPE_CHECKING:
    from anthropic import APIStatusError

_BY_STATUS: Mapping[int, tuple[RefusalKind, str]] = {
    401: ("unauthorised", "the model's server does not accept the API key"),
    402: ("unauthorised", "the model's server wants the account's billing settled"),
    403: ("unauthorised", "the API key may not use this model"),
    404: ("failed", "the model's server does not know the model or the address"),
    408: ("timed out", "the model's server gave up waiting"),
    413: ("failed", "the question is larger than the model's server takes"),
    429: ("rate limited", "the model's server limits the rate of requests"),
    503: ("overloaded", "the model's server is unavailable"),
    504: ("timed out", "a gateway gave up waiting for the model's server"),
    529: ("overloaded", "the model's server is overloaded"),
}
_WORD = re.compile(r"[a-z][a-z_]{0,59}")


def status_refusal(error: "APIStatusError") -> ModelRefusal:
    """The refusal for an error status. The server's own message is left out: it may echo text."""
    kind, sentence = _BY_STATUS.get(error.status_code, ("failed", "the model's server failed"))
    if error.status_code < 400:
        sentence = "model.url leads to a redirect, which is not followed; set the final address"
    named = error.type if isinstance(error.type, str) and _WORD.fullmatch(error.type) else None
    detail = f"HTTP {error.status_code}" + (f", {named}" if named else "")
    return ModelRefusal(
        f"{sentence} ({detail})",
        kind=kind,
        retry_after=retry_after(error.response.headers),
        request_id=error.request_id,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that `retry-after-ms` or `retry-after` (seconds or a date) ask to wait."""
    for name, per_second in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / per_second
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return _until(headers.get("retry-after"))


def _until(date: str | None) -> float | None:
    if date is None:
        return None
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
