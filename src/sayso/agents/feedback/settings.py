"""Settings of the strategic feedback loop, per org."""

from pydantic import BaseModel, ConfigDict, Field


class FeedbackSettings(BaseModel):
    """Section `[orgs.<org>.feedback]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    deciders: tuple[str, ...] = ()
    """Slack user ids that may decide; empty means every full member."""
    floor: float = Field(default=0.6, ge=0, le=1)
    """Confidence below which nothing is applied."""
    confirm: bool = True
    """Post one short confirmation into the thread."""
    clarify: bool = False
    """Ask once in the thread when the model is unsure."""
    backoff_after: int = Field(default=0, ge=0, le=1_000)
    """Attempts after which further ones are spaced out; 0 is off."""
    adjacent_replies: bool = True
    """A top-level message that directly follows our post answers it."""
    adjacent_window: float = Field(default=7_200.0, ge=0, le=604_800)
    """Seconds within which it must follow."""


class OrchestratorChannels(BaseModel):
    """Section `[orgs.<org>.orchestrator.autoGoalChannelID]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suggestions: str | None = None
    """Id of the suggestions channel."""
