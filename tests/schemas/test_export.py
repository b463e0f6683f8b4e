"""The reference is what the models make, and a change that breaks readers is refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from sayso.schemas import export
from sayso.schemas.asyncapi import asyncapi, record_models
from sayso.schemas.topics import BY_NAME, TOPICS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    assert export.main([str(tmp_path)]) == 0
    return tmp_path


def changed(folder: Path, topic: str, *path: str, to: Any) -> None:
    """Make the promised schema of a topic another one."""
    edit(folder / "schemas" / f"{topic}.json", *path, to=to)


def edit(file: Path, *path: str, to: Any) -> None:
    document = json.loads(file.read_text())
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = to
    file.write_text(json.dumps(document))


def check(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = export.main(["--check", str(folder)])
    return code, capsys.readouterr().err.splitlines()


def test_what_was_written_holds(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(written, capsys) == (0, [])


def test_writing_twice_makes_the_same_bytes(written: Path) -> None:
    before = {file: file.read_bytes() for file in written.rglob("*.*")}
    assert export.main([str(written)]) == 0
    assert {file: file.read_bytes() for file in written.rglob("*.*")} == before
    assert all(content.endswith(b"\n") for content in before.values())


def test_a_removed_field_is_named(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed(written, "status", "properties", "colour", to={"type": "string"})
    code, problems = check(written, capsys)
    assert code == 1
    assert problems[0] == (
        "INCOMPATIBLE status: field colour was removed; "
        "undo that, or raise schema_version and read both versions"
    )
    assert problems[1].endswith("status.json is out of date: run make schemas")


def test_a_new_field_is_only_out_of_date(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    promised = json.loads((written / "schemas" / "status.json").read_text())["properties"]
    del promised["detail"]
    changed(written, "status", "properties", to=promised)
    code, problems = check(written, capsys)
    assert code == 1
    assert [problem.rpartition("/")[2] for problem in problems] == [
        "status.json is out of date: run make schemas"
    ]


def test_writing_refuses_to_forget_a_promise(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(written, "status", "properties", "colour", to={"type": "string"})
    assert export.main([str(written)]) == 1
    assert "field colour was removed" in capsys.readouterr().err
    assert "colour" in (written / "schemas" / "status.json").read_text()
    assert export.main(["--break-readers", str(written)]) == 0
    assert "colour" not in (written / "schemas" / "status.json").read_text()


def test_a_removed_topic_is_named(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (written / "schemas" / "moods.json").write_text("{}")
    _, problems = check(written, capsys)
    assert problems[0].startswith("INCOMPATIBLE moods: the topic was removed")
    assert problems[1].endswith("moods.json belongs to no topic any more: run make schemas")


def test_a_changed_key_is_named(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("channels", "status", "messages", "Status", "bindings", "kafka", "key", "description")
    edit(written / "asyncapi.json", *at, to="org/id")
    _, problems = check(written, capsys)
    assert problems[0].startswith(
        "INCOMPATIBLE status: the key of Status changed from org/id to org/kind/id"
    )


def test_a_changed_type_is_named_but_not_a_raised_one(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("channels", "status", "messages", "Status", "headers", "properties", "ce_type", "const")
    edit(written / "asyncapi.json", *at, to="sayso.status.v0")
    assert not any("INCOMPATIBLE" in problem for problem in check(written, capsys)[1])
    edit(written / "asyncapi.json", *at, to="sayso.state.v1")
    assert (
        "ce_type of Status changed from sayso.state to sayso.status" in check(written, capsys)[1][0]
    )


def test_a_missing_file_is_named(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (written / "topics.md").unlink()
    assert check(written, capsys)[1] == [f"{written / 'topics.md'} is missing: run make schemas"]


@pytest.mark.parametrize("topic", sorted(BY_NAME))
def test_each_schema_is_one(topic: str, written: Path) -> None:
    document = json.loads((written / "schemas" / f"{topic}.json").read_text())
    Draft202012Validator.check_schema(document)


ASYNCAPI_3 = {
    "type": "object",
    "required": ["asyncapi", "info", "channels", "operations", "components"],
    "properties": {
        "asyncapi": {"const": "3.0.0"},
        "info": {"type": "object", "required": ["title", "version"]},
        "channels": {
            "additionalProperties": {
                "type": "object",
                "required": ["address", "messages", "bindings"],
                "properties": {
                    "address": {"type": "string"},
                    "messages": {
                        "minProperties": 1,
                        "additionalProperties": {
                            "type": "object",
                            "required": ["name", "contentType", "headers", "payload", "bindings"],
                            "properties": {
                                "headers": {"properties": {"type": {"const": "object"}}},
                                "payload": {"required": ["$ref"]},
                            },
                        },
                    },
                },
            }
        },
        "operations": {
            "additionalProperties": {
                "required": ["action", "channel"],
                "properties": {
                    "action": {"enum": ["send", "receive"]},
                    "channel": {"required": ["$ref"], "maxProperties": 1},
                },
            }
        },
        "components": {
            "required": ["schemas"],
            "properties": {"schemas": {"propertyNames": {"pattern": r"^[a-zA-Z0-9._-]+$"}}},
        },
    },
}
"""What AsyncAPI 3.0 asks of the parts we use; the document also passes its published schema."""


def test_the_asyncapi_document_is_well_formed() -> None:
    document = asyncapi()
    Draft7Validator(ASYNCAPI_3).validate(document)
    assert set(document["channels"]) == set(BY_NAME)
    for schema in document["components"]["schemas"].values():
        Draft7Validator.check_schema(schema)
        assert not isinstance(schema.get("discriminator"), dict)  # AsyncAPI wants a name there


def test_every_reference_in_the_asyncapi_document_leads_somewhere() -> None:
    document = asyncapi()

    def references(node: Any) -> list[str]:
        if isinstance(node, list):
            return [one for item in node for one in references(item)]
        if not isinstance(node, dict):
            return []
        here = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return here + [one for item in node.values() for one in references(item)]

    assert len(references(document)) > len(TOPICS)
    for reference in references(document):
        target: Any = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        assert target


def test_retention_is_told_as_the_topic_has_it() -> None:
    channels = asyncapi()["channels"]
    settings = channels["ticks"]["bindings"]["kafka"]["topicConfiguration"]
    assert settings["retention.ms"] == BY_NAME["ticks"].retention_ms
    settings = channels["status"]["bindings"]["kafka"]["topicConfiguration"]
    assert settings["cleanup.policy"] == ["compact"]
    assert "retention.ms" not in settings


def test_the_reference_for_people_names_every_topic_and_record() -> None:
    text = export.documents()["topics.md"]
    for spec in TOPICS:
        assert f"\n## {spec.name}\n" in text
        for model in record_models(spec.model):
            assert f"\n### {model.__name__}\n" in text
    assert "| `thread` | string" in text
    assert "The root whose cursor this reply holds or frees" in text


def test_a_link_in_the_reference_leads_to_a_heading() -> None:
    text = export.documents()["topics.md"]
    anchors = {
        line.lstrip("# ").lower().replace(".", "").replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    linked = {part.partition(")")[0] for part in text.split("(#")[1:]}
    assert linked <= anchors


def test_the_checked_in_reference_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(REFERENCE, capsys) == (0, [])
