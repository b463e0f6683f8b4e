"""One request per question, bounded, every failure named; through the real SDK over HTTP."""

import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from sayso.connectors.anthropic.client import ModelClient
from sayso.connectors.anthropic.errors import ModelRefusal
from sayso.connectors.anthropic.faults import retry_after
from sayso.connectors.anthropic.sandbox.script import FaultName, Line
from sayso.connectors.anthropic.sandbox.server import ModelSandbox
from sayso.connectors.anthropic.settings import ModelSettings

KEY = "sk-secret-of-this-test"
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"share": {"type": "number", "minimum": 0}},
    "required": ["share"],
}

Settings = Callable[..., ModelSettings]


async def ask(client: ModelClient, prompt: str = "Cut the margin to 12.") -> str:
    answer = await client.answer(system="Read the reply.", prompt=prompt, schema=SCHEMA)
    return answer.text


async def refusal_of(client: ModelClient) -> ModelRefusal:
    with pytest.raises(ModelRefusal) as caught:
        await ask(client)
    return caught.value


async def test_an_answer_is_handed_over_as_it_came(
    sandbox: ModelSandbox, client: ModelClient
) -> None:
    sandbox.script.add(Line(text='  {"share": 1}\n'))
    answer = await client.answer(system="s", prompt="p", schema=SCHEMA)
    assert answer.text == '  {"share": 1}\n'
    assert answer.model == "stand-in for claude-sonnet-5-5"
    assert answer.request_id == sandbox.journal[0].request_id
    assert sandbox.requests == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("rate limited", "rate limited"),
        ("overloaded", "overloaded"),
        ("server error", "failed"),
        ("unauthorised", "unauthorised"),
        ("html", "wrong shape"),
        ("broken json", "wrong shape"),
        ("no content", "wrong shape"),
        ("dropped", "unreachable"),
        ("truncated", "truncated"),
        ("context full", "truncated"),
        ("declined", "declined"),
        ("paused", "wrong shape"),
        ("tool use", "wrong shape"),
        ("two texts", "wrong shape"),
        ("no text", "wrong shape"),
        ("huge", "wrong shape"),
    ],
)
async def test_a_fault_is_named_and_costs_one_request(
    sandbox: ModelSandbox, client: ModelClient, fault: FaultName, kind: str
) -> None:
    sandbox.script.add(Line(fault=fault))
    refusal = await refusal_of(client)
    assert refusal.kind == kind
    assert sandbox.requests == 1
    assert len(sandbox.journal) == 1
    sentence = str(refusal)
    assert "\n" not in sentence
    assert KEY not in sentence
    assert "margin" not in sentence
    # Printed with its causes it shows neither the key nor what the server said.
    printed = "".join(traceback.format_exception(refusal))
    assert KEY not in printed
    assert "stand-in" not in printed


async def test_the_client_works_on_after_a_fault(
    sandbox: ModelSandbox, client: ModelClient
) -> None:
    sandbox.script.add(Line(fault="dropped", times=1), Line(text="{}"))
    assert (await refusal_of(client)).kind == "unreachable"
    assert await ask(client) == "{}"


async def test_the_wait_that_the_server_asks_for_is_kept(
    sandbox: ModelSandbox, client: ModelClient
) -> None:
    sandbox.script.add(Line(fault="rate limited", retry_after=17))
    refusal = await refusal_of(client)
    assert refusal.retry_after == 17
    assert refusal.request_id == sandbox.journal[0].request_id


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Fri, 01 Jan 2010 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 99 Jan 2010 00:00:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(httpx2.Headers(headers)) == seconds


def test_retry_after_a_date_to_come() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    seconds = retry_after({"retry-after": date})
    assert seconds is not None
    assert 3_600 < seconds <= 7_200


async def test_a_slow_answer_is_given_up(sandbox: ModelSandbox, settings_for: Settings) -> None:
    sandbox.script.add(Line(seconds=600))
    settings = settings_for(sandbox.url, timeout=0.3)
    async with ModelClient(key=SecretStr(KEY), settings=settings) as client:
        assert (await refusal_of(client)).kind == "timed out"
    assert sandbox.requests == 1


