"""What may go wrong between Slack and us, to order."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

FaultKind = Literal[
    "rate_limited",  # 429, with `retry_after` as its header
    "error_before",  # HTTP `status`, nothing done
    "error_after",  # done, then HTTP `status`
    "drop_before",  # the connection goes, nothing done
    "drop_after",  # done, then the connection goes
    "cut",  # done, then the connection goes in the middle of the answer
    "truncated",  # done; the answer's JSON stops short
    "html",  # done; HTTP `status` with a web page
    "plain",  # done; text/plain that is no JSON
    "empty",  # done; no body
    "null",  # done; the JSON value null
    "slow",  # done and answered after `delay` seconds
    "code",  # ok: false with `code`, nothing done
    "answer",  # `body` as the answer, nothing done
    "endless",  # the first page again and again, each with a new cursor
    "repeating",  # the first page again and again, with one cursor
    "bad_ts",  # done; the first message's ts is `code`
]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that goes wrong."""

    kind: FaultKind
    method: str | None = None
    """Only calls of this method."""
    match: str | None = None
    """Only calls whose arguments, as JSON, hold this text."""
    times: int | None = 1
    """How many calls; None for all."""
    status: int | None = None
    """Of the HTTP answer; 503 for what is an error, else 200."""
    retry_after: str | None = "30"
    """As it stands in the header; None leaves it out."""
    delay: float = 1.0
    code: str = "internal_error"
    body: Mapping[str, object] | None = None

    def concerns(self, method: str, arguments: str) -> bool:
        """True when the call goes wrong in this way."""
        return self.method in (None, method) and (self.match is None or self.match in arguments)


class Faults:
    """Faults waiting for their calls, the one ordered first taken first. Safe in threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: list[Fault] = []
        self.page_cap: int | None = None
        """Objects a page may hold, whatever was asked; Slack gives some apps 15."""

    def add(self, fault: Fault) -> None:
        """Let something go wrong."""
        with self._lock:
            self._waiting.append(fault)

    def clear(self) -> None:
        """Let everything go right again."""
        with self._lock:
            self._waiting.clear()
            self.page_cap = None

    def take(self, method: str, args: Mapping[str, object]) -> Fault | None:
        """What goes wrong with this call, used up by it."""
        arguments = json.dumps(args, ensure_ascii=False, default=str)
        with self._lock:
            for index, fault in enumerate(self._waiting):
                if not fault.concerns(method, arguments):
                    continue
                if fault.times == 1:
                    del self._waiting[index]
                elif fault.times is not None:
                    self._waiting[index] = replace(fault, times=fault.times - 1)
                return fault
        return None
