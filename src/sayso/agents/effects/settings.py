"""Settings of the effects agent."""

from pydantic import BaseModel, ConfigDict, Field


class EffectSettings(BaseModel):
    """Section `[effects]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: float = Field(default=2.0, ge=0, le=300)
    """Seconds before an uncertain effect is looked for: its request may still be under way."""
    tries: int = Field(default=5, ge=1, le=100)
    """How often an effect is sent before it counts as failed."""
    longest_pause: float = Field(default=30.0, gt=0, le=600)
    """The most seconds between two looks at an outside system that does not answer."""
