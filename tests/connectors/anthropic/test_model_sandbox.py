"""The stand-in answers as told, counts what it is asked, and says what it is."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from sayso.connectors.anthropic.sandbox.script import Line, Script
from sayso.connectors.anthropic.sandbox.server import ModelSandbox

KEY = "sk-secret-of-this-test"
KINDS = {"target_margin": "number", "markets": "array", "motto": "string"}


def body(reply: str, **changed: object) -> dict[str, object]:
    data = {"org": "acme", "channel": "C1", "ts": "1796000000.000100", "reply": {"text": reply}}
    prompt = f"<data>\n{json.dumps(data)}\n</data>"
    variants = [
        {
            "type": "object",
            "properties": {"field": {"enum": [name]}, "value": {"type": kind}},
            "additionalProperties": False,
        }
        for name, kind in KINDS.items()
    ]
    changes = {"type": "array", "items": {"anyOf": variants}}
    schema = {
        "type": "object",
        "properties": {"changes": changes},
        "additionalProperties": False,
    }
    return {
        "model": "m",
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": prompt}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    } | changed


def post(sandbox: ModelSandbox, sent: object, **headers: str) -> httpx2.Response:
    given = {"authorization": f"Bearer {KEY}", "anthropic-version": "2026-10-21"} | headers
    return httpx2.post(f"{sandbox.url}/v1/messages", json=sent, headers=given)


def answered(sandbox: ModelSandbox, reply: str) -> dict[str, Any]:
    response = post(sandbox, body(reply))
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = json.loads(response.json()["content"][0]["text"])
    return answer


@pytest.mark.parametrize(
    ("reply", "changes"),
    [
        ("Set target_margin to 12.5 please", [("target_margin", 12.5)]),
        ("target margin = 12", [("target_margin", 12)]),
        ("markets: Finland, Sweden and Norway", [("markets", ["Finland", "Sweden", "Norway"])]),
        (
            "set motto to Go slow. And target margin to 3; thanks",
            [("target_margin", 3), ("motto", "Go slow")],
        ),
        ("set secret_key to 5", [("secret_key", "5")]),
        ("agreed!", []),
    ],
)
def test_rules_that_decide(
    sandbox: ModelSandbox, reply: str, changes: list[tuple[str, object]]
) -> None:
    answer = answered(sandbox, reply)
    assert answer["is_decision"]
    assert [(change["field"], change["value"]) for change in answer["changes"]] == changes
    assert answer["quote"]
    assert answer["quote"] in reply
    assert "Stand-in" in answer["rationale"]


@pytest.mark.parametrize("reply", ["lunch?", "I disagreed yesterday", "we set out to win", ""])
def test_rules_that_decide_nothing(sandbox: ModelSandbox, reply: str) -> None:
    answer = answered(sandbox, reply)
    assert not answer["is_decision"]
    assert answer["changes"] == []


def test_doubt_lowers_the_confidence(sandbox: ModelSandbox) -> None:
    assert answered(sandbox, "maybe set target_margin to 3")["confidence"] < 0.6


def test_the_first_line_that_applies_is_played_as_often_as_it_says(sandbox: ModelSandbox) -> None:
    sandbox.script.add(
        Line(when="margin", fault="overloaded", times=1),
        Line(when="margin", answer={"title": "Second"}),
        Line(answer={"title": "Other"}),
    )
    assert post(sandbox, body("the margin")).status_code == 529
    assert answered(sandbox, "the margin")["title"] == "Second"
    assert answered(sandbox, "lunch")["title"] == "Other"
    assert [entry.outcome for entry in sandbox.journal] == ["overloaded", "answer", "answer"]


def test_a_line_is_matched_against_the_reply_alone(sandbox: ModelSandbox) -> None:
    sandbox.script.add(Line(when="acme", fault="overloaded"))
    assert answered(sandbox, "lunch")["is_decision"] is False


def test_a_foreign_prompt_is_matched_as_a_whole(sandbox: ModelSandbox) -> None:
    sandbox.script.add(Line(when="needle", text="found"))
    blocks = [{"type": "text", "text": "hay"}, {"type": "text", "text": "needle"}]
    sent = body("", messages=[{"role": "user", "content": blocks}], output_config=None)
    assert post(sandbox, sent).json()["content"][0]["text"] == "found"
    assert sandbox.journal[0].ts is None


def test_the_journal_names_the_reply_and_the_model_names_the_stand_in(
    sandbox: ModelSandbox,
) -> None:
    response = post(sandbox, body("lunch"))
    entry = sandbox.journal[0]
    assert (entry.org, entry.channel, entry.ts) == ("acme", "C1", "1796000000.000100")
    assert entry.reply == "lunch"
    assert response.headers["request-id"] == entry.request_id
    assert response.json()["model"] == "stand-in for m"


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"model": ""}, 400),
        ({"max_tokens": 0}, 400),
        ({"max_tokens": True}, 400),
        ({"messages": []}, 400),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400),
        ({"stream": True}, 400),
        (
            {"output_config": {"format": {"schema": {"type": "number", "minimum": 0}}}},
            400,
        ),
        ({"output_config": {"format": {"schema": {"type": "object"}}}}, 400),
    ],
)
def test_a_wrong_request_is_refused_and_not_counted_as_a_question(
    sandbox: ModelSandbox, changed: dict[str, object], status: int
) -> None:
    response = post(sandbox, body("x", **changed))
    assert response.status_code == status
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert sandbox.journal == ()
    assert sandbox.requests == 1


def test_keys_are_checked_in_either_header(sandbox: ModelSandbox) -> None:
    assert post(sandbox, body("x"), authorization="Bearer wrong").status_code == 401
    assert post(sandbox, body("x"), authorization="").status_code == 401
    assert post(sandbox, body("x"), authorization="", **{"x-api-key": KEY}).status_code == 200


def test_a_long_answer_is_cut_at_max_tokens(sandbox: ModelSandbox) -> None:
    response = post(sandbox, body("x", max_tokens=5)).json()
    assert response["stop_reason"] == "max_tokens"
    assert len(response["content"][0]["text"]) == 20


def test_a_script_takes_each_use_once_across_threads() -> None:
    script = Script(Line(times=100))
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(script.take, ["x"] * 400))
    assert sum(line is not None for line in taken) == 100


def test_it_is_driven_over_http(sandbox: ModelSandbox) -> None:
    base = f"{sandbox.url}/_sandbox"
    assert "Stand-in" in httpx2.get(base).json()["about"]
    assert httpx2.post(f"{base}/script", json=[{"fault": "html", "times": 1}]).status_code == 200
    assert "<html>" in post(sandbox, body("x")).text
    listed = httpx2.get(f"{base}/journal").json()["entries"]
    assert [entry["outcome"] for entry in listed] == ["html"]
    assert httpx2.delete(f"{base}/journal").status_code == 200
    assert sandbox.journal == ()
    wrong = httpx2.post(f"{base}/script", json=[{"fault": "no such fault"}])
    assert wrong.status_code == 422
    httpx2.post(f"{base}/script", json=[{"fault": "html"}])
    httpx2.delete(f"{base}/script")
    assert answered(sandbox, "lunch")["is_decision"] is False


def test_a_taken_port_is_said_at_once(sandbox: ModelSandbox) -> None:
    with pytest.raises(OSError, match="in use"):
        ModelSandbox(port=int(sandbox.url.rsplit(":", 1)[1]))
