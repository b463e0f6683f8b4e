"""Every topic: what it holds, how it is keyed, how long it is kept."""

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from sayso.schemas.audit import AuditEntry
from sayso.schemas.dead import DeadLetter
from sayso.schemas.effect import Effect, EffectResult
from sayso.schemas.feedback import FeedbackRow
from sayso.schemas.parked import ParkedRecord
from sayso.schemas.slack import Message, Reaction
from sayso.schemas.status import Status
from sayso.schemas.strategy import Decision, StrategyRequest, StrategyValue
from sayso.schemas.tick import Tick, TickResult

DAY_MS: Final = 24 * 60 * 60 * 1000
FOR_EVER: Final = -1


@dataclass(frozen=True, kw_only=True)
class TopicSpec:
    """One topic as `sayso topics apply` creates it."""

    name: str
    """Without the prefix setting."""
    model: type[BaseModel]
    key: str
    """The shape of the key, for people."""
    about: str
    compacted: bool = False
    retention_ms: int = FOR_EVER
    """How long records are kept; not used by a compacted topic."""
    max_message_bytes: int = 1_048_588


TOPICS: Final[tuple[TopicSpec, ...]] = (
    TopicSpec(
        name="ticks",
        model=Tick,
        key="org/channel",
        retention_ms=DAY_MS,
        about="Requests to poll a channel, from the scheduler or a command.",
    ),
    TopicSpec(
        name="tick-results",
        model=TickResult,
        key="org/channel",
        retention_ms=DAY_MS,
        about="What each tick read, and what became of each reply it read.",
    ),
    TopicSpec(
        name="slack.messages",
        model=Message,
        key="org/channel/ts",
        retention_ms=90 * DAY_MS,
        about="Messages as Slack served them, normalised; people's and others'.",
    ),
    TopicSpec(
        name="slack.reactions",
        model=Reaction,
        key="org/channel/ts",
        retention_ms=90 * DAY_MS,
        about="Reactions as polls saw them appear and go.",
    ),
    TopicSpec(
        name="feedback",
        model=FeedbackRow,
        key="org/channel/ts",
        compacted=True,
        about="The one row each reply becomes.",
    ),
    TopicSpec(
        name="strategy.requests",
        model=StrategyRequest,
        key="org",
        retention_ms=90 * DAY_MS,
        about="Internal: conclusions on their way to the owner of the org's strategy.",
    ),
    TopicSpec(
        name="strategy.applied",
        model=Decision,
        key="org/channel/ts",
        retention_ms=90 * DAY_MS,
        about="Internal: applied decisions on their way back to their feedback row.",
    ),
    TopicSpec(
        name="decisions",
        model=Decision,
        key="org/decision",
        about="One record per processed reply: what was decided, by whom, in which words.",
    ),
    TopicSpec(
        name="strategy",
        model=StrategyValue,
        key="org/field",
        compacted=True,
        about="The current value of each strategic field and the reply that set it.",
    ),
    TopicSpec(
        name="status",
        model=Status,
        key="org/kind/id",
        compacted=True,
        about="The latest status of every feedback row, proposal, task, candidate and example.",
    ),
    TopicSpec(
        name="effects",
        model=Effect,
        key="org/target",
        retention_ms=30 * DAY_MS,
        about="Things to do outside, each with a deterministic id.",
    ),
    TopicSpec(
        name="effect-results",
        model=EffectResult,
        key="org/target",
        retention_ms=30 * DAY_MS,
        about="How far each effect has come.",
    ),
    TopicSpec(
        name="dead",
        model=DeadLetter,
        key="source key",
        retention_ms=90 * DAY_MS,
        max_message_bytes=4_194_304,
        about="Records that could not be processed, with their raw bytes.",
    ),
    TopicSpec(
        name="parked",
        model=ParkedRecord,
        key="source key",
        retention_ms=90 * DAY_MS,
        max_message_bytes=4_194_304,
        about="Records that wait, in order, behind a dead one of their key.",
    ),
    TopicSpec(
        name="audit",
        model=AuditEntry,
        key="org",
        about="What operators did.",
    ),
)

BY_NAME: Final = {spec.name: spec for spec in TOPICS}
