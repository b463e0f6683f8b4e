"""Which changes of a JSON Schema break somebody.

Two readers can be hurt: this build reading records already written, and a consumer of yesterday
reading records of this build. A field added with a default, a new description or a new default
hurts neither. A field that becomes optional hurts neither either, since every record we write
holds all its fields. Everything else does, and needs a raised `schema_version`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Schema = Mapping[str, Any]

_ANNOTATIONS: Final = ("title", "description", "default", "examples", "deprecated", "$schema")
_BOUNDS: Final = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
)
_VERSION: Final = "schema_version"


@dataclass(frozen=True, kw_only=True)
class Break:
    """One incompatible change."""

    field: str
    """Path of the field, such as `changes[].value`; empty for the record itself."""
    change: str
    """What became of it, as the rest of a sentence."""


def breaks(old: Schema, new: Schema) -> list[Break]:
    """The incompatible changes from `old` to `new`, both complete schemas of one topic.

    A kind of record whose `schema_version` was raised may change in any way.
    """
    return list(_Comparison(old, new).run())


class _Comparison:
    def __init__(self, old: Schema, new: Schema) -> None:
        self._old = old
        self._new = new
        self._seen: set[tuple[str, str]] = set()

    def run(self) -> Iterator[Break]:
        yield from self._node("", self._old, self._new)

    def _node(self, path: str, old: Schema, new: Schema) -> Iterator[Break]:
        pair = (old.get("$ref", ""), new.get("$ref", ""))
        if all(pair):
            if pair in self._seen:  # a model that holds itself, or was compared elsewhere
                return
            self._seen.add(pair)
        before = _alternatives(self._old, old)
        after = _alternatives(self._new, new)
        pairs, gone, added = _matched(before, after)
        for one, other in pairs:
            yield from self._alternative(path, one, other)
        if len(before) == len(after) == len(gone) == len(added) == 1:
            yield Break(field=path, change=f"changed from {_name(gone[0])} to {_name(added[0])}")
            return
        for one in gone:
            yield Break(field=path, change=f"no longer allows {_name(one)}, which records hold")
        for other in added:
            yield Break(field=path, change=f"newly allows {_name(other)}, which consumers refuse")

    def _alternative(self, path: str, old: Schema, new: Schema) -> Iterator[Break]:
        if not path and _version(new) > _version(old):
            return
        yield from _values(path, old, new)
        for bound in _BOUNDS:
            if old.get(bound) != new.get(bound):
                was, now = _shown(old.get(bound)), _shown(new.get(bound))
                yield Break(field=path, change=f"changed its {bound} from {was} to {now}")
        yield from self._fields(path, old, new)
        for keyword, suffix in (("items", "[]"), ("additionalProperties", "{}")):
            one, other = old.get(keyword, True), new.get(keyword, True)
            if isinstance(one, Mapping) and isinstance(other, Mapping):
                yield from self._node(path + suffix, one, other)
            elif isinstance(one, Mapping) or isinstance(other, Mapping) or one != other:
                yield Break(field=path + suffix, change="changed what it may hold")
        if old.get("prefixItems") != new.get("prefixItems"):
            yield Break(field=path, change="changed the shape of its tuple")

    def _fields(self, path: str, old: Schema, new: Schema) -> Iterator[Break]:
        before: Schema = old.get("properties", {})
        after: Schema = new.get("properties", {})
        required_before, required = old.get("required", ()), new.get("required", ())
        for name in sorted({*before, *after}):
            field = f"{path}.{name}" if path else name
            if name not in after:
                yield Break(field=field, change="was removed")
            elif name in required and name not in required_before:
                how = "is newly required" if name in before else "was added without a default"
                yield Break(field=field, change=f"{how}, and records already written lack it")
            if name in before and name in after:
                yield from self._node(field, before[name], after[name])


def _alternatives(root: Schema, node: Schema) -> list[Schema]:
    """The alternatives a node allows: one, unless it is a union; references resolved."""
    while "$ref" in node:
        target: Schema = root
        for step in str(node["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            return [leaf for one in node[keyword] for leaf in _alternatives(root, one)]
    return [node]


def _matched(
    before: list[Schema], after: list[Schema]
) -> tuple[list[tuple[Schema, Schema]], list[Schema], list[Schema]]:
    """Pair the alternatives that are the same kind of thing; what is left was lost or gained."""
    gone, added = list(before), list(after)
    pairs: list[tuple[Schema, Schema]] = []
    last = _type if len(before) == len(after) == 1 else _kind_but_title
    for same in (_content, _kind, last):
        for one in list(gone):
            for other in list(added):
                if same(one) == same(other):
                    pairs.append((one, other))
                    gone.remove(one)
                    added.remove(other)
                    break
    return pairs, gone, added


def _content(node: Schema) -> str:
    plain = {key: value for key, value in node.items() if key not in _ANNOTATIONS}
    return json.dumps(plain, sort_keys=True)


def _kind(node: Schema) -> tuple[str, str]:
    """An object of a union is known by its constants, else by its title."""
    return _type(node), _constants(node) or _title(node)


def _kind_but_title(node: Schema) -> tuple[str, str]:
    """A model that was only renamed is still the same thing on the wire."""
    return _type(node), _constants(node)


def _constants(node: Schema) -> str:
    constants = {
        name: field["const"]
        for name, field in node.get("properties", {}).items()
        if name != _VERSION and "const" in field
    }
    return json.dumps(constants, sort_keys=True) if constants else ""


def _title(node: Schema) -> str:
    return str(node.get("title", "")) if _type(node) == "object" else ""


def _type(node: Schema) -> str:
    return str(node.get("type", "object" if "properties" in node else "anything"))


def _name(node: Schema) -> str:
    kind, title = _type(node), _title(node)
    if kind == "object" and title:
        return title
    values = _enumerated(node)
    return kind if values is None else " or ".join(_shown(value) for value in values)


def _enumerated(node: Schema) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    values = node.get("enum")
    return None if values is None else list(values)


def _values(path: str, old: Schema, new: Schema) -> Iterator[Break]:
    before, after = _enumerated(old), _enumerated(new)
    if before is None and after is None:
        return
    if before is None or after is None:
        words = "listed values, and records may hold others" if before is None else "any value"
        yield Break(field=path, change=f"now takes {words}")
        return
    for value in before:
        if value not in after:
            change = f"lost the value {_shown(value)}, which records hold"
            yield Break(field=path, change=change)
    for value in after:
        if value not in before:
            change = f"gained the value {_shown(value)}, which consumers refuse"
            yield Break(field=path, change=change)


def _version(node: Schema) -> int:
    values = _enumerated(node.get("properties", {}).get(_VERSION, {})) or [0]
    return max(int(value) for value in values)


def _shown(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
