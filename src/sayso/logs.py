"""Structured logs, without message text and without secrets.

An exception's own words may quote what somebody wrote, so a log names its class and where it was
raised. The words stand in the dead letter, beside the record that caused them.
"""

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict

_FRAMES = 6


def set_up_logs() -> None:
    """Logs to standard error: lines for people on a terminal, else one JSON object each."""
    people = sys.stderr.isatty()
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if people else structlog.processors.JSONRenderer()
    )
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    # Libraries log through the standard library: the same lines, from warnings on.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _class_and_frames],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _class_and_frames(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A library's traceback, without the error's own words."""
    raised = event.pop("exc_info", None)
    error = raised[1] if isinstance(raised, tuple) else raised
    if isinstance(error, BaseException):
        event.update(described(error))
    return event


def described(error: BaseException) -> dict[str, Any]:
    """The class of an error and the frames that raised it, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return {
        "error": type(error).__name__,
        "raised": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames],
    }
