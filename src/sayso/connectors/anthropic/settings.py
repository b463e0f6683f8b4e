"""Settings of the model connector."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class ModelSettings(BaseModel):
    """Section `[model]`. The key comes from `ANTHROPIC_API_KEY` or a file, never from here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = "https://api.anthropic.com"
    """Base address of the Messages API; any compatible server can stand in."""
    key_file: Path | None = None
    """A file that holds the API key, when the environment does not."""
    name: str = "claude-sonnet-5-5"
    """The model asked."""
    timeout: float = Field(default=60.0, gt=0, le=600)
    """Seconds one answer may take, from request to last byte."""
    max_tokens: int = Field(default=2_000, ge=100, le=32_000)
    """Tokens an answer may have; a longer one is refused as truncated."""
