"""The whole demo on a real Kafka: right, right again, and named where it is wrong."""

from typing import Any

import pytest

from sayso.connectors.anthropic.sandbox.script import Script
from sayso.demo import perform as performing
from sayso.demo.perform import perform
from sayso.demo.scenario import AFTER, SAYINGS

pytestmark = pytest.mark.kafka


def test_the_demo_is_right_and_right_again(stage: dict[str, Any], told: list[str]) -> None:
    first = perform(**stage)
    assert first.differences == ()
    assert [line.shows for line in first.messages] == [saying.name for saying in SAYINGS]
    assert {line.field: line.after for line in first.fields if line.after is not None} == AFTER
    assert {line.before for line in first.fields} == {None}
    processed = [line for line in first.messages if line.outcome == "processed"]
    assert len(first.confirmations) == len(processed)
    assert "no model answers here" in first.model
    assert first.limited == 1
    assert any("429" in line for line in told)

    again = perform(**stage)
    assert again.differences == ()
    # It goes on from what the first one decided.
    assert {line.field: line.before for line in again.fields} == AFTER
    assert {line.ts for line in again.messages}.isdisjoint(line.ts for line in first.messages)


def test_what_is_not_as_it_has_to_be_is_named(
    stage: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(performing, "script", Script)
    report = perform(**stage)
    assert not report.is_right
    assert "refused once: took 1 attempts instead of 2" in report.differences
    assert "refused once: was not refused at its first attempt" in report.differences
    assert any(line.startswith("deleted: is processed") for line in report.differences)
    assert any(line.startswith("the model was asked") for line in report.differences)
    assert not any(line.startswith("a number") for line in report.differences)
