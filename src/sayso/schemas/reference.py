"""The topic reference for people, in Markdown."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sayso.schemas.asyncapi import HEADERS, asyncapi, record_models
from sayso.schemas.topics import DAY_MS, TOPICS, TopicSpec

_INTRODUCTION: Final = """\
<!-- Generated from the models: change those and run `make schemas`. -->

# Topics

Every record is one JSON object. Its JSON Schema is in [schemas/](schemas/), and all topics
together are described by one [AsyncAPI 3.0 document](asyncapi.json).

- A topic's name on the broker is the setting `kafka.prefix`, empty by default, and the name below.
- `schema_version` rises only with a change that older readers cannot read. Pass over fields you
  do not know: they are added without raising it.
- A record may be written more than once. Copies share their `ce_id`: drop what you hold already.
- On a compacted topic the last record of a key holds; one without a value removes the key.
"""


def reference() -> str:
    """The document, ending in a newline."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    models: dict[str, Any] = asyncapi()["components"]["schemas"]
    records = [model.__name__ for spec in TOPICS for model in record_models(spec.model)]
    yield _INTRODUCTION
    yield from _table(
        ("topic", "key", "kept", "holds"),
        [
            (f"[`{one.name}`](#{_anchor(one.name)})", one.key, kept(one), one.about)
            for one in TOPICS
        ],
    )
    yield "## Headers"
    yield ""
    yield "CloudEvents 1.0 in binary mode, as UTF-8 text:"
    yield ""
    yield from _table(("header", "is"), [(f"`{name}`", is_) for name, is_ in HEADERS.items()])
    for spec in TOPICS:
        yield from _topic(spec)
    yield "## Records and their parts"
    yield ""
    for name in sorted(models, key=lambda name: (name not in records, name)):
        yield from _model(name, models[name])


def kept(spec: TopicSpec) -> str:
    """How long a topic keeps its records, in words."""
    if spec.compacted:
        return "the last of each key"
    if spec.retention_ms < 0:
        return "for ever"
    days = spec.retention_ms // DAY_MS
    return "1 day" if days == 1 else f"{days} days"


def _topic(spec: TopicSpec) -> Iterator[str]:
    models = record_models(spec.model)
    yield f"## {spec.name}"
    yield ""
    yield spec.about
    yield ""
    yield from _table(
        ("", ""),
        [
            ("key", f"`{spec.key}`"),
            ("kept", kept(spec)),
            ("largest record", f"{spec.max_message_bytes:,} bytes"),
            ("records", ", ".join(_link(model.__name__) for model in models)),
            ("`ce_type`", ", ".join(sorted({f"`{model.ce_type}`" for model in models}))),
            ("schema", f"[schemas/{spec.name}.json](schemas/{spec.name}.json)"),
        ],
    )


def _model(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield schema.get("description", "")
    yield ""
    required = schema.get("required", ())
    yield from _table(
        ("field", "type", "default", "meaning"),
        [
            (
                f"`{field}`",
                _type(node),
                "required" if field in required else f"`{json.dumps(node.get('default'))}`",
                node.get("description", ""),
            )
            for field, node in schema.get("properties", {}).items()
        ],
    )


def _type(node: Mapping[str, Any]) -> str:
    if "$ref" in node:
        return _link(str(node["$ref"]).rsplit("/", 1)[-1])
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            return " or ".join(dict.fromkeys(_type(one) for one in node[keyword]))
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        return " or ".join(f"`{json.dumps(value)}`" for value in node["enum"])
    if node.get("type") == "array":
        return f"list of {_type(node.get('items', {}))}{_most(node, 'maxItems', '')}"
    if node.get("format") == "date-time":
        return "time (RFC 3339)"
    return f"{node.get('type', 'anything')}{_most(node, 'maxLength', ' characters')}"


def _most(node: Mapping[str, Any], bound: str, unit: str) -> str:
    return f", at most {node[bound]:,}{unit}" if bound in node else ""


def _link(model: str) -> str:
    return f"[{model}](#{_anchor(model)})"


def _anchor(heading: str) -> str:
    return heading.lower().replace(".", "")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""
