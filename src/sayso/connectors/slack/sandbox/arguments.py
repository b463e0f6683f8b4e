"""How Slack reads arguments: from query, form or JSON, and timestamps in its own odd way."""

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

Args = Mapping[str, object]

_MICROS: Final = 1_000_000
_CURSOR: Final = "next_ts:"
LIMIT_CAP: Final = 999


class Refused(Exception):
    """An `ok: false` answer: its code and whatever else stands in it."""

    def __init__(self, code: str, **details: object) -> None:
        super().__init__(code)
        self.code = code
        self.details = details


def read_arguments(query: bytes, body: bytes, content_type: str) -> dict[str, object]:
    """Arguments of a request, the body over the query. Raises Refused."""
    args: dict[str, object] = dict(parse_qsl(query.decode(), keep_blank_values=True))
    if not body:
        return args
    if content_type.startswith("application/json"):
        try:
            given = json.loads(body)
        except ValueError:
            raise Refused("invalid_json") from None
        if not isinstance(given, dict):
            raise Refused("json_not_object")
        return args | given
    return args | dict(parse_qsl(body.decode(), keep_blank_values=True))


def text(args: Args, name: str) -> str:
    """An argument as text, empty when absent."""
    value = args.get(name)
    return "" if value is None else str(value)


def flag(args: Args, name: str) -> bool:
    """Only absent, empty, 0 and false mean no; any other text means yes."""
    return text(args, name).lower() not in ("", "0", "false")


def limit(args: Args, *, default: int) -> int:
    """Objects per page; what is no number between 1 and the cap is set right silently."""
    asked = text(args, "limit")
    if not asked.isdigit() or asked == "0":
        return default
    return min(int(asked), LIMIT_CAP)


def slack_ts(args: Args, name: str, *, error: str) -> int | None:
    """A timestamp argument in microseconds; None for absent, empty and zero. Raises Refused.

    Slack takes the digits before the point as seconds and those after as a whole number of
    microseconds, so `1796000000.1` is a tenth of a second too early and a seventh digit moves
    the point. Other characters are dropped.
    """
    value = text(args, name)
    if not value:
        return None
    seconds, _, fraction = value.partition(".")
    whole, part = ("".join(filter(str.isdigit, piece)) for piece in (seconds, fraction))
    if not whole and not part:
        raise Refused(error)
    return int((whole or "0") + part.rjust(6, "0")) or None


def message_ts(args: Args, name: str) -> int:
    """The microseconds of the message that an argument names; 0 names nothing."""
    seconds, _, fraction = text(args, name).partition(".")
    if not (seconds.isdigit() and fraction.isdigit()):
        return 0
    return int(seconds) * _MICROS + int(fraction)


def cursor_to(micros: int) -> str:
    """The page cursor of the message where the next page begins."""
    return b64encode(f"{_CURSOR}{micros}".encode()).decode()


def cursor_from(args: Args) -> int | None:
    """Where the page begins; None for the first. Raises Refused."""
    given = text(args, "cursor")
    if not given:
        return None
    try:
        named = b64decode(given, validate=True).decode()
    except (Base64Error, ValueError):
        raise Refused("invalid_cursor") from None
    value = named.removeprefix(_CURSOR)
    if value == named or not value.isdigit():
        raise Refused("invalid_cursor")
    return int(value)
