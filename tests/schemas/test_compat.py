"""Each kind of incompatible change is named with its field; harmless ones are not called so."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, Field, RootModel, create_model

from sayso.schemas.compat import breaks
from sayso.schemas.json_schema import json_schema


class Part(BaseModel):
    name: str


class RenamedPart(BaseModel):
    name: str


class PartWithLess(BaseModel):
    pass


class Cat(BaseModel):
    schema_version: Literal[1] = 1
    kind: Literal["cat"] = "cat"
    lives: int


class Cat2(BaseModel):
    schema_version: Literal[2] = 2
    kind: Literal["cat"] = "cat"
    lives: str


class Dog(BaseModel):
    schema_version: Literal[1] = 1
    kind: Literal["dog"] = "dog"


class Tree(BaseModel):
    children: tuple["Tree", ...] = ()
    leaf: int


class ChangedTree(BaseModel):
    children: tuple["ChangedTree", ...] = ()
    leaf: str


def found(old: Any, new: Any) -> list[str]:
    """The breaks when the field `it` goes from one definition to another."""
    return [f"{one.field} {one.change}" for one in breaks(schema(old), schema(new))]


def schema(definition: Any) -> dict[str, Any]:
    fields = {} if definition is None else {"it": definition}
    return json_schema(create_model("It", **fields))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ((str, ""), None, "it was removed"),
        (None, (str, ...), "it was added without a default, and records already written lack it"),
        ((str, ""), (str, ...), "it is newly required, and records already written lack it"),
        ((str, ...), (int, ...), "it changed from string to integer"),
        ((int, ...), (float, ...), "it changed from integer to number"),
        ((str | None, None), (str, ""), "it no longer allows null, which records hold"),
        ((str, ""), (str | None, None), "it newly allows null, which consumers refuse"),
        (
            (Literal["a", "b"], ...),
            (Literal["a", "c"], ...),
            'it lost the value "b", which records hold',
        ),
        (
            (Literal["a", "b"], ...),
            (Literal["a", "b", "c"], ...),
            'it gained the value "c", which consumers refuse',
        ),
        ((Literal["a"], ...), (Literal["b"], ...), 'it lost the value "a", which records hold'),
        (
            (str, ...),
            (Literal["a", "b"], ...),
            "it now takes listed values, and records may hold others",
        ),
        ((Literal["a", "b"], ...), (str, ...), "it now takes any value"),
        (
            (Annotated[str, Field(max_length=9)], ...),
            (Annotated[str, Field(max_length=5)], ...),
            "it changed its maxLength from 9 to 5",
        ),
        ((str, ...), (AwareDatetime, ...), 'it changed its format from none to "date-time"'),
        ((list[int], []), (list[str], []), "it[] changed from integer to string"),
        ((dict[str, int], {}), (dict[str, str], {}), "it{} changed from integer to string"),
        ((dict[str, int], {}), (dict[str, Any], {}), "it{} changed what it may hold"),
        ((Part, ...), (PartWithLess, ...), "it.name was removed"),
        ((list[Part], []), (list[PartWithLess], []), "it[].name was removed"),
        ((Part | None, None), (PartWithLess | None, None), "it.name was removed"),
        ((Cat, ...), (Cat | Dog, ...), "it newly allows Dog, which consumers refuse"),
        ((Cat | Dog, ...), (Dog, ...), "it no longer allows Cat, which records hold"),
        ((Tree, ...), (ChangedTree, ...), "it.leaf changed from integer to string"),
        (
            (tuple[int, str], ...),
            (tuple[int, int], ...),
            "it changed the shape of its tuple",
        ),
    ],
)
def test_a_change_that_breaks_is_named(old: Any, new: Any, sentence: str) -> None:
    assert sentence in found(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, (str, "added")),
        ((str, ...), (str, "optional now")),
        ((str, "one"), (str, "another default")),
        ((str, ...), (Annotated[str, Field(description="told", title="T")], ...)),
        ((Part, ...), (RenamedPart, ...)),
        ((Part | None, None), (RenamedPart | None, None)),
        ((str | int, ...), (int | str, ...)),
        ((Tree, ...), (Tree, ...)),
    ],
)
def test_a_change_that_hurts_nobody_is_not_called_incompatible(old: Any, new: Any) -> None:
    assert found(old, new) == []


def test_a_raised_version_permits_any_change() -> None:
    assert breaks(json_schema(Cat), json_schema(Cat2)) == []


def test_a_version_that_goes_back_does_not() -> None:
    assert {one.field for one in breaks(json_schema(Cat2), json_schema(Cat))} == {
        "schema_version",
        "lives",
    }


def test_in_a_union_only_the_member_with_a_raised_version_may_change() -> None:
    class Silent(BaseModel):
        schema_version: Literal[1] = 1
        kind: Literal["dog"] = "dog"
        silent: bool

    old = json_schema(RootModel[Cat | Dog])
    new = json_schema(RootModel[Cat2 | Silent])
    assert [one.field for one in breaks(old, new)] == ["silent"]


def test_a_record_inside_another_may_not_raise_its_version_alone() -> None:
    assert "it.schema_version lost the value 1, which records hold" in found(
        (Cat, ...), (Cat2, ...)
    )
