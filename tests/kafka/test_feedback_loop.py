"""The strategic feedback loop on a real Kafka, through the real SDKs over HTTP."""

from collections.abc import Callable

import pytest
from deployment import CHANNEL, GUEST, LEAD, ORG, Deployment

from sayso.connectors.anthropic.sandbox.script import Line
from sayso.connectors.slack.sandbox.faults import Fault
from sayso.schemas.ids import effect_id, row_id
from sayso.schemas.tick import TickRead
from sayso.schemas.ts import micros

pytestmark = pytest.mark.kafka

Deploy = Callable[..., Deployment]


def confirmation(ts: str) -> str:
    return effect_id("confirm", row_id(ORG, CHANNEL, ts))


def test_each_reply_becomes_one_row(deploy: Deploy) -> None:
    run = deploy()
    workspace = run.slack.workspace
    workspace.add_user("U0OTHERBOT", kind="bot", bot_id="B0OTHER")
    root = run.post()
    decides = run.reply(root, "ok, set target_margin to 0.4")
    chatter = run.reply(root, "lovely weather today")
    broadcast = run.reply(root, "set positioning to premium", broadcast=True)
    guest = run.reply(root, "set target_margin to 9", user=GUEST)
    bot = run.reply(root, "set target_margin to 8", user="U0OTHERBOT")
    second = run.post("And which markets?")
    adjacent = workspace.say(CHANNEL, LEAD, "set markets to Finland, Japan")
    late = workspace.say(CHANNEL, LEAD, "set target_margin to 7")
    mention = workspace.say(CHANNEL, LEAD, f"<@{workspace.bot.id}> set target_margin to 0.5")
    run.start_worker()

    read, outcomes = run.tick()

    assert isinstance(read, TickRead)
    assert {ts: one.status for ts, one in outcomes.items()} == {
        decides: "processed",
        chatter: "ignored",
        broadcast: "processed",
        guest: "ignored",
        adjacent: "processed",
        mention: "processed",
    }
    assert outcomes[guest].reason == "not a decider"
    assert outcomes[chatter].reason == "no decision"
    rows = run.rows()
    assert rows.keys() == outcomes.keys()
    assert bot not in rows
    assert late not in rows
    assert all(row.attempt_count == (0 if ts == guest else 1) for ts, row in rows.items())
    values = {field: value.value for field, value in run.strategy().items()}
    assert values == {
        "target_margin": 0.5,
        "positioning": "premium",
        "markets": ("Finland", "Japan"),
    }
    by_ts = {decision.ts: decision for decision in run.decisions().values()}
    assert by_ts.keys() == {decides, broadcast, adjacent, mention}
    # The two stand on different partitions: whichever is applied first, the later reply wins.
    earlier, later = by_ts[decides], by_ts[mention]
    assert [one.decision for one in later.supersedes] == [earlier.id] or [
        one.decision for one in earlier.outranked_by
    ] == [later.id]
    assert by_ts[decides].quote in "ok, set target_margin to 0.4"
    wanted = {confirmation(ts) for ts in by_ts}
    run.until(lambda: run.confirmations().keys() == wanted)
    assert second in {row.message.answers.ts for row in rows.values() if row.message.answers}

    asked = len(run.model.journal)
    read, outcomes = run.tick()
    assert isinstance(read, TickRead)
    assert (read.replies, outcomes) == ((), {})
    assert len(run.model.journal) == asked
    assert set(run.confirmations().values()) == {1}


def test_a_refused_reply_is_tried_again_and_holds_only_its_thread(deploy: Deploy) -> None:
    run = deploy()
    run.model.script.add(Line(when="0.4", fault="nan", times=1))
    stuck, other = run.post(), run.post("Something else?")
    refused = run.reply(stuck, "set target_margin to 0.4")
    after = run.reply(stuck, "set positioning to premium")
    elsewhere = run.reply(other, "set markets to Finland")
    run.start_worker()

    _, outcomes = run.tick()

    assert outcomes[refused].status == "failed"
    assert "NaN" in str(outcomes[refused].refusal)
    assert outcomes[after].status == outcomes[elsewhere].status == "processed"
    row = run.rows()[refused]
    assert (row.status, row.attempt_count) == ("failed", 1)
    assert row.last_error == outcomes[refused].refusal
    asked = len(run.model.journal)

    run.slack.requests.clear()
    read, outcomes = run.tick()

    assert isinstance(read, TickRead)
    assert read.replies == (refused,)
    assert outcomes[refused].status == "processed"
    assert run.rows()[refused].attempt_count == 2
    assert len(run.model.journal) == asked + 1
    # The thread was read from one microsecond before the reply that held it.
    oldest = [args.get("oldest") for name, args in run.slack.requests if name.endswith("replies")]
    assert micros(refused) - 1 in [micros(str(edge)) for edge in oldest if edge]


