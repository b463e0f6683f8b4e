"""One reply under everything that can befall it, against a reference that keeps only facts.

The machine plays Kafka and the worker: records of the reply come in offset order, a crash loses
what was not kept and delivers again from what was committed, and decisions come back as often as
they like. The reference never looks into the row.
"""

from enum import IntEnum
from itertools import pairwise

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from made_replies import CHANNEL, ORG, TS, answer, at, conclusion, position, reply, withdrawal

from sayso.agents.feedback import rules
from sayso.agents.feedback.outputs import outputs
from sayso.agents.feedback.settings import FeedbackSettings
from sayso.agents.strategy.rules import OrgStrategy, decide
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.ids import row_id
from sayso.schemas.output import Output
from sayso.schemas.slack import Message
from sayso.schemas.status import Status
from sayso.schemas.strategy import Decision, StrategyRequest

SETTINGS = FeedbackSettings(clarify=True)


class Crash(IntEnum):
    """Where a worker is killed while it handles one record."""

    BEFORE_KEPT = 1
    BEFORE_ASKING = 2
    BEFORE_ANSWER_KEPT = 3
    BEFORE_OUTPUTS = 4
    NEVER = 5


SAID = ("decision", "chatter", "unsure", "refused")


def edit_ts(version: int) -> str:
    return f"{1796001000 + version:010d}.000000"


