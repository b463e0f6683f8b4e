"""Settings of the Slack connector."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class SlackSettings(BaseModel):
    """Section `[slack]`. The token comes from `SLACK_BOT_TOKEN` or a file, never from here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_url: str = "https://slack.com/api/"
    """Base address of the Web API; any compatible server can stand in."""
    token_file: Path | None = None
    """A file that holds the bot token, when the environment does not."""
    timeout: float = Field(default=30.0, gt=0, le=300)
    """Seconds one call may take."""
    page_size: int = Field(default=999, ge=1, le=999)
    """Objects asked for per page; Slack may serve fewer."""
    max_pages: int = Field(default=200, ge=1, le=10_000)
    """Pages after which a window counts as never ending, and the scan is refused."""
    calls_per_minute: int = Field(default=45, ge=1, le=10_000)
    """Budget of each method and workspace; Slack's tier 3 allows about 50."""
