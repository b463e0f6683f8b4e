"""A worker killed at random instants: each reply applied once, confirmed once, counted truly."""

import os
import random
import time
from collections import Counter
from collections.abc import Callable

import pytest
from deployment import CHANNEL, ORG, Deployment

from sayso.connectors.anthropic.sandbox.script import Line
from sayso.schemas.ids import effect_id, row_id
from sayso.schemas.status import Status

KILLS = int(os.environ.get("SAYSO_TEST_KILLS", "5"))
REPLIES = int(os.environ.get("SAYSO_TEST_REPLIES", "60"))
THREADS = 10


@pytest.mark.kafka
@pytest.mark.timeout(1_200)
def test_killed_at_random_instants(deploy: Callable[..., Deployment]) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    chance = random.Random(seed)
    run = deploy("[worker]\ntick_interval = 2")
    roots = [run.post(f"Question {number}") for number in range(THREADS)]
    replies = [
        run.reply(roots[number % THREADS], f"ok, set target_margin to {number}")
        for number in range(REPLIES)
    ]
    run.model.script.add(Line(seconds=0.2))
    for _ in range(KILLS):
        before = run.calls()
        worker = run.start_worker(schedule=True)
        run.until(lambda before=before: run.calls() > before)
        # It is at work now: polling, asking, applying, posting.
        time.sleep(chance.uniform(0.0, 2.0))
        assert worker.poll() is None
        run.kill(worker)
    cut = len(run.confirmations())
    print(f"confirmed when the last kill fell: {cut} of {REPLIES}")
    run.start_worker(schedule=True)
    wanted = {effect_id("confirm", row_id(ORG, CHANNEL, ts)) for ts in replies}
    run.until(
        lambda: (
            run.confirmations().keys() >= wanted
            and all(row.status == "processed" for row in run.rows().values())
        ),
        timeout=300,
    )

    assert run.confirmations() == Counter(wanted)
    rows = run.rows()
    assert rows.keys() == set(replies)
    decisions = run.decisions()
    assert Counter(one.ts for one in decisions.values()) == Counter(replies)
    asked = Counter(entry.ts for entry in run.model.journal)
    for ts, row in rows.items():
        # An attempt cut short before the model was asked is counted and not heard of.
        assert asked[ts] <= row.attempt_count <= asked[ts] + KILLS
    assert run.strategy()["target_margin"].ts == max(replies)
    assert run.strategy()["target_margin"].value == REPLIES - 1
    ranks: dict[str, tuple[int, int, int]] = {}
    for status in run.records("status", Status):
        ranks[status.id] = max(ranks.get(status.id, status.rank), status.rank)
    assert len(ranks) == REPLIES
