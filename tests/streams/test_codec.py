"""Every fault of a record is named in one sentence, and nothing else leaks out of the codec."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.schemas.status import Status
from sayso.schemas.tick import TickResult, TickStarted
from sayso.streams.codec import MAX_DEPTH, decode, encode
from sayso.streams.errors import Poison

STATUS = Status(
    org="acme",
    kind="feedback",
    id="C1:1796000000.000100",
    state="pending",
    rev=3,
    at=datetime(2026, 11, 30, tzinfo=UTC),
)


def test_what_is_encoded_is_decoded() -> None:
    assert decode(Status, encode(STATUS)) == STATUS


def test_a_union_is_encoded_as_its_member() -> None:
    member = TickStarted(tick="t", org="acme", channel="C1", worker="w")
    assert encode(TickResult(member)) == encode(member)
    assert decode(TickResult, encode(member)).root == member


def test_fields_added_later_are_passed_over() -> None:
    later = encode(STATUS)[:-1] + b',"added_in_2030":{"a":1}}'
    assert decode(Status, later) == STATUS


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "the record is not JSON: EOF while parsing a value at line 1 column 0"),
        (b"<html>", "the record is not JSON: expected value at line 1 column 1"),
        (b"\xff\xfe", "the record is not JSON: expected value at line 1 column 1"),
        (b"[]", "the whole value: Input should be an object"),
        (
            encode(STATUS).replace(b'"schema_version":1', b'"schema_version":9'),
            "the record has schema version 9, and this build reads 1",
        ),
        (encode(STATUS).replace(b'"rev":3', b'"rev":"x"'), "field rev: Input should be a valid"),
        (
            b"{}",
            "field org: Field required; field kind: Field required; field id: Field required; "
            "and 2 more",
        ),
    ],
)
def test_a_fault_is_named(data: bytes, sentence: str) -> None:
    with pytest.raises(Poison) as raised:
        decode(Status, data)
    assert str(raised.value).startswith(sentence)


def test_a_version_of_tomorrow_is_named_even_when_its_kind_is_new_too() -> None:
    with pytest.raises(Poison, match="schema version 2, and this build reads 1"):
        decode(TickResult, b'{"schema_version":2,"kind":"paused"}')


def test_the_limits_hold_before_anything_is_parsed() -> None:
    with pytest.raises(Poison, match="the record is 11 bytes, more than the limit of 10"):
        decode(Status, b"not JSON at", max_bytes=10)
    with pytest.raises(Poison, match=f"nests deeper than {MAX_DEPTH} levels"):
        decode(Status, b"[" * (MAX_DEPTH + 1))


def test_brackets_inside_a_text_do_not_nest() -> None:
    text = '[{"\\' * 300
    status = STATUS.model_copy(update={"detail": text})
    assert decode(Status, encode(status)).detail == text


def test_a_text_that_never_ends_costs_one_pass() -> None:
    # Quadratic time here would take minutes and meet the test's timeout.
    with pytest.raises(Poison, match="is not JSON"):
        decode(Status, b"[]" * 40 + b'"' + b'\\"' * 1_000_000)


@given(st.binary() | st.text().map(str.encode))
def test_nothing_but_poison_comes_out(data: bytes) -> None:
    with suppress(Poison):
        decode(TickResult, data)
