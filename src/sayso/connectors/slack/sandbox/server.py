"""The HTTP face: the Web API under /api/, and under /_sandbox/ what drives the workspace."""

from asyncio import Transport, sleep
from collections import Counter, deque
from collections.abc import Mapping, MutableMapping
from typing import Final

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sayso.connectors.slack.sandbox.arguments import Refused, cursor_to, read_arguments, text
from sayso.connectors.slack.sandbox.control import Control
from sayso.connectors.slack.sandbox.faults import Fault, Faults
from sayso.connectors.slack.sandbox.methods import METHODS, call
from sayso.connectors.slack.sandbox.workspace import Workspace

Connections = MutableMapping[tuple[str, int], Transport]
"""Open connections by the client's address, so that one can be dropped."""

_JSON: Final = "application/json; charset=utf-8"
_REMEMBERED: Final = 1_000
_BEFORE: Final = frozenset({"rate_limited", "error_before", "drop_before", "code", "answer"})
_PAGE: Final = "<!DOCTYPE html><html><title>Server Error</title><h1>Something broke</h1></html>"


class WebApiServer:
    """Answers Web API calls from a workspace, wrongly where a fault says so."""

    def __init__(self, *, workspace: Workspace, faults: Faults, connections: Connections) -> None:
        self._workspace = workspace
        self._faults = faults
        self._connections = connections
        self._pages_served = 0
        self.calls: Counter[str] = Counter()
        """Calls per method, those that went wrong included."""
        self.requests: deque[tuple[str, dict[str, object]]] = deque(maxlen=_REMEMBERED)
        """The newest calls with their arguments, as they came."""

    def app(self) -> Starlette:
        """The ASGI application."""
        control = Control(workspace=self._workspace, faults=self._faults, calls=self.calls)
        return Starlette(
            routes=[
                Route("/api/{method}", self._serve, methods=["GET", "POST"]),
                *control.routes(),
            ]
        )

    async def _serve(self, request: Request) -> Response:
        method = request.path_params["method"]
        self.calls[method] += 1
        try:
            args = read_arguments(
                request.url.query.encode(),
                await request.body(),
                request.headers.get("content-type", ""),
            )
        except Refused as refusal:
            return _json({"ok": False, "error": refusal.code})
        self.requests.append((method, {name: args[name] for name in args if name != "token"}))
        fault = self._faults.take(method, args)
        if fault is not None and fault.kind in _BEFORE:
            return self._instead(request, fault)
        if fault is not None and fault.kind in ("endless", "repeating"):
            args.pop("cursor", None)
        answer = self._act(request, method, args)
        if fault is None:
            return _json(answer, self._headers(request, method))
        if fault.kind == "slow":
            await sleep(fault.delay)
            return _json(answer, self._headers(request, method))
        return self._spoilt(request, fault, answer)

    def _act(self, request: Request, method: str, args: dict[str, object]) -> dict[str, object]:
        cap = self._faults.page_cap
        if cap is not None and method in ("conversations.history", "conversations.replies"):
            asked = text(args, "limit")
            args["limit"] = str(min(int(asked), cap) if asked.isdigit() else cap)
        return call(
            self._workspace, method, self._workspace.tokens.get(_token(request, args)), args
        )

    def _headers(self, request: Request, method: str) -> dict[str, str]:
        token = self._workspace.tokens.get(_token(request, {}))
        if token is None:
            return {}
        headers = {"x-oauth-scopes": ",".join(sorted(token.scopes))}
        entry = METHODS.get(method)
        if entry is not None and entry.scope is not None:
            headers["x-accepted-oauth-scopes"] = entry.scope
        return headers

    def _instead(self, request: Request, fault: Fault) -> Response:
        match fault.kind:
            case "rate_limited":
                headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
                return _json({"ok": False, "error": "ratelimited"}, headers, status=429)
            case "error_before":
                return _page(fault.status or 503)
            case "code":
                return _json({"ok": False, "error": fault.code}, status=fault.status or 200)
            case "answer":
                return _json(fault.body or {}, status=fault.status or 200)
        return self._dropped(request)

    def _spoilt(self, request: Request, fault: Fault, answer: dict[str, object]) -> Response:
        body = orjson.dumps(answer)
        match fault.kind:
            case "error_after":
                return _page(fault.status or 503)
            case "html":
                return _page(fault.status or 200)
            case "truncated":
                return Response(body[: len(body) // 2], media_type=_JSON)
            case "plain":
                return Response("ok", media_type="text/plain")
            case "empty":
                return Response(b"", media_type=_JSON)
            case "null":
                return Response(b"null", media_type=_JSON)
            case "endless" | "repeating":
                self._pages_served += fault.kind == "endless"
                cursor = cursor_to(self._pages_served)
                more = {"has_more": True, "response_metadata": {"next_cursor": cursor}}
                return _json(answer | more)
            case "bad_ts":
                messages = answer.get("messages")
                if isinstance(messages, list) and messages:
                    messages[0]["ts"] = fault.code
                return _json(answer)
            case "cut":
                return _Cut(body, media_type=_JSON, transport=self._transport(request))
        return self._dropped(request)

    def _dropped(self, request: Request) -> Response:
        transport = self._transport(request)
        if transport is not None:
            transport.close()
        return Response(status_code=500)

    def _transport(self, request: Request) -> Transport | None:
        client = request.client
        return None if client is None else self._connections.get((client.host, client.port))


class _Cut(Response):
    """Half an answer, then the connection goes."""

    def __init__(self, body: bytes, *, media_type: str, transport: Transport | None) -> None:
        super().__init__(body, media_type=media_type)
        self._transport = transport

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        half = bytes(self.body[: len(self.body) // 2])
        await send({"type": "http.response.body", "body": half, "more_body": True})
        if self._transport is not None:
            self._transport.close()


def _json(
    answer: Mapping[str, object], headers: Mapping[str, str] | None = None, *, status: int = 200
) -> Response:
    return Response(orjson.dumps(answer), status, headers, media_type=_JSON)


def _page(status: int) -> Response:
    return Response(_PAGE, status, media_type="text/html")


def _token(request: Request, args: Mapping[str, object]) -> str:
    header = request.headers.get("authorization", "")
    return header.removeprefix("Bearer ").strip() or text(args, "token")
