"""The AsyncAPI 3.0 document: a channel per topic, its messages, keys, headers and retention."""

from typing import Any, Final, get_args

from pydantic import BaseModel, RootModel

from sayso import __version__
from sayso.schemas.json_schema import json_schemas
from sayso.schemas.record import Record
from sayso.schemas.topics import TOPICS, TopicSpec

_SCHEMAS: Final = "#/components/schemas/"
_KAFKA_BINDING: Final = "0.5.0"

HEADERS: Final = {
    "ce_specversion": "The version of CloudEvents: 1.0.",
    "ce_id": "Identity of the record: the same for every copy of it.",
    "ce_source": "Who wrote it.",
    "ce_type": "What it is.",
    "ce_time": "When it was made; RFC 3339.",
    "ce_subject": "The record's key.",
    "content-type": "Always application/json.",
}
"""Every record's headers. Their values are UTF-8 text."""


def asyncapi() -> dict[str, Any]:
    """The whole document."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Sayso",
            "version": __version__,
            "description": "Settled decisions, and everything that leads to them, on Kafka topics.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {spec.name: _channel(spec) for spec in TOPICS},
        "operations": {
            f"write-{spec.name}": {
                "action": "send",
                "channel": {"$ref": f"#/channels/{spec.name}"},
                "summary": spec.about,
            }
            for spec in TOPICS
        },
        "components": {
            "schemas": json_schemas(
                [model for spec in TOPICS for model in record_models(spec.model)],
                ref_template=_SCHEMAS + "{model}",
            )
        },
    }


def record_models(model: type[BaseModel]) -> list[type[Record]]:
    """The models a topic's records can have: one, or the members of its union."""
    if not issubclass(model, RootModel):
        return [model] if issubclass(model, Record) else []
    annotation = model.model_fields["root"].annotation
    return [one for one in get_args(annotation) or (annotation,) if issubclass(one, Record)]


def _channel(spec: TopicSpec) -> dict[str, Any]:
    return {
        "address": "{prefix}" + spec.name,
        "parameters": {
            "prefix": {
                "description": "The setting `kafka.prefix`, empty by default.",
                "default": "",
            }
        },
        "description": spec.about,
        "messages": {model.__name__: _message(spec, model) for model in record_models(spec.model)},
        "bindings": {
            "kafka": {
                "topicConfiguration": {
                    "cleanup.policy": ["compact" if spec.compacted else "delete"],
                    "max.message.bytes": spec.max_message_bytes,
                    **({} if spec.compacted else {"retention.ms": spec.retention_ms}),
                },
                "bindingVersion": _KAFKA_BINDING,
            }
        },
    }


def _message(spec: TopicSpec, model: type[Record]) -> dict[str, Any]:
    return {
        "name": model.__name__,
        "summary": (model.__doc__ or "").strip().split("\n\n")[0].replace("\n", " "),
        "contentType": "application/json",
        "headers": {
            "type": "object",
            "required": list(HEADERS),
            "properties": {
                name: {"type": "string", "description": about, **_constant(name, model)}
                for name, about in HEADERS.items()
            },
        },
        "payload": {"$ref": _SCHEMAS + model.__name__},
        "bindings": {
            "kafka": {
                "key": {"type": "string", "description": spec.key},
                "bindingVersion": _KAFKA_BINDING,
            }
        },
    }


def _constant(header: str, model: type[Record]) -> dict[str, str]:
    constants = {"ce_specversion": "1.0", "ce_type": model.ce_type}
    return {"const": constants[header]} if header in constants else {}
