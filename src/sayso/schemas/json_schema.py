"""JSON Schema of a topic's records, with the attributes' docstrings as descriptions."""

import ast
import inspect
from functools import cache
from textwrap import dedent
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class _Documented(GenerateJsonSchema):
    """Describes fields by their docstrings.

    Pydantic can read them itself, but does so whenever the models are imported, which every
    command would wait for.
    """

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        docs = _attribute_docs(schema["cls"])
        for name, field in described.get("properties", {}).items():
            if name in docs:
                field.setdefault("description", docs[name])
        return described

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        # `discriminator` is OpenAPI's; each member's constant says the same to everybody.
        described = super().tagged_union_schema(schema)
        described.pop("discriminator", None)
        return described

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """What a reader accepts as a record of `model`."""
    return {"$schema": DIALECT, **model.model_json_schema(schema_generator=_Documented)}


def json_schemas(models: list[type[BaseModel]], *, ref_template: str) -> dict[str, Any]:
    """Schemas of several models and their parts by name, referring to each other."""
    generator = _Documented(ref_template=ref_template)
    definitions = generator.generate_definitions(
        [(model, "validation", model.__pydantic_core_schema__) for model in models]
    )[1]
    return dict(sorted(definitions.items()))


def _attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    docs: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if issubclass(kind, BaseModel):
            docs.update(_own_attribute_docs(kind))
    return docs


@cache
def _own_attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    try:
        body = ast.parse(dedent(inspect.getsource(model))).body[0]
    except (OSError, TypeError):  # made at run time, such as the parameters of a RootModel
        return {}
    return _documented_attributes(body) if isinstance(body, ast.ClassDef) else {}


def _documented_attributes(body: ast.ClassDef) -> dict[str, str]:
    return {
        attribute.target.id: inspect.cleandoc(text.value.value).replace("\n", " ")
        for attribute, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(attribute, ast.AnnAssign)
        and isinstance(attribute.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
