"""What a request asks: the reply in Sayso's prompt, and the fields that the schema declares.

A prompt of anybody else is taken as a whole for the reply.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

_DATA: Final = re.compile(r"<data>\n(.*)\n</data>", re.DOTALL)
_KINDS: Final = {"string": "text", "array": "texts", "number": "number"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One request for a message, as far as the stand-in reads it."""

    model: str
    max_tokens: int
    reply: str
    org: str | None = None
    channel: str | None = None
    ts: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    """Declared field to `text`, `texts` or `number`."""
    is_structured: bool = False
    """True when the answer has to follow a JSON schema."""


def read_question(body: Mapping[str, object]) -> Question:
    """Read a request body that passed the checks of its shape."""
    prompt = _last_user_text(body)
    data = _data(prompt)
    reply = _mapping(data.get("reply")).get("text")
    schema = _schema(body)
    return Question(
        model=str(body["model"]),
        max_tokens=int(str(body["max_tokens"])),
        reply=reply if isinstance(reply, str) else prompt,
        org=_text(data.get("org")),
        channel=_text(data.get("channel")),
        ts=_text(data.get("ts")),
        fields=dict(_fields(schema)),
        is_structured=schema is not None,
    )


def _last_user_text(body: Mapping[str, object]) -> str:
    messages = body["messages"]
    last = messages[-1] if isinstance(messages, list) else {}
    content = _mapping(last).get("content", "")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(_mapping(block).get("text", "")) for block in blocks)


def _data(prompt: str) -> Mapping[str, object]:
    found = _DATA.search(prompt)
    if found is None:
        return {}
    try:
        return _mapping(json.loads(found[1]))
    except ValueError:
        return {}


def _schema(body: Mapping[str, object]) -> Mapping[str, object] | None:
    form = _mapping(_mapping(body.get("output_config")).get("format"))
    schema = form.get("schema")
    return schema if isinstance(schema, dict) else None


def _fields(schema: Mapping[str, object] | None) -> Iterator[tuple[str, str]]:
    properties = _mapping(_mapping(schema).get("properties"))
    item = _mapping(_mapping(properties.get("changes")).get("items"))
    variants = item.get("anyOf")
    for variant in variants if isinstance(variants, list) else [item]:
        parts = _mapping(_mapping(variant).get("properties"))
        names = _mapping(parts.get("field")).get("enum")
        kind = _KINDS.get(str(_mapping(parts.get("value")).get("type")))
        if isinstance(names, list) and kind is not None:
            yield from ((str(name), kind) for name in names)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
