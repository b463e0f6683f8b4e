"""Reads the model's text as exactly one JSON object.

The standard library's parser keeps the last of two equal keys and reads NaN, Infinity and 1e999;
its hooks are used to refuse all of them.
"""

import json
import math
from typing import Final, NoReturn

from sayso.agents.feedback.errors import AnswerRefused

MAX_ANSWER: Final = 65_536
"""Characters of an answer that are read."""


def parse_answer(text: str) -> dict[str, object]:
    """The single JSON object that `text` is, free of duplicate keys and of NaN at any depth.

    Raises AnswerRefused, and nothing else.
    """
    if len(text) > MAX_ANSWER:
        raise AnswerRefused(f"the model's answer is longer than {MAX_ANSWER:,} characters")
    if not text.strip():
        raise AnswerRefused("the model's answer is empty")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except RecursionError as error:
        raise AnswerRefused("the model's answer is nested too deeply") from error
    except json.JSONDecodeError as error:
        raise AnswerRefused(_not_json_sentence(text, error)) from error
    except ValueError as error:
        raise AnswerRefused("the model's answer holds a number of too many digits") from error
    if isinstance(value, list):
        raise AnswerRefused(
            f"the model's answer is a list of {len(value)} instead of exactly one answer"
        )
    if not isinstance(value, dict):
        raise AnswerRefused("the model's answer is not a JSON object")
    return value


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise AnswerRefused(f"the model's answer holds the key {shown(name)} twice")
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise AnswerRefused(f"the model's answer holds {name}, which is not a finite number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise AnswerRefused(f"the model's answer holds {digits[:20]}, which is not a finite number")
    return value


def _not_json_sentence(text: str, error: json.JSONDecodeError) -> str:
    if text.lstrip().startswith("```"):
        return "the model's answer is wrapped in a code fence instead of being JSON"
    if error.msg == "Extra data":
        more = text[error.pos :].lstrip().startswith(("{", "["))
        return (
            "the model gave more than one answer"
            if more
            else "the model's answer has text after its JSON"
        )
    return f"the model's answer is not JSON: {error.msg} at character {error.pos}"


def shown(name: str) -> str:
    """A name that the model chose, short and harmless in a sentence."""
    return repr(name if len(name) <= 60 else f"{name[:57]}...")
