"""What the stand-in refuses as the real server would."""

from collections.abc import Iterator, Mapping
from typing import Final

from starlette.requests import Request

_UNSUPPORTED: Final = frozenset(
    {"minimum", "maximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems"}
)


def key_of(request: Request) -> str:
    """The API key, from either header that carries one; empty when there is none."""
    bearer = request.headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    return request.headers.get("x-api-key", "").strip()


def wrong_in(body: object, *, needs_max_tokens: bool) -> str | None:
    """One sentence about what is wrong with a request body, or None."""
    if not isinstance(body, dict):
        return "the body is not a JSON object"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: field required"
    limit = body.get("max_tokens")
    if needs_max_tokens and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        return "max_tokens: a positive integer is required"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    if not isinstance(messages[-1], dict) or messages[-1].get("role") != "user":
        return "messages: the last message must come from the user"
    if body.get("stream"):
        return "stream: the stand-in does not stream"
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    return next(_wrong_in_schema(form.get("schema")), None) if isinstance(form, dict) else None


def _wrong_in_schema(schema: object) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _wrong_in_schema(item)
    if not isinstance(schema, Mapping):
        return
    for keyword in sorted(_UNSUPPORTED & schema.keys()):
        yield f"output_config.format.schema: {keyword} is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield "output_config.format.schema: additionalProperties must be false for objects"
    properties = schema.get("properties")
    for part in properties.values() if isinstance(properties, Mapping) else ():
        yield from _wrong_in_schema(part)
    for keyword in ("items", "anyOf", "allOf"):
        yield from _wrong_in_schema(schema.get(keyword))
