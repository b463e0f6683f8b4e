"""What the stand-in says when something is to go wrong."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

from sayso.connectors.anthropic.sandbox.script import FaultName

_STATUS: Final[Mapping[str, tuple[int, str]]] = {
    "rate limited": (429, "rate_limit_error"),
    "overloaded": (529, "overloaded_error"),
    "server error": (500, "api_error"),
    "unauthorised": (401, "authentication_error"),
}
_STOPS: Final[Mapping[str, str]] = {
    "truncated": "max_tokens",
    "context full": "model_context_window_exceeded",
    "declined": "refusal",
    "paused": "pause_turn",
    "tool use": "tool_use",
}
_HUGE: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Said:
    """The content of a message."""

    texts: tuple[str, ...]
    stop_reason: str = "end_turn"


class _Dropped(Response):
    """Promises more than it sends, so that the server closes the connection half-way."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"id":"msg_', "more_body": True})


def error_response(
    status: int, kind: str, sentence: str, *, request_id: str, retry_after: float | None = None
) -> Response:
    """An error in the API's shape."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    error = {"type": kind, "message": f"stand-in: {sentence}"}
    body = {"type": "error", "error": error, "request_id": request_id}
    return JSONResponse(body, status_code=status, headers=headers)


def broken_response(
    fault: FaultName | None, *, request_id: str, retry_after: float | None
) -> Response | None:
    """The response of a fault that takes the message's place; None for the other faults."""
    if fault is not None and fault in _STATUS:
        status, kind = _STATUS[fault]
        return error_response(status, kind, fault, request_id=request_id, retry_after=retry_after)
    if fault == "html":
        return HTMLResponse("<html><body>stand-in: a proxy's page</body></html>")
    if fault == "broken json":
        return Response('{"type":"message","content":[{', media_type="application/json")
    if fault == "no content":
        return JSONResponse({"type": "message", "role": "assistant", "stop_reason": "end_turn"})
    if fault == "dropped":
        return _Dropped()
    return None


def spoil(fault: FaultName | None, text: str, *, number_field: str | None) -> Said:
    """The content of a message whose answer should have been `text`."""
    if fault is not None and fault in _STOPS:
        cut = text[: len(text) // 2] if fault in ("truncated", "context full") else ""
        return Said(texts=(cut,) if cut else (), stop_reason=_STOPS[fault])
    if fault == "two texts":
        return Said(texts=(text, text))
    if fault == "no text":
        return Said(texts=())
    return Said(texts=(_spoilt_text(fault, text, number_field or "no_such_field"),))


def _spoilt_text(fault: FaultName | None, text: str, number_field: str) -> str:
    simple = {
        "fenced": f"```json\n{text}\n```",
        "chatty": f"{text}\nLet me know if you need anything else.",
        "two answers": f"{text}\n{text}",
        "nan": _with(text, confidence=float("nan")),
        "infinity": _with(text, confidence=float("inf")).replace("Infinity", "1e999"),
        "duplicate key": text[:-1] + ', "is_decision": false}',
        "huge": _with(text, rationale="x" * _HUGE),
    }
    changes: dict[str, list[dict[str, object]]] = {
        "duplicate field": [{"field": number_field, "value": value} for value in (1, 2)],
        "undeclared field": [{"field": "undeclared_by_anybody", "value": 1}],
        "boolean for number": [{"field": number_field, "value": True}],
        "missing value": [{"field": number_field}],
    }
    if fault in changes:
        decided = {"is_decision": True, "title": "A decision"}
        return _with(text, **decided, changes=changes[fault])
    return simple.get(fault or "", text)


def _with(text: str, **parts: object) -> str:
    """`text` with parts of its answer replaced, when it is an answer at all."""
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {}
    return json.dumps((answer if isinstance(answer, dict) else {}) | parts)
