"""`sayso suggestions` as people run it: processes, exit codes, what goes where."""

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from deployment import CHANNEL, ORG, Deployment

from sayso.connectors.anthropic.sandbox.script import Line
from sayso.connectors.slack.sandbox.faults import Fault
from sayso.schemas.ids import effect_id, row_id

pytestmark = pytest.mark.kafka

Deploy = Callable[..., Deployment]


def sayso(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sayso", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def test_without_a_worker_it_says_so(deploy: Deploy) -> None:
    deploy()

    done = sayso("suggestions", "tick")

    assert done.returncode == 1
    assert "sayso worker" in done.stderr
    assert "--embedded" in done.stderr
    assert done.stdout == ""


def test_embedded_brings_broker_and_worker_and_confirms(deploy: Deploy) -> None:
    run = deploy()
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")

    done = sayso("suggestions", "tick", "--embedded")

    assert done.returncode == 0, done.stderr
    assert ts in done.stdout
    assert "processed" in done.stdout
    assert run.confirmations() == {effect_id("confirm", row_id(ORG, CHANNEL, ts)): 1}
    shown = sayso("suggestions", "show", ts, "--embedded", "--json")
    evidence = json.loads(shown.stdout)
    assert evidence["row"]["status"] == "processed"
    assert evidence["decision"]["changes"] == [{"field": "target_margin", "value": 0.4}]
    assert [effect["state"] for effect in evidence["effects"]] == ["done"]
    listed = sayso("suggestions", "list", "--embedded", "--status", "failed", "--json")
    assert (listed.returncode, listed.stdout) == (0, "")


def test_refusals_go_to_standard_error_and_the_scan_goes_on(deploy: Deploy) -> None:
    run = deploy()
    run.model.script.add(Line(when="0.4", fault="two answers", times=1))
    root = run.post()
    bad = run.reply(root, "set target_margin to 0.4")
    good = run.reply(root, "set positioning to premium")
    run.start_worker()

    done = sayso("suggestions", "tick", "--json")

    row = run.rows()[bad]
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"# strategic feedback failed ts={bad}: {row.last_error}"]
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert sorted(kinds) == ["read", "reply", "reply", "started"]
    assert run.rows()[good].status == "processed"

    run.slack.faults.add(Fault(kind="html", method="conversations.history"))
    done = sayso("suggestions", "tick")
    assert done.returncode == 1
    assert done.stderr.startswith(f"# strategic feedback scan failed channel={CHANNEL}: ")


def test_a_post_is_watched_from_its_birth(deploy: Deploy) -> None:
    run = deploy()
    run.start_worker()

    done = sayso("suggestions", "post", "Raise <it> & see?")

    assert done.returncode == 0, done.stderr
    (post,) = (one for one in run.slack.workspace.posts if one.metadata)
    assert post.ts in done.stdout
    assert post.text == "Raise &lt;it&gt; &amp; see?"
    ts = run.reply(post.ts, "set target_margin to 0.4")
    _, outcomes = run.tick()
    assert outcomes[ts].status == "processed"


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["suggestions", "tick", "--trigger", "C0SUGGEST"], "CHANNEL:TS", 2),
        (["suggestions", "tick", "--trigger", "C0OTHER:1796000000.000100"], "C0OTHER", 2),
        (["suggestions", "tick", "--org", "nobody"], "orgs.nobody", 1),
        (["suggestions", "list", "--status", "done"], "--status", 2),
        (["suggestions", "show", "1796000000.000100"], "no feedback row", 1),
        (["suggestions", "post", " "], "1 to 4000", 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_one_sentence(
    deploy: Deploy, arguments: list[str], said: str, code: int
) -> None:
    deploy()

    done = sayso(*arguments)

    assert done.returncode == code
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
