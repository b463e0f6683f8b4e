"""Bytes in, models out: JSON both ways, with every fault named in one sentence."""

import re
from functools import cache
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from sayso.streams.errors import Poison

MAX_BYTES: Final = 4_194_304
"""The largest record read: what the topic with the largest records allows."""
MAX_DEPTH: Final = 32
"""How deep objects and lists may nest. Our own records nest less than ten deep."""

_MAX_NAMED: Final = 3
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.?)*+(?:"|\Z)', re.DOTALL)
"""Never fails once a quote was seen, so that hostile input costs one pass."""
_BRACKET: Final = re.compile(rb"[\[\]{}]")

M = TypeVar("M", bound=BaseModel)


def decode(model: type[M], data: bytes, *, max_bytes: int = MAX_BYTES) -> M:
    """Read one record's value. Raises Poison with a sentence naming the fault.

    Values are never quoted in the sentence beyond a few characters: it is shown to operators.
    """
    if len(data) > max_bytes:
        raise Poison(f"the record is {len(data)} bytes, more than the limit of {max_bytes}")
    if _is_too_deep(data):
        raise Poison(f"the record nests deeper than {MAX_DEPTH} levels")
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise Poison(_explain(model, error)) from error


def encode(record: BaseModel) -> bytes:
    """The record's value as it goes on the wire."""
    return _adapter(type(record)).dump_json(record)


@cache
def _adapter(model: type[BaseModel]) -> TypeAdapter[Any]:
    # Straight to bytes; model_dump_json makes a str that would have to be encoded again.
    return TypeAdapter(model)


def _is_too_deep(data: bytes) -> bool:
    # Nothing nests deeper than it has opening brackets, and counting them costs next to nothing.
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _explain(model: type[BaseModel], error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False)
    if faults[0]["type"] == "json_invalid":
        return f"the record is not JSON: {faults[0]['msg'].removeprefix('Invalid JSON: ')}"
    version = _foreign_version(faults)
    if version is not None:
        return f"the record has schema version {version}, and this build reads {_versions(model)}"
    named = "; ".join(_name(fault) for fault in faults[:_MAX_NAMED])
    more = len(faults) - _MAX_NAMED
    return f"{named}; and {more} more" if more > 0 else named


def _name(fault: ErrorDetails) -> str:
    field = ".".join(str(part) for part in fault["loc"])[:120]
    return f"{f'field {field}' if field else 'the whole value'}: {fault['msg'][:200]}"


def _foreign_version(faults: list[ErrorDetails]) -> str | None:
    for fault in faults:
        if fault["loc"] and fault["loc"][-1] == "schema_version":
            return repr(fault["input"])[:20]
        if fault["type"] == "union_tag_invalid" and fault["input"].get("schema_version", 1) != 1:
            return repr(fault["input"]["schema_version"])[:20]
    return None


def _versions(model: type[BaseModel]) -> str:
    """The schema versions a model reads; of a union of models, those of any of them."""
    known: set[int] = set()
    pending: list[Any] = [model]
    while pending:
        kind = pending.pop()
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            pending.extend(get_args(kind))
        elif "schema_version" in kind.model_fields:
            known.update(get_args(kind.model_fields["schema_version"].annotation))
        elif "root" in kind.model_fields:
            pending.append(kind.model_fields["root"].annotation)
    return " or ".join(str(version) for version in sorted(known)) or "none"