async def test_an_answer_that_trickles_is_given_up(raw_server: Any, settings_for: Settings) -> None:
    """The SDK's own timeout is per read; a byte now and then would hold it for ever."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
    async with raw_server(head, endless=b" ", pace=0.02) as server:
        settings = settings_for(server.url, timeout=0.3)
        async with ModelClient(key=SecretStr(KEY), settings=settings) as client:
            assert (await refusal_of(client)).kind == "timed out"
        assert server.connections == 1


async def test_an_endless_answer_is_not_read_to_its_end(
    raw_server: Any, settings_for: Settings
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
    async with (
        raw_server(head, endless=b" " * 65_536) as server,
        ModelClient(key=SecretStr(KEY), settings=settings_for(server.url)) as client,
    ):
        refusal = await refusal_of(client)
        assert refusal.kind == "wrong shape"
        assert "1,048,576 bytes" in str(refusal)


async def test_a_connection_closed_at_once(raw_server: Any, settings_for: Settings) -> None:
    async with (
        raw_server() as server,
        ModelClient(key=SecretStr(KEY), settings=settings_for(server.url)) as client,
    ):
        assert (await refusal_of(client)).kind == "unreachable"
        assert server.connections == 1


async def test_nothing_listens(sandbox: ModelSandbox, settings_for: Settings) -> None:
    url = sandbox.url
    sandbox.stop()
    async with ModelClient(key=SecretStr(KEY), settings=settings_for(url)) as client:
        assert (await refusal_of(client)).kind == "unreachable"


async def test_a_redirect_is_not_followed(
    sandbox: ModelSandbox, raw_server: Any, settings_for: Settings
) -> None:
    target = f"{sandbox.url}/v1/messages".encode()
    moved = b"HTTP/1.1 307 Moved\r\nlocation: " + target + b"\r\ncontent-length: 0\r\n\r\n"
    async with (
        raw_server(moved) as server,
        ModelClient(key=SecretStr(KEY), settings=settings_for(server.url)) as client,
    ):
        refusal = await refusal_of(client)
    assert "redirect" in str(refusal)
    assert sandbox.requests == 0


@pytest.mark.parametrize("url", ["http://[", "ftp://127.0.0.1", "no address"])
async def test_an_address_that_is_none(url: str, settings_for: Settings) -> None:
    with pytest.raises(ModelRefusal) as caught:
        async with ModelClient(key=SecretStr(KEY), settings=settings_for(url)) as client:
            await ask(client)
    assert caught.value.kind == "unreachable"


async def test_a_wrong_key(sandbox: ModelSandbox, settings_for: Settings) -> None:
    settings = settings_for(sandbox.url)
    async with ModelClient(key=SecretStr("sk-other"), settings=settings) as client:
        assert (await refusal_of(client)).kind == "unauthorised"


@pytest.mark.parametrize("key", ["sk-\u00e4", "sk-a b", "sk-a\nx-evil: 1"])
def test_a_key_that_cannot_be_sent(key: str, settings_for: Settings) -> None:
    with pytest.raises(ModelRefusal, match="characters that no key has") as caught:
        ModelClient(key=SecretStr(key), settings=settings_for("http://127.0.0.1:9"))
    assert key not in str(caught.value)


async def test_thinking_beside_the_text_is_left_out(
    raw_server: Any, settings_for: Settings
) -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, text_block("{}")]
    async with (
        raw_server(message(content=blocks)) as server,
        ModelClient(key=SecretStr(KEY), settings=settings_for(server.url)) as client,
    ):
        assert await ask(client) == "{}"


async def test_check_names_the_model(client: ModelClient) -> None:
    assert await client.check() == "claude-sonnet-5-5 (Stand-in)"


async def test_check_of_a_model_that_is_not_there(settings_for: Settings) -> None:
    with ModelSandbox(models=frozenset({"another"})) as sandbox:
        async with ModelClient(key=SecretStr(KEY), settings=settings_for(sandbox.url)) as client:
            with pytest.raises(ModelRefusal, match="does not know the model"):
                await client.check()


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b'"x"', b"[1]", b"null", b'{"id": 5, "display_name": 7}']
)
async def test_check_sees_through_a_page(
    raw_server: Any, settings_for: Settings, body: bytes
) -> None:
    async with (
        raw_server(http(body)) as server,
        ModelClient(key=SecretStr(KEY), settings=settings_for(server.url)) as client,
    ):
        with pytest.raises(ModelRefusal) as caught:
            await client.check()
    assert caught.value.kind == "wrong shape"


def test_importing_the_client_does_not_import_the_sdk() -> None:
    code = "import sys, sayso.connectors.anthropic.client; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def message(**parts: object) -> bytes:
    return http(json.dumps({"type": "message", "stop_reason": "end_turn"} | parts).encode())


def http(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\nconnection: close\r\n\r\n" + body
