"""The sandbox's own endpoints, by which another process plays the people and orders faults.

Each takes the keyword arguments of the workspace's method of the same name as a JSON object.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import orjson
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sayso.connectors.slack.sandbox.faults import Fault, Faults
from sayso.connectors.slack.sandbox.workspace import Workspace

_FAULT: Final = TypeAdapter(Fault)


class Control:
    """Everything under /_sandbox/."""

    def __init__(self, *, workspace: Workspace, faults: Faults, calls: Counter[str]) -> None:
        self._faults = faults
        self._workspace = workspace
        self._calls = calls
        self._acts: dict[str, Callable[..., object]] = {
            "say": workspace.say,
            "put": workspace.put,
            "edit": workspace.edit,
            "delete": workspace.delete,
            "react": workspace.react,
            "unreact": workspace.unreact,
            "archive": workspace.archive,
            "add_user": workspace.add_user,
            "add_channel": workspace.add_channel,
        }

    def routes(self) -> list[Route]:
        """POST an act or a fault; DELETE the faults; GET state and calls."""
        return [
            Route("/_sandbox/state", self._state, methods=["GET"]),
            Route("/_sandbox/calls", self._counted, methods=["GET"]),
            Route("/_sandbox/faults", self._order, methods=["POST"]),
            Route("/_sandbox/faults", self._mend, methods=["DELETE"]),
            Route("/_sandbox/{act}", self._act, methods=["POST"]),
        ]

    async def _state(self, request: Request) -> Response:
        return _json(self._workspace.snapshot())

    async def _counted(self, request: Request) -> Response:
        return _json(dict(self._calls))

    async def _order(self, request: Request) -> Response:
        try:
            given = _object(await request.body())
            cap = given.pop("page_cap", None)
            if cap is not None:
                self._faults.page_cap = int(str(cap))
            if given:
                self._faults.add(_FAULT.validate_python(given))
        except (ValidationError, ValueError, TypeError) as error:
            return _refused(str(error))
        return _json({"ok": True})

    async def _mend(self, request: Request) -> Response:
        self._faults.clear()
        return _json({"ok": True})

    async def _act(self, request: Request) -> Response:
        act = self._acts.get(request.path_params["act"])
        if act is None:
            return _refused(f"there is no such act; there are {', '.join(sorted(self._acts))}")
        try:
            return _json({"ok": True, "result": act(**_object(await request.body()))})
        except (KeyError, ValueError, TypeError) as error:
            return _refused(f"{type(error).__name__}: {error}")


def _object(body: bytes) -> dict[str, object]:
    given = orjson.loads(body or b"{}")
    if not isinstance(given, dict):
        raise ValueError("a JSON object is needed")
    return given


def _json(answer: Mapping[str, object], *, status: int = 200) -> Response:
    return Response(orjson.dumps(answer), status, media_type="application/json")


def _refused(reason: str) -> Response:
    return _json({"ok": False, "error": reason}, status=400)
