"""Printing raw records for people and for scripts."""

import shutil
import sys
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import typer

from sayso.schemas.topics import TopicSpec
from sayso.streams.codec import decode
from sayso.streams.errors import Poison
from sayso.streams.reader import RawRecord

_VALUE_WIDTH: Final = 160
"""Characters of a value where the output is no terminal."""


class Printer:
    """Prints records of one topic, telling which of them this build cannot read."""

    def __init__(self, spec: TopicSpec, *, as_json: bool) -> None:
        self._spec = spec
        self._as_json = as_json
        self._unreadable = 0
        self._width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def show(self, record: RawRecord) -> None:
        """Print one record as one line."""
        refusal = self._refusal(record)
        self._unreadable += refusal is not None
        typer.echo(json_line(record, refusal) if self._as_json else self._text(record, refusal))

    def finish(self) -> None:
        """Say how many records could not be read."""
        if self._unreadable:
            typer.echo(f"records that this build cannot read: {self._unreadable}", err=True)

    def _refusal(self, record: RawRecord) -> str | None:
        if record.value is None:
            return None
        try:
            decode(self._spec.model, record.value)
        except Poison as fault:
            return str(fault)
        return None

    def _text(self, record: RawRecord, refusal: str | None) -> str:
        place = f"{record.partition}:{record.offset}"
        start = f"{_time(record)}  {place:<8}  {printable(record.key)}  "
        value = "(removed)" if record.value is None else printable(record.value[:4_096])
        if refusal is not None:
            value = f"UNREADABLE {printable(refusal.encode())}  {value}"
        room = _VALUE_WIDTH if self._width is None else max(20, self._width - len(start))
        return start + (value if len(value) <= room else value[: room - 1] + "…")


def json_line(record: RawRecord, refusal: str | None) -> str:
    """A record as one JSON object; bytes that are no JSON are given as base64."""
    line: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _time(record),
        "key": None if record.key is None else _text(record.key),
        "headers": {name: None if is_ is None else _text(is_) for name, is_ in record.headers},
        "value": None,
    }
    if record.value is not None:
        try:
            line["value"] = orjson.loads(record.value)
        except orjson.JSONDecodeError:
            line["value_base64"] = b64encode(record.value).decode()
    if refusal is not None:
        line["unreadable"] = refusal
    return orjson.dumps(line).decode()


def printable(value: bytes | None) -> str:
    """Text that cannot move a terminal's cursor, whatever somebody wrote."""
    text = _text(value or b"")
    return "".join(letter if letter.isprintable() else "·" for letter in text)


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _time(record: RawRecord) -> str:
    when = datetime.fromtimestamp(max(record.timestamp_ms, 0) / 1000, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
