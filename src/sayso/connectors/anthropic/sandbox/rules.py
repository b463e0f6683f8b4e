"""The stand-in's own reading of a reply: a few patterns, no understanding.

- `set <field> to <value>`, `<field> = <value>` and `<field>: <value>` change a declared field;
  underscores may be written as spaces. The value ends at a semicolon, a line's end or a full stop.
- `set some_field to <value>` of a field that is not declared is answered as asked, so that the
  validation behind it can be watched.
- `agreed`, `approved`, `go ahead`, `ship it`, `let's do it` and `yes` decide without a change.
- `maybe`, `perhaps`, `probably` and `not sure` lower the confidence to 0.4.
- Anything else decides nothing.
"""

import re
from typing import Final

from sayso.connectors.anthropic.sandbox.question import Question

SAYS_SO: Final = "Stand-in: answered by simple rules, not by a model."

_VALUE: Final = r"(?P<value>[^;\n]*?)(?=\s*(?:[;\n]|\.(?:\s|$)|$))"
_UNDECLARED: Final = re.compile(
    rf"\bset\s+(?P<field>[a-z][a-z0-9]*(?:_[a-z0-9]+)+)\s+to\s+{_VALUE}", re.IGNORECASE
)
_AGREED: Final = re.compile(
    r"\b(?:agreed|approved|go ahead|ship it|let['\u2019]s do it|yes)\b", re.IGNORECASE
)
_UNSURE: Final = re.compile(r"\b(?:maybe|perhaps|probably|not sure)\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[-+]?\d+(?:\.\d+)?")


def conclude(question: Question) -> dict[str, object]:
    """An answer in Sayso's shape."""
    reply = question.reply
    found = _declared(question) + _undeclared(question)
    changes = [change for change, _ in found]
    spans = [span for _, span in found]
    if not spans and (agreed := _AGREED.search(reply)):
        spans = [agreed.span()]
    if not spans:
        return decision(question, is_decision=False, title="", statement="", quote="")
    title = "; ".join(f"Set {change['field']}" for change in changes) or "Agreed"
    return decision(
        question,
        title=title[:200],
        statement=f"{title}."[:4_000],
        quote=reply[min(start for start, _ in spans) : max(end for _, end in spans)][:4_000],
        confidence=0.4 if _UNSURE.search(reply) else 0.95,
        changes=changes,
    )


def decision(question: Question, **parts: object) -> dict[str, object]:
    """An answer with `parts`, the rest filled in as a plain decision."""
    return {
        "is_decision": True,
        "title": "A decision",
        "statement": "What the reply says.",
        "rationale": SAYS_SO,
        "quote": question.reply[:4_000],
        "products": [],
        "initiatives": [],
        "reversibility": "unknown",
        "confidence": 0.95,
        "changes": [],
    } | parts


_Found = list[tuple[dict[str, object], tuple[int, int]]]


def _declared(question: Question) -> _Found:
    found: _Found = []
    for name, kind in question.fields.items():
        spelled = re.escape(name).replace("_", "[_ ]")
        pattern = rf"(?:\bset\s+)?(?<!\w){spelled}(?:\s*[=:]\s*|\s+to\s+){_VALUE}"
        match = re.search(pattern, question.reply, re.IGNORECASE)
        if match:
            change: dict[str, object] = {"field": name, "value": _value(match["value"], kind)}
            found.append((change, match.span()))
    return found


def _undeclared(question: Question) -> _Found:
    return [
        ({"field": match["field"], "value": match["value"]}, match.span())
        for match in _UNDECLARED.finditer(question.reply)
        if match["field"] not in question.fields
    ]


def _value(text: str, kind: str) -> object:
    if kind == "texts":
        return [part for part in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if part]
    number = _NUMBER.search(text)
    if kind == "number" and number:
        return float(number[0]) if "." in number[0] else int(number[0])
    return text
