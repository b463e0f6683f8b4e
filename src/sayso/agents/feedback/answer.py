"""The one fixed shape of the model's answer: its JSON schema and the gate that it passes.

The schema only steers the model. What is applied is decided here, by code: all of an answer or
none of it.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from sayso.agents.feedback.answer_json import parse_answer, shown
from sayso.agents.feedback.errors import AnswerRefused
from sayso.agents.feedback.quote import is_quoted_from, words
from sayso.schemas.strategy import Conclusion, FieldChange, FieldValue, Reversibility

__all__ = ["AnswerRefused", "answer_schema", "is_known_kind", "read_answer"]

MAX_EXACT_INT: Final = 2**53
"""Integers beyond this are kept as floats, as most readers of JSON would read them anyway."""
MAX_FIELD: Final = 100
"""Characters of a field's name."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_Text = Annotated[str, Field(strict=True, max_length=4_000)]
_Name = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _as_tuple(value: object) -> tuple[object, ...]:
    """Only a JSON array is a list of texts."""
    if not isinstance(value, list):
        raise ValueError("not a list")
    return tuple(value)


_Texts = Annotated[tuple[_Text, ...], BeforeValidator(_as_tuple), Field(max_length=100)]

_KINDS: Final[Mapping[str, tuple[str, TypeAdapter[FieldValue], dict[str, object]]]] = {
    "text": ("a text", TypeAdapter(_Text), {"type": "string"}),
    "texts": (
        "a list of texts",
        TypeAdapter(
            Annotated[tuple[_Text, ...], BeforeValidator(_as_tuple), Field(max_length=100)]
        ),
        {"type": "array", "items": {"type": "string"}},
    ),
    "number": ("a finite number", TypeAdapter(_Number), {"type": "number"}),
}
"""Kind of a field: its name in sentences, its validator, its JSON schema."""


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    field: Annotated[str, Field(min_length=1)]
    value: object = None


class _Answer(BaseModel):
    """The answer's outline; each change is checked on its own."""

    model_config = ConfigDict(extra="forbid", strict=True)

    is_decision: bool
    title: Annotated[str, Field(max_length=200)]
    statement: _Text
    rationale: _Text
    quote: _Text
    products: Annotated[list[_Name], Field(max_length=50)]
    initiatives: Annotated[list[_Name], Field(max_length=50)]
    reversibility: Reversibility
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    changes: Annotated[list[_Change], Field(max_length=50)]


def is_known_kind(kind: str) -> bool:
    """True when this build can read values of that kind."""
    return kind in _KINDS


def answer_schema(fields: Mapping[str, str]) -> dict[str, object]:
    """JSON schema of an answer for an org that declares `fields` (name to kind).

    `changes` holds one variant per kind, its `field` an enum of the fields of that kind. A field
    whose kind this build cannot read is left out, so the model is never invited to change it.
    """
    texts: dict[str, object] = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, object] = {
        "is_decision": {"type": "boolean"},
        "title": {"type": "string", "description": "At most 200 characters, one line."},
        "statement": {"type": "string"},
        "rationale": {"type": "string"},
        "quote": {"type": "string", "description": "Words of the reply, copied exactly."},
        "products": texts,
        "initiatives": texts,
        "reversibility": {"enum": ["reversible", "costly", "irreversible", "unknown"]},
        "confidence": {"type": "number", "description": "From 0 to 1."},
        "changes": {"type": "array", "items": _change_schema(fields)},
    }
    return _object(properties)


