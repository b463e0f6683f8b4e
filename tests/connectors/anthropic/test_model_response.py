"""A response is one text or a named refusal, whatever its bytes are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.connectors.anthropic.errors import ModelRefusal
from sayso.connectors.anthropic.response import MAX_ANSWER, read_response

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
BLOCK = st.fixed_dictionaries(
    {}, optional={"type": st.sampled_from(["text", "thinking", "tool_use"]) | JSON, "text": JSON}
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "stop_reason": st.sampled_from(["end_turn", "refusal", "max_tokens", "new one"]) | JSON,
        "content": st.lists(BLOCK, max_size=3) | JSON,
        "model": JSON,
    },
)


@given(st.binary() | MESSAGE.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_an_answer_or_a_refusal(body: bytes) -> None:
    refusal, answer = None, None
    try:
        answer = read_response(body, asked="asked", request_id="req_1")
    except ModelRefusal as caught:
        refusal = caught
    if answer is not None:
        assert len(answer.text) <= MAX_ANSWER
        assert answer.model
    if refusal is not None:
        assert refusal.kind in ("truncated", "declined", "wrong shape")
        assert refusal.request_id == "req_1"


def said(**parts: object) -> bytes:
    content = [{"type": "text", "text": "{}"}]
    return json.dumps({"stop_reason": "end_turn", "content": content} | parts).encode()


def test_the_stop_reason_comes_before_the_content() -> None:
    with pytest.raises(ModelRefusal) as caught:
        read_response(said(stop_reason="refusal"), asked="asked", request_id=None)
    assert caught.value.kind == "declined"


@pytest.mark.parametrize("stop", [None, "new one", 3, ["refusal"]])
def test_a_stop_reason_that_is_not_known_is_refused(stop: object) -> None:
    with pytest.raises(ModelRefusal, match="stop reason"):
        read_response(said(stop_reason=stop), asked="asked", request_id=None)


@pytest.mark.parametrize(("length", "fits"), [(MAX_ANSWER, True), (MAX_ANSWER + 1, False)])
def test_the_longest_answer(length: int, fits: bool) -> None:
    body = said(content=[{"type": "text", "text": "x" * length}])
    try:
        read_response(body, asked="asked", request_id=None)
    except ModelRefusal:
        assert not fits
    else:
        assert fits


def test_a_model_that_is_not_named_is_the_one_asked() -> None:
    assert read_response(said(), asked="asked", request_id=None).model == "asked"
    assert read_response(said(model="m" * 300), asked="a", request_id=None).model == "m" * 200


def test_deep_nesting_is_no_crash() -> None:
    with pytest.raises(ModelRefusal):
        read_response(b"[" * 100_000, asked="asked", request_id=None)
