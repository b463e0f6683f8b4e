"""The benchmark's own arithmetic: its reference, its ratio and its document."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the bench, which is scripts and no package."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


def test_the_reference_is_what_is_left_without_copies(bench: Any) -> None:
    job = bench("job")
    orders = list(job.orders(2_000))
    assert orders == list(job.orders(2_000))
    assert job.expected(2_000) == {one.id for one in orders}
    assert 0.05 < 1 - len(job.expected(2_000)) / len(orders) < 0.15
    copies: dict[str, object] = {}
    assert all(copies.setdefault(one.id, one) == one for one in orders)
    assert 150 < len(orders[0].model_dump_json()) < 250


def test_the_ratio_is_of_the_medians(bench: Any) -> None:
    assert _figures(bench).ratio == 0.2


def test_the_document_holds_every_figure(bench: Any, tmp_path: Path) -> None:
    figures = _figures(bench)
    file = tmp_path / "performance.md"
    bench("report").write_document(figures, file)
    text = file.read_text(encoding="utf-8")
    for figure in (
        "| sayso | 200 (100 to 900) | 0.500 (0.500 to 0.500) | 90 |",
        "| quix streams | 1,000 (1,000 to 1,000) |",
        "0.20 times the records per second of Quix Streams",
        "makes 3 Slack calls when cold, 2 when warm",
        "41.5 replies settled a second, 20 ms",
        "p50 0.60 s, p99 1.20 s",
        "p50 70 ms, p99 130 ms",
        "- machine: a test",
    ):
        assert figure in text
    assert json.loads(json.dumps(figures.as_json()))["engine"]["ratio_to_quix"] == 0.2


def test_no_document_of_half_the_figures(bench: Any, tmp_path: Path) -> None:
    report = bench("report")
    with pytest.raises(ValueError, match="every figure"):
        report.write_document(report.Figures(machine={}, records=1), tmp_path / "performance.md")
    assert not (tmp_path / "performance.md").exists()


def _figures(bench: Any) -> Any:
    one = bench("engine").Round
    return bench("report").Figures(
        machine={"machine": "a test"},
        records=1_000,
        rounds=(
            *(one("sayso", rate, 0.5, 90.0) for rate in (900.0, 100.0, 200.0)),
            *(one("quix streams", 1_000.0, 0.1, 120.0) for _ in range(3)),
        ),
        calls=bench("calls").Calls(1_000, 3, {"a": 1, "b": 2}, {"b": 2}),
        whole=bench("pipeline").Whole(
            burst=200,
            burst_replies_per_s=41.5,
            burst_cpu_s_per_reply=0.02,
            rate=10.0,
            replies=150,
            reply_to_decision_s=(0.6, 1.2),
            message_to_decision_s=(0.07, 0.13),
            peak_mb=150.0,
        ),
    )