def _change_schema(fields: Mapping[str, str]) -> dict[str, object]:
    variants: list[dict[str, object]] = []
    for kind, (_, _, value) in _KINDS.items():
        names = sorted(name for name, declared in fields.items() if declared == kind)
        if names:
            variants.append(_object({"field": {"enum": names}, "value": value}))
    if not variants:
        return _object({}) | {"description": "No field is declared: the list is always empty."}
    return variants[0] if len(variants) == 1 else {"anyOf": variants}


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_answer(text: str, *, fields: Mapping[str, str], reply: str | None = None) -> Conclusion:
    """Validate the model's answer for an org that declares `fields` (name to kind).

    With `reply`, the text of the reply as Slack serves it, the quoted words must stand in it.
    Raises AnswerRefused, and nothing else.
    """
    try:
        answer = _Answer.model_validate(parse_answer(text))
    except ValidationError as error:
        raise AnswerRefused(_outline_sentence(error)) from error
    _refuse_control_characters(answer)
    title = " ".join(answer.title.split())
    if answer.is_decision:
        if not title:
            raise AnswerRefused("the model's answer is a decision without a title")
        if not words(answer.quote):
            raise AnswerRefused("the model's answer is a decision without a quote of the reply")
    elif answer.changes:
        raise AnswerRefused(
            f"the model's answer is no decision, yet changes {shown(answer.changes[0].field)}"
        )
    if reply is not None and not is_quoted_from(answer.quote, reply):
        raise AnswerRefused("the model's answer quotes words that the reply does not hold")
    changes = _read_changes(answer.changes, fields)
    return Conclusion(
        is_decision=answer.is_decision,
        title=title,
        statement=answer.statement,
        rationale=answer.rationale,
        quote=answer.quote,
        products=tuple(answer.products),
        initiatives=tuple(answer.initiatives),
        reversibility=answer.reversibility,
        confidence=answer.confidence,
        changes=changes,
    )


def _outline_sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) if isinstance(part, int) else part[:60] for part in first["loc"])
    field = shown(place) if place else "key"
    if first["type"] == "missing":
        return f"the model's answer lacks {field}"
    if first["type"] == "extra_forbidden":
        return f"the model's answer holds the unknown key {field}"
    return f"the model's answer has a wrong {field}: {first['msg']}"


def _refuse_control_characters(answer: _Answer) -> None:
    """Answers reach terminals and Slack; no escape sequence may ride along."""
    texts: dict[str, list[str]] = {
        "title": [answer.title],
        "statement": [answer.statement],
        "rationale": [answer.rationale],
        "quote": [answer.quote],
        "products": answer.products,
        "initiatives": answer.initiatives,
    }
    for name, values in texts.items():
        if any(_CONTROL.search(value) for value in values):
            raise AnswerRefused(f"the model's answer holds control characters in {name!r}")


def _read_changes(changes: list[_Change], fields: Mapping[str, str]) -> tuple[FieldChange, ...]:
    seen: set[str] = set()
    read: list[FieldChange] = []
    for change in changes:
        field = shown(change.field)
        kind = fields.get(change.field)
        if kind is None:
            raise AnswerRefused(
                f"the model's answer changes {field}, a field that the org does not declare"
            )
        if len(change.field) > MAX_FIELD:
            raise AnswerRefused(
                f"the model's answer changes {field}, whose name is longer than {MAX_FIELD} "
                "characters; declare a shorter one"
            )
        if kind not in _KINDS:
            raise AnswerRefused(
                f"the model's answer changes {field}, declared as {shown(kind)}, "
                "a kind that this build cannot read"
            )
        if change.field in seen:
            raise AnswerRefused(f"the model's answer changes {field} twice")
        seen.add(change.field)
        read.append(FieldChange(field=change.field, value=_read_value(change, kind)))
    return tuple(read)


def _read_value(change: _Change, kind: str) -> FieldValue:
    field = shown(change.field)
    value = change.value
    if value is None or (isinstance(value, str) and not value.strip()):
        raise AnswerRefused(f"the model's answer changes {field} without a value")
    named, adapter, _ = _KINDS[kind]
    try:
        valid: FieldValue = adapter.validate_python(value)
    except ValidationError as error:
        raise AnswerRefused(
            f"the model's answer gives {field} a value that is not {named} as declared"
        ) from error
    texts = (valid,) if isinstance(valid, str) else valid if isinstance(valid, tuple) else ()
    if any(not item.strip() for item in texts):
        raise AnswerRefused(f"the model's answer puts an empty text into {field}")
    if any(_CONTROL.search(item) for item in texts):
        raise AnswerRefused(f"the model's answer holds control characters in {field}")
    if isinstance(value, int) and abs(value) <= MAX_EXACT_INT:
        return value
    return valid
