"""The stand-in's endpoints: the Messages API's, and `/_sandbox/` to script and watch it."""

import asyncio
import json
from dataclasses import asdict

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sayso.connectors.anthropic.sandbox.checks import key_of, wrong_in
from sayso.connectors.anthropic.sandbox.faults import Said, broken_response, error_response, spoil
from sayso.connectors.anthropic.sandbox.journal import Entry, Journal
from sayso.connectors.anthropic.sandbox.question import Question, read_question
from sayso.connectors.anthropic.sandbox.rules import conclude, decision
from sayso.connectors.anthropic.sandbox.script import Line, Script, read_lines

STAND_IN = "Stand-in server for the Anthropic Messages API: no model answers here."
_PLAIN = "This is a stand-in server, not a model."
_CHARACTERS_PER_TOKEN = 4


class StandIn:
    """The endpoints, over one script and one journal."""

    def __init__(
        self, *, script: Script, journal: Journal, key: str | None, models: frozenset[str] | None
    ) -> None:
        """`key` None takes any key but an empty one; `models` None knows every model."""
        self._script = script
        self._journal = journal
        self._key = key
        self._models = models

    @property
    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/messages", self._create, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
                Route("/v1/models/{model}", self._model, methods=["GET"]),
                Route("/_sandbox", self._about, methods=["GET"]),
                Route("/_sandbox/script", self._add_lines, methods=["POST"]),
                Route("/_sandbox/script", self._clear_lines, methods=["DELETE"]),
                Route("/_sandbox/journal", self._show_journal, methods=["GET"]),
                Route("/_sandbox/journal", self._clear_journal, methods=["DELETE"]),
            ]
        )

    async def _create(self, request: Request) -> Response:
        number, request_id = self._arrived()
        body = await _json_of(request)
        refused = self._refused_caller(request, request_id) or _invalid(
            wrong_in(body, needs_max_tokens=True), request_id
        )
        if refused is not None:
            return _stamped(refused, request_id)
        question = read_question(body) if isinstance(body, dict) else None
        if question is None or not self._knows(question.model):
            return _stamped(_not_found(request_id), request_id)
        line = self._script.take(question.reply) or Line()
        self._journal.add(
            Entry(
                number=number,
                request_id=request_id,
                model=question.model,
                org=question.org,
                channel=question.channel,
                ts=question.ts,
                reply=question.reply,
                outcome=line.fault or "answer",
            )
        )
        await asyncio.sleep(line.seconds)
        broken = broken_response(line.fault, request_id=request_id, retry_after=line.retry_after)
        return _stamped(broken or _message(question, line, number), request_id)

    async def _count_tokens(self, request: Request) -> Response:
        _, request_id = self._arrived()
        body = await _json_of(request)
        refused = self._refused_caller(request, request_id) or _invalid(
            wrong_in(body, needs_max_tokens=False), request_id
        )
        if refused is None and isinstance(body, dict) and not self._knows(body["model"]):
            refused = _not_found(request_id)
        counted = JSONResponse({"input_tokens": len(str(body)) // _CHARACTERS_PER_TOKEN + 1})
        return _stamped(refused or counted, request_id)

    async def _model(self, request: Request) -> Response:
        _, request_id = self._arrived()
        model = request.path_params["model"]
        refused = self._refused_caller(request, request_id)
        if refused is None and not self._knows(model):
            refused = _not_found(request_id)
        found = {
            "type": "model",
            "id": model,
            "display_name": "Stand-in",
            "created_at": "2026-01-01T00:00:00Z",
        }
        return _stamped(refused or JSONResponse(found), request_id)

    async def _about(self, _: Request) -> Response:
        return JSONResponse({"about": STAND_IN, "requests": self._journal.requests})

    async def _add_lines(self, request: Request) -> Response:
        try:
            lines = read_lines(await request.body())
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False, include_context=False)
            return JSONResponse({"about": STAND_IN, "wrong": wrong}, status_code=422)
        self._script.add(*lines)
        return JSONResponse({"about": STAND_IN, "added": len(lines)})

    async def _clear_lines(self, _: Request) -> Response:
        self._script.clear()
        return JSONResponse({"about": STAND_IN})

    async def _show_journal(self, _: Request) -> Response:
        entries = [asdict(entry) for entry in self._journal.entries]
        return JSONResponse({"about": STAND_IN, "entries": entries})

    async def _clear_journal(self, _: Request) -> Response:
        self._journal.clear()
        return JSONResponse({"about": STAND_IN})

    def _arrived(self) -> tuple[int, str]:
        number = self._journal.count_request()
        return number, f"req_standin_{number:08d}"

    def _knows(self, model: str) -> bool:
        return self._models is None or model in self._models

    def _refused_caller(self, request: Request, request_id: str) -> Response | None:
        key = key_of(request)
        if not key or (self._key is not None and key != self._key):
            return error_response(
                401, "authentication_error", "invalid API key", request_id=request_id
            )
        if "anthropic-version" not in request.headers:
            return _invalid("anthropic-version: header is required", request_id)
        return None


def _invalid(wrong: str | None, request_id: str) -> Response | None:
    if wrong is None:
        return None
    return error_response(400, "invalid_request_error", wrong, request_id=request_id)


def _not_found(request_id: str) -> Response:
    return error_response(404, "not_found_error", "no such model", request_id=request_id)


async def _json_of(request: Request) -> object:
    try:
        return json.loads(await request.body())
    except ValueError:
        return None


def _stamped(response: Response, request_id: str) -> Response:
    response.headers["request-id"] = request_id
    return response


def _message(question: Question, line: Line, number: int) -> Response:
    said = _say(question, line)
    limit = question.max_tokens * _CHARACTERS_PER_TOKEN
    texts, stop = said.texts, said.stop_reason
    if line.fault is None and sum(map(len, texts)) > limit:
        texts, stop = tuple(text[:limit] for text in texts), "max_tokens"
    details = {"type": "refusal", "category": None, "explanation": None}
    return JSONResponse(
        {
            "id": f"msg_standin_{number:08d}",
            "type": "message",
            "role": "assistant",
            "model": f"stand-in for {question.model}",
            "content": [{"type": "text", "text": text} for text in texts],
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": details if stop == "refusal" else None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def _say(question: Question, line: Line) -> Said:
    if line.text is not None:
        text = line.text
    elif line.answer is not None:
        scripted = {"rationale": "Stand-in: answered from a script, not by a model."}
        text = json.dumps(decision(question, **(scripted | line.answer)))
    elif question.is_structured:
        text = json.dumps(conclude(question))
    else:
        text = _PLAIN
    numbers = (name for name, kind in question.fields.items() if kind == "number")
    return spoil(line.fault, text, number_field=next(numbers, None))
