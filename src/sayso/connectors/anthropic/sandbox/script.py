"""What the stand-in is told to answer, reply by reply."""

import threading
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FaultName = Literal[
    # instead of an answer
    "rate limited",
    "overloaded",
    "server error",
    "unauthorised",
    "html",
    "broken json",
    "no content",
    "dropped",
    # a message that is no answer
    "truncated",
    "context full",
    "declined",
    "paused",
    "tool use",
    "two texts",
    "no text",
    # an answer that may not be applied
    "fenced",
    "chatty",
    "two answers",
    "nan",
    "infinity",
    "duplicate key",
    "duplicate field",
    "undeclared field",
    "boolean for number",
    "missing value",
    "huge",
]


class Line(BaseModel):
    """One line of a script: to which replies it applies, and what they are answered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: str = ""
    """A substring of the reply; empty applies to every reply."""
    answer: dict[str, object] | None = None
    """Parts of the answer; what is left out is filled in as a plain decision."""
    text: str | None = None
    """The answer's text as it is, instead of `answer`."""
    fault: FaultName | None = None
    """What goes wrong. Without `answer` or `text` the rules make the answer that it spoils."""
    times: int | None = Field(default=None, ge=1)
    """How many requests it applies to; None is all."""
    retry_after: float | None = Field(default=None, ge=0)
    """Seconds for the retry-after header of an error status."""
    seconds: float = Field(default=0.0, ge=0, le=600)
    """How long to wait before answering."""


_LINES: Final = TypeAdapter(tuple[Line, ...])


def read_lines(data: bytes) -> tuple[Line, ...]:
    """Lines from a JSON list. Raises pydantic's ValidationError."""
    return _LINES.validate_json(data)


class Script:
    """Lines in order; the first that applies and has uses left is played. Safe across threads."""

    def __init__(self, *lines: Line) -> None:
        self._lock = threading.Lock()
        self._lines: list[tuple[Line, int]] = [(line, 0) for line in lines]

    def add(self, *lines: Line) -> None:
        """Append lines."""
        with self._lock:
            self._lines.extend((line, 0) for line in lines)

    def clear(self) -> None:
        """Forget every line."""
        with self._lock:
            self._lines.clear()

    def take(self, reply: str) -> Line | None:
        """The line for one request about `reply`, using it up by one; None leaves it to rules."""
        with self._lock:
            for place, (line, used) in enumerate(self._lines):
                if line.when in reply and (line.times is None or used < line.times):
                    self._lines[place] = (line, used + 1)
                    return line
        return None
