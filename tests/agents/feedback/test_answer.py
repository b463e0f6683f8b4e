"""The gate: what a model may answer, and every answer that is refused whole."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sayso.agents.feedback.answer import AnswerRefused, answer_schema, read_answer
from sayso.schemas.strategy import Conclusion

FIELDS = {"target_margin": "number", "markets": "texts", "motto": "text", "launch": "date"}
REPLY = "Let's cut the margin to 12."


def answer(**parts: object) -> dict[str, object]:
    return {
        "is_decision": True,
        "title": "Cut the margin",
        "statement": "The target margin is 12.",
        "rationale": "",
        "quote": "cut the margin to 12",
        "products": ["Lamp"],
        "initiatives": [],
        "reversibility": "costly",
        "confidence": 0.9,
        "changes": [{"field": "target_margin", "value": 12}],
    } | parts


def read(given: object) -> Conclusion:
    text = given if isinstance(given, str) else json.dumps(given)
    return read_answer(text, fields=FIELDS, reply=REPLY)


def refusal(given: object) -> str:
    with pytest.raises(AnswerRefused) as caught:
        read(given)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 300
    return sentence


def changing(field: str, value: object) -> dict[str, object]:
    return answer(changes=[{"field": field, "value": value}])


def test_a_good_answer() -> None:
    conclusion = read(answer())
    assert conclusion.is_decision
    assert conclusion.title == "Cut the margin"
    assert conclusion.products == ("Lamp",)
    assert conclusion.reversibility == "costly"
    assert conclusion.confidence == 0.9
    assert [(change.field, change.value) for change in conclusion.changes] == [
        ("target_margin", 12)
    ]


def test_space_around_the_json_is_no_text() -> None:
    assert read(f"\n  {json.dumps(answer())}\n").is_decision


@pytest.mark.parametrize(
    ("field", "value", "kept"),
    [
        ("target_margin", 12, 12),
        ("target_margin", -0.5, -0.5),
        ("target_margin", 2**53, 2**53),
        ("target_margin", 10**30, 1e30),
        ("markets", ["Finland", "Sweden"], ("Finland", "Sweden")),
        ("markets", [], ()),
        ("motto", "12", "12"),
    ],
)
def test_values_of_the_declared_kind(field: str, value: object, kept: object) -> None:
    change = read(changing(field, value)).changes[0]
    assert change.value == kept
    assert type(change.value) is type(kept)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target_margin", True),
        ("target_margin", "12"),
        ("target_margin", [12]),
        ("target_margin", {"value": 12}),
        ("target_margin", 10**400),
        ("markets", "Finland"),
        ("markets", [1]),
        ("markets", [["Finland"]]),
        ("markets", {"0": "Finland"}),
        ("markets", ["x"] * 101),
        ("motto", 12),
        ("motto", False),
        ("motto", ["Go slow"]),
        ("motto", "x" * 4_001),
        ("motto", "\ud800"),
    ],
)
def test_a_value_of_another_kind(field: str, value: object) -> None:
    sentence = refusal(changing(field, value))
    assert repr(field) in sentence
    assert "as declared" in sentence


@pytest.mark.parametrize(
    ("given", "words"),
    [
        # not exactly one answer
        ("", "is empty"),
        (" \n", "is empty"),
        ("[]", "a list of 0"),
        ([answer()], "a list of 1"),
        ([answer(), answer()], "a list of 2"),
        (json.dumps(answer()) * 2, "more than one answer"),
        (f"{json.dumps(answer())}\n{json.dumps(answer())}", "more than one answer"),
        (f"```json\n{json.dumps(answer())}\n```", "code fence"),
        (f"{json.dumps(answer())}\nDone.", "text after"),
        (f"Here it is: {json.dumps(answer())}", "not JSON"),
        ("null", "not a JSON object"),
        ('"yes"', "not a JSON object"),
        (json.dumps(answer())[:-5], "not JSON"),
        ("[" * 30_000, "nested too deeply"),
        (f'{{"changes": {"[" * 30_000}', "nested too deeply"),
        ("x" * 65_537, "longer than 65,536"),
        ("9" * 5_000, "too many digits"),
        # keys
        (json.dumps(answer())[:-1] + ', "title": "Other"}', "'title' twice"),
        ('{"changes": [{"field": "motto", "field": "markets"}]}', "'field' twice"),
        ('{"a": {"b": [{"c": 1, "c": 1}]}}', "'c' twice"),
        (answer(author="U0LEAD"), "unknown key 'author'"),
        (answer(changes=[{"field": "motto", "value": "x", "org": "y"}]), "unknown key"),
        ({}, "lacks 'is_decision'"),
        ({key: value for key, value in answer().items() if key != "changes"}, "lacks 'changes'"),
        (answer(changes=[{"value": 1}]), "lacks 'changes.0.field'"),
        # numbers
        (answer(confidence=math.nan), "NaN"),
        (answer(confidence=math.inf), "Infinity"),
        (changing("target_margin", -math.inf), "-Infinity"),
        (json.dumps(changing("target_margin", 7)).replace("7", "1e999"), "1e999"),
        (changing("motto", [{"deep": math.nan}]), "NaN"),
        # kinds of the outline
        (answer(is_decision="true"), "'is_decision'"),
        (answer(is_decision=1), "'is_decision'"),
        (answer(title=None), "'title'"),
        (answer(title="x" * 201), "'title'"),
        (answer(statement=["x"]), "'statement'"),
        (answer(products="Lamp"), "'products'"),
        (answer(products=[""]), "'products.0'"),
        (answer(reversibility="maybe"), "'reversibility'"),
        (answer(confidence="0.9"), "'confidence'"),
        (answer(confidence=True), "'confidence'"),
        (answer(confidence=1.01), "'confidence'"),
        (answer(confidence=-0.01), "'confidence'"),
        (answer(changes={"target_margin": 12}), "'changes'"),
        (answer(changes=[["target_margin", 12]]), "'changes.0'"),
        (answer(changes=[{"field": 1, "value": 1}]), "'changes.0.field'"),
        # changes
        (changing("colour", "red"), "'colour', a field that the org does not declare"),
        (changing("Target_Margin", 1), "does not declare"),
        (changing("launch", "2027-01-01"), "'date', a kind that this build cannot read"),
        (answer(changes=[{"field": "motto"}]), "'motto' without a value"),
        (changing("motto", None), "'motto' without a value"),
        (changing("motto", " "), "'motto' without a value"),
        (changing("markets", ["Finland", ""]), "an empty text into 'markets'"),
        (
            answer(changes=[{"field": "motto", "value": word} for word in ("a", "a")]),
            "'motto' twice",
        ),
        # one wrong change takes the good one with it
        (
            answer(
                changes=[
                    {"field": "target_margin", "value": 12},
                    {"field": "colour", "value": "red"},
                ]
            ),
            "'colour'",
        ),
        # what hangs together
        (answer(is_decision=False), "no decision, yet changes 'target_margin'"),
        (answer(title=" \n"), "without a title"),
        (answer(quote=""), "without a quote"),
        (answer(quote="**"), "without a quote"),
        (answer(quote="raise the margin"), "words that the reply does not hold"),
        (answer(is_decision=False, changes=[], quote="never said"), "does not hold"),
        (answer(title="Cut\x1b[2J"), "control characters in 'title'"),
        (answer(products=["a\x00"]), "control characters in 'products'"),
        (changing("motto", "a\x07"), "control characters in 'motto'"),
    ],
)
def test_refused(given: object, words: str) -> None:
    assert words in refusal(given)


def test_a_name_that_the_model_made_up_cannot_flood_or_forge_the_sentence() -> None:
    sentence = refusal(changing("x\n# strategic feedback failed ts=1" + "y" * 5_000, 1))
    assert len(sentence) < 200


def test_a_declared_name_too_long_for_the_wire_is_refused_in_words() -> None:
    name = "f" * 101
    text = json.dumps(changing(name, "x"))
    with pytest.raises(AnswerRefused, match="longer than 100"):
        read_answer(text, fields={name: "text"}, reply=REPLY)


def test_a_kind_that_cannot_be_read_leaves_the_other_fields_alone() -> None:
    assert read(answer()).changes


def test_a_decision_may_change_no_field() -> None:
    assert read(answer(changes=[])).is_decision


def test_no_decision_needs_neither_title_nor_quote() -> None:
    conclusion = read(answer(is_decision=False, changes=[], title="", quote="", statement=""))
    assert not conclusion.is_decision


def test_a_title_is_one_line() -> None:
    assert read(answer(title=" Cut\nthe  margin ")).title == "Cut the margin"


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0])
def test_confidence_includes_its_bounds(confidence: float) -> None:
    assert read(answer(confidence=confidence)).confidence == confidence


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["target_margin", "markets", "motto", "launch", "costly"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
CHANGE = st.fixed_dictionaries(
    {"field": st.sampled_from([*FIELDS, "colour"]), "value": JSON},
    optional={"org": JSON},
)
ANSWER = st.fixed_dictionaries(
    {},
    optional={
        "is_decision": JSON,
        "title": JSON,
        "confidence": JSON,
        "changes": st.lists(CHANGE, max_size=3) | JSON,
        "extra": JSON,
    },
).map(lambda parts: json.dumps(answer(**parts)))


@given(st.text() | JSON.map(json.dumps) | ANSWER)
@example("\ufeff{}")
@example('{"\\ud800": 1}')
@example('{"a": ' * 3_000)
def test_any_text_is_a_valid_conclusion_or_a_refusal(text: str) -> None:
    try:
        conclusion = read_answer(text, fields=FIELDS)
    except AnswerRefused:
        return
    kinds = {"number": (int, float), "texts": (tuple,), "text": (str,)}
    for change in conclusion.changes:
        assert type(change.value) in kinds[FIELDS[change.field]]
        if isinstance(change.value, float):
            assert math.isfinite(change.value)
    assert len({change.field for change in conclusion.changes}) == len(conclusion.changes)
    assert conclusion == Conclusion.model_validate_json(conclusion.model_dump_json())


VALUE = {
    "target_margin": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "markets": st.lists(st.text("abc ", min_size=1).filter(str.strip), max_size=4),
    "motto": st.text("abc ", min_size=1).filter(str.strip),
}


@given(st.data())
def test_every_good_change_is_kept(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(VALUE)), unique=True))
    changes = [{"field": name, "value": data.draw(VALUE[name])} for name in names]
    conclusion = read(answer(changes=changes))
    assert [change.field for change in conclusion.changes] == names
    for change, sent in zip(conclusion.changes, changes, strict=True):
        value = list(change.value) if isinstance(change.value, tuple) else change.value
        assert value == sent["value"]


def test_the_schema_names_the_declared_fields_and_no_unreadable_one() -> None:
    text = json.dumps(answer_schema(FIELDS))
    assert '"target_margin"' in text
    assert "launch" not in text


def test_the_schema_is_the_same_for_the_same_fields() -> None:
    turned = dict(reversed(FIELDS.items()))
    assert json.dumps(answer_schema(turned)) == json.dumps(answer_schema(FIELDS))


def test_the_schema_accepts_what_the_gate_accepts() -> None:
    import jsonschema

    schema = answer_schema(FIELDS)
    jsonschema.validate(answer(), schema)
    jsonschema.validate(changing("markets", ["Finland"]), schema)
    for wrong in (changing("colour", "red"), changing("motto", 1), answer(author="U1"), {}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("fields", [{}, {"launch": "date"}, {"motto": "text"}, FIELDS])
def test_the_sdk_takes_the_schema(fields: dict[str, str]) -> None:
    from anthropic import transform_schema

    schema = transform_schema(answer_schema(fields))
    assert schema["additionalProperties"] is False
    assert "items" in schema["properties"]["changes"]