class OneReply(RuleBasedStateMachine):
    """The worker's side in `row` and `log`; the reference in what follows `seen`."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = 0
        self.log: list[Message] = []
        self.committed = 0
        self.row: FeedbackRow | None = None
        self.revisions = [0]
        self.ranks: list[tuple[int, int, int]] = []
        self.sent: dict[str, Output] = {}
        self.applied: list[Decision] = []
        self.ticks = 0
        self.version = 0
        # The reference.
        self.calls = 0
        self.crashed_unasked = 0
        self.outcome: str | None = None
        self.interrupted = False
        self.withdrawn = False
        self.tried_ticks: set[str] = set()
        self.tried_offset = -1
        self.newest_kept = 0
        self.changed: int | str | None = None

    # What Slack and the scans do.

    @rule()
    def a_tick_reads_it(self) -> None:
        self.ticks += 1
        self._publish()

    @rule()
    @precondition(lambda self: self.log)
    def the_same_tick_publishes_it_again(self) -> None:
        self._publish()

    @rule()
    def it_is_edited_and_read(self) -> None:
        self.version += 1
        self.ticks += 1
        self._publish()

    @rule(behind=st.integers(1, 2))
    @precondition(lambda self: self.version > 0)
    def an_older_form_arrives_late(self, behind: int) -> None:
        self.ticks += 1
        self.log.append(self._form(max(self.version - behind, 0)))

    @rule()
    def it_is_deleted(self) -> None:
        self.ticks += 1
        self.log.append(withdrawal(tick=f"tick-{self.ticks}"))

    # What the worker does.

    @rule(said=st.sampled_from(SAID), crash=st.sampled_from(Crash), lag=st.integers(0, 3))
    @precondition(lambda self: self.committed < len(self.log))
    def the_next_record_is_handled(self, said: str, crash: Crash, lag: int) -> None:
        offset = self.committed
        crashed = self._handle(self.log[offset], offset, said, crash)
        if crashed:
            # Commits are behind what was done, so some records come again.
            self.committed = max(self.committed - lag, 0)
        else:
            self.committed += 1

    @rule(which=st.integers(0, 10))
    @precondition(lambda self: self.committed > 0)
    def a_settled_record_is_delivered_again(self, which: int) -> None:
        if self.interrupted:
            return
        offset = self.committed - 1 - which % self.committed
        before = self.row
        self._handle(self.log[offset], offset, "decision", Crash.NEVER)
        if offset == self.committed - 1:
            assert self.row == before

    @rule(which=st.integers(0, 10))
    @precondition(lambda self: self.applied)
    def a_decision_comes_back(self, which: int) -> None:
        decision = self.applied[which % len(self.applied)]
        assert self.row is not None
        self._keep(rules.applied(self.row, decision))
        self._send(self.row.ticks[-1])
        self.outcome = "processed"

    # What holds at every instant.

    @invariant()
    def attempts_are_calls_and_crashes(self) -> None:
        counted = self.row.attempt_count if self.row else 0
        assert counted == self.calls + self.crashed_unasked

    @invariant()
    def the_row_says_what_came_of_it(self) -> None:
        if self.row is None:
            assert self.outcome is None
            return
        shown = {None: "pending" if self.interrupted else "failed", "waiting": "pending"}
        assert self.row.status == shown.get(self.outcome, self.outcome)
        expected = edit_ts(self.changed) if isinstance(self.changed, int) else self.changed
        assert self.row.changed_after == expected
        assert self.row.id == row_id(ORG, CHANNEL, TS)

    @invariant()
    def nothing_goes_backwards(self) -> None:
        assert all(one <= other for one, other in pairwise(self.revisions[-3:]))
        assert all(one <= other for one, other in pairwise(self.ranks[-3:]))

    # The machinery.

    def _form(self, version: int) -> Message:
        edited = edit_ts(version) if version else None
        return reply(f"version {version}", tick=f"tick-{self.ticks}", edited=edited)

    def _publish(self) -> None:
        self.log.append(self._form(self.version))

    def _handle(self, message: Message, offset: int, said: str, crash: Crash) -> bool:
        """What the agent does with one record; True when it was killed meanwhile."""
        self.clock += 1
        expected = self._expect(message, offset)
        found = rules.receive(
            self.row, message, position=position(offset), at=at(self.clock), settings=SETTINGS
        )
        assert found is not None
        assert found.attempt is expected
        if crash is Crash.BEFORE_KEPT:
            return True
        changed = found.row != self.row
        self._keep(found.row)
        self._note(message, offset, asked=found.attempt)
        if not found.attempt:
            if changed and crash is not Crash.NEVER:
                return True
            self._send(message.read_by)
            return False
        self.interrupted = True
        if crash is Crash.BEFORE_ASKING:
            self.crashed_unasked += 1
            return True
        self._send(message.read_by)
        self.calls += 1
        assert found.row.message.text == f"version {self.newest_kept}"
        after = self._answer(found.row, said)
        if crash is Crash.BEFORE_ANSWER_KEPT:
            return True
        self.interrupted = False
        self.outcome = {"decision": "waiting", "refused": None}.get(said, "ignored")
        self._keep(after)
        if crash is Crash.BEFORE_OUTPUTS:
            return True
        self._send(message.read_by)
        return False

    def _answer(self, row: FeedbackRow, said: str) -> FeedbackRow:
        if said == "refused":
            return rules.refused(row, "it declined", at=at(self.clock), settings=SETTINGS)
        concluded = conclusion(
            is_decision=said != "chatter", confidence=0.1 if said == "unsure" else 0.9
        )
        return rules.answered(row, answer(said), concluded, settings=SETTINGS)

    def _expect(self, message: Message, offset: int) -> bool:
        """Whether the model has to be asked, by the facts alone."""
        if self.outcome is not None or message.change == "deleted":
            return False
        if self.interrupted or self.row is None:
            return True
        return message.read_by not in self.tried_ticks and offset > self.tried_offset

    def _note(self, message: Message, offset: int, *, asked: bool) -> None:
        version = int(message.text.removeprefix("version ") or 0) if message.text else 0
        if self.outcome is not None:
            self._note_after(message, version)
        elif message.change == "deleted":
            self.outcome, self.interrupted, self.withdrawn = "ignored", False, True
        else:
            self.newest_kept = max(self.newest_kept, version)
        if asked:
            self.tried_ticks.add(message.read_by)
            self.tried_offset = max(self.tried_offset, offset)

    def _note_after(self, message: Message, version: int) -> None:
        if self.withdrawn:
            return
        if message.change == "deleted":
            self.changed = "deleted"
        elif self.changed != "deleted":
            known = self.changed if isinstance(self.changed, int) else self.newest_kept
            if version > known:
                self.changed = version

    def _keep(self, row: FeedbackRow) -> None:
        # What is read back is what was written, or a restart would see another row.
        self.row = FeedbackRow.model_validate_json(row.model_dump_json())
        assert self.row == row
        self.revisions.append(row.revision)

    def _send(self, tick: str) -> None:
        assert self.row is not None
        for output in outputs(self.row, tick=tick, settings=SETTINGS):
            identity = f"{output.topic} {output.record.ce_id}"
            # Readers drop a copy by its id, so a copy must say the same.
            assert self.sent.setdefault(identity, output) == output
            if isinstance(output.record, Status):
                self.ranks.append(output.record.rank)
            if isinstance(output.record, StrategyRequest):
                self.applied.append(decide(OrgStrategy(), output.record))
        requests = [one for one in self.sent.values() if one.topic == "strategy.requests"]
        effects = [one for one in self.sent.values() if one.topic == "effects"]
        assert len(requests) <= 1
        assert len(effects) <= 1


OneReply.TestCase.settings = hypothesis_settings(
    max_examples=120, stateful_step_count=40, deadline=None
)
TestOneReply = OneReply.TestCase
