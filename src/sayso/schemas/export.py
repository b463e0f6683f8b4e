"""Write the topic reference from the models, or check that what is there still holds.

    python -m sayso.schemas.export docs/reference
    python -m sayso.schemas.export --check docs/reference

Both refuse a change that breaks readers, naming topic and field, unless the record's
`schema_version` was raised. What stands in the folder is what readers were promised.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sayso.schemas.asyncapi import asyncapi
from sayso.schemas.compat import breaks
from sayso.schemas.json_schema import json_schema
from sayso.schemas.reference import reference
from sayso.schemas.topics import TOPICS

_ASYNCAPI: Final = "asyncapi.json"
_REFERENCE: Final = "topics.md"
_SCHEMAS: Final = "schemas"


def documents() -> dict[str, str]:
    """Every file of the reference by its path in the folder; the same on every run."""
    return {
        _ASYNCAPI: _text(asyncapi()),
        _REFERENCE: reference(),
        **{_schema_path(spec.name): _text(json_schema(spec.model)) for spec in TOPICS},
    }


def incompatible(folder: Path, made: Mapping[str, str]) -> list[str]:
    """A sentence for each change since `folder` was written that breaks a reader."""
    return [*_broken_records(folder, made), *_broken_channels(folder, made)]


def outdated(folder: Path, made: Mapping[str, str]) -> list[str]:
    """A sentence for each file in `folder` that is not what the models make now."""
    problems = []
    for path, text in sorted(made.items()):
        file = folder / path
        if not file.is_file():
            problems.append(f"{file} is missing: run make schemas")
        elif file.read_text(encoding="utf-8") != text:
            problems.append(f"{file} is out of date: run make schemas")
    problems.extend(
        f"{file} belongs to no topic any more: run make schemas"
        for file in _left_over(folder, made)
    )
    return problems


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write every file, and remove the schemas of topics that are gone."""
    for file in _left_over(folder, made):
        file.unlink()
    for path, text in made.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 when written or all is well, 1 when something is refused."""
    parser = argparse.ArgumentParser(prog="python -m sayso.schemas.export", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    parser.add_argument(
        "--break-readers",
        action="store_true",
        help="write even what breaks readers: only for topics that nobody reads yet",
    )
    options = parser.parse_args(arguments)
    made = documents()
    broken = [] if options.break_readers else incompatible(options.folder, made)
    stale = outdated(options.folder, made) if options.check else []
    for problem in (*broken, *stale):
        sys.stderr.write(problem + "\n")
    if broken or stale:
        return 1
    if not options.check:
        write(options.folder, made)
    return 0


def _broken_records(folder: Path, made: Mapping[str, str]) -> Iterator[str]:
    for file in sorted((folder / _SCHEMAS).glob("*.json")):
        topic = file.stem
        now = made.get(_schema_path(topic))
        if now is None:
            yield f"INCOMPATIBLE {topic}: the topic was removed; keep it for those who read it"
            continue
        for change in breaks(json.loads(file.read_text(encoding="utf-8")), json.loads(now)):
            field = f"field {change.field}" if change.field else "the record"
            yield (
                f"INCOMPATIBLE {topic}: {field} {change.change}; "
                "undo that, or raise schema_version and read both versions"
            )


def _broken_channels(folder: Path, made: Mapping[str, str]) -> Iterator[str]:
    """What JSON Schema does not tell: a topic's key and the CloudEvents type of its records."""
    file = folder / _ASYNCAPI
    if not file.is_file():
        return
    before = _promises(json.loads(file.read_text(encoding="utf-8")))
    after = _promises(json.loads(made[_ASYNCAPI]))
    for (topic, record, what), was in before.items():
        now = after.get((topic, record, what), was)
        if now != was:
            yield (
                f"INCOMPATIBLE {topic}: {what} of {record} changed from {was} to {now}, "
                "which consumers rely on; undo that, or make a new topic"
            )


def _promises(document: Mapping[str, Any]) -> dict[tuple[str, str, str], str]:
    promises = {}
    for topic, channel in document["channels"].items():
        for record, message in channel["messages"].items():
            key = message["bindings"]["kafka"]["key"]["description"]
            promises[topic, record, "the key"] = key
            kind, _, _version = message["headers"]["properties"]["ce_type"]["const"].rpartition(".")
            promises[topic, record, "ce_type"] = kind
    return promises


def _left_over(folder: Path, made: Mapping[str, str]) -> list[Path]:
    known = {folder / path for path in made}
    return sorted(file for file in (folder / _SCHEMAS).glob("*.json") if file not in known)


def _schema_path(topic: str) -> str:
    return f"{_SCHEMAS}/{topic}.json"


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