def test_edits_and_deletions(deploy: Deploy) -> None:
    run = deploy()
    run.model.script.add(Line(when="wait", fault="overloaded", times=1))
    run.model.script.add(Line(when="gone", fault="overloaded"))
    workspace = run.slack.workspace
    root = run.post()
    edited = run.reply(root, "wait")
    deleted = run.reply(root, "gone soon")
    settled = run.reply(root, "set positioning to premium")
    run.start_worker()
    _, outcomes = run.tick()
    assert {one.status for ts, one in outcomes.items() if ts != settled} == {"failed"}

    workspace.edit(CHANNEL, edited, "set target_margin to 0.3")
    workspace.delete(CHANNEL, deleted)
    workspace.edit(CHANNEL, settled, "set positioning to cheap")
    _, outcomes = run.tick()

    rows = run.rows()
    assert outcomes[edited].status == "processed"
    assert rows[edited].message.text == "set target_margin to 0.3"
    assert (rows[deleted].status, rows[deleted].reason) == ("ignored", "withdrawn")
    assert rows[settled].status == "processed"
    assert rows[settled].changed_after is not None
    assert run.strategy()["positioning"].value == "premium"


def test_a_rate_limit_costs_nothing_but_time(deploy: Deploy) -> None:
    run = deploy()
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")
    run.slack.faults.add(
        Fault(kind="rate_limited", method="conversations.replies", retry_after="1")
    )
    run.start_worker()

    read, outcomes = run.tick()
    assert isinstance(read, TickRead)
    assert outcomes == {}
    assert read.retry_after is not None
    run.until(lambda: ts in run.tick()[1])
    assert run.rows()[ts].attempt_count == 1


def test_a_trigger_handles_one_message_alone(deploy: Deploy) -> None:
    run = deploy()
    root = run.post()
    run.reply(root, "set target_margin to 0.4")
    workspace = run.slack.workspace
    mention = workspace.say(CHANNEL, LEAD, f"<@{workspace.bot.id}> set positioning to premium")
    run.start_worker()

    read, outcomes = run.tick(trigger=mention)

    assert isinstance(read, TickRead)
    assert outcomes.keys() == run.rows().keys() == {mention}
    assert run.slack.calls["conversations.replies"] <= 1  # the confirmation's own look-up


def test_the_unsure_are_asked_once(deploy: Deploy) -> None:
    run = deploy(f"[orgs.{ORG}.feedback]\nclarify = true\ndeciders = ['{GUEST}']")
    root = run.post()
    unsure = run.reply(root, "maybe set target_margin to 0.4", user=GUEST)
    lead = run.reply(root, "set target_margin to 0.9")
    run.start_worker()

    _, outcomes = run.tick()
    assert (outcomes[unsure].status, outcomes[unsure].reason) == ("ignored", "unsure")
    assert outcomes[lead].reason == "not a decider"
    question = effect_id("clarify", row_id(ORG, CHANNEL, unsure))
    run.until(lambda: run.confirmations() == {question: 1})
    assert run.strategy() == {}
    answer = run.reply(root, "yes: set target_margin to 0.4", user=GUEST)
    _, outcomes = run.tick()
    assert outcomes[answer].status == "processed"


def test_two_workers_share_the_work(deploy: Deploy) -> None:
    run = deploy()
    roots = [run.post(f"Question {number}") for number in range(8)]
    replies = [run.reply(root, "set target_margin to 0.4") for root in roots]
    run.start_worker(name="worker-a", SAYSO_DATA_DIR=str(run.folder / "a"))
    run.start_worker(name="worker-b", SAYSO_DATA_DIR=str(run.folder / "b"))

    run.until(lambda: set(replies) == run.rows().keys() or run.tick() is None, timeout=120)

    run.until(lambda: all(row.status == "processed" for row in run.rows().values()))
    wanted = {confirmation(ts) for ts in replies}
    run.until(lambda: run.confirmations().keys() == wanted)
    assert set(run.confirmations().values()) == {1}


def test_a_post_whose_answer_is_lost_stands_once(deploy: Deploy) -> None:
    run = deploy()
    root = run.post()
    ts = run.reply(root, "set target_margin to 0.4")
    run.slack.faults.add(Fault(kind="drop_after", method="chat.postMessage"))
    run.start_worker()
    run.tick()

    key = confirmation(ts)
    run.until(lambda: key in run.effects() and run.effects()[key].state == "done")

    assert run.confirmations() == {key: 1}
    assert run.effects()[key].reconciled


def test_a_channel_that_the_org_does_not_scan_is_not_read(deploy: Deploy) -> None:
    run = deploy(conversations="")
    run.reply(run.post(), "set target_margin to 0.4")
    run.start_worker()

    read, outcomes = run.tick()

    assert isinstance(read, TickRead)
    assert "scan.conversations" in str(read.note)
    assert outcomes == {}
    assert run.slack.calls.total() == 0


def test_scheduled_ticks_settle_replies_without_anybody_asking(deploy: Deploy) -> None:
    run = deploy("[worker]\ntick_interval = 1")
    ts = run.reply(run.post(), "set target_margin to 0.4")
    run.start_worker(schedule=True)

    run.until(lambda: ts in run.rows() and run.rows()[ts].status == "processed")

    assert run.rows()[ts].attempt_count == 1
