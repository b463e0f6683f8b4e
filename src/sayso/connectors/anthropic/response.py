"""Reads a Messages API response: one text, or a named refusal.

The SDK's own parsing lets an HTML page, a missing `content` and a half body through as attribute
errors or None, so the bytes are read here, and the stop reason is looked at before the content.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sayso.connectors.anthropic.errors import ModelRefusal, RefusalKind

MAX_ANSWER = 65_536
"""Characters an answer may have."""
MAX_BODY = 1_048_576
"""Bytes of one response that are read; the rest is never fetched."""

_STOPS: Mapping[str, tuple[RefusalKind, str]] = {
    "max_tokens": ("truncated", "the model's answer was cut off at model.max_tokens"),
    "model_context_window_exceeded": (
        "truncated",
        "the model's answer was cut off since the reply and its thread fill the context window",
    ),
    "refusal": ("declined", "the model declined to answer"),
    "pause_turn": ("wrong shape", "the model paused its turn instead of answering"),
    "tool_use": ("wrong shape", "the model asked for a tool instead of answering"),
}
_SILENT_BLOCKS = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """What the model wrote, as it came; the caller validates it."""

    text: str
    """At most 65,536 characters."""
    model: str
    """As the server names it."""
    request_id: str | None


def read_response(body: bytes, *, asked: str, request_id: str | None) -> ModelAnswer:
    """The one text of a successful response to a question put to the model `asked`.

    Raises ModelRefusal: `truncated`, `declined` or `wrong shape`.
    """

    def refuse(kind: RefusalKind, sentence: str) -> ModelRefusal:
        return ModelRefusal(sentence, kind=kind, request_id=request_id)

    message = _json_object(body)
    if message is None:
        raise refuse("wrong shape", "the model's server answered 200 with something else than JSON")
    stop = message.get("stop_reason")
    if isinstance(stop, str) and stop in _STOPS:
        raise refuse(*_STOPS[stop])
    if stop not in ("end_turn", "stop_sequence"):
        raise refuse("wrong shape", "the model's answer has no stop reason that this build knows")
    texts = _texts(message.get("content"))
    if texts is None:
        raise refuse("wrong shape", "the model's answer holds content that is not text")
    if len(texts) != 1:
        raise refuse("wrong shape", f"the model's answer holds {len(texts)} texts instead of one")
    if len(texts[0]) > MAX_ANSWER:
        raise refuse("wrong shape", f"the model's answer is longer than {MAX_ANSWER:,} characters")
    model = message.get("model")
    return ModelAnswer(
        text=texts[0],
        model=model[:200] if isinstance(model, str) and model else asked,
        request_id=request_id,
    )


def _json_object(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _texts(content: object) -> list[str] | None:
    """The texts of a content list, thinking left out; None when it holds anything else."""
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for block in content:
        if not isinstance(block, dict):
            return None
        if block.get("type") in _SILENT_BLOCKS:
            continue
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            return None
        texts.append(text)
    return texts
