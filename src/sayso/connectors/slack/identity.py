"""Who we are in the workspace: the ids by which our own posts are known."""

from collections.abc import Mapping
from dataclasses import dataclass

from sayso.connectors.slack.errors import CallRefused, MissingScope, SlackMalformed
from sayso.connectors.slack.web import WebApi


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The bot behind the token."""

    user_id: str
    bot_id: str | None
    app_id: str | None
    """None where the server does not tell; the two other ids then do."""
    team_id: str
    team: str

    def wrote(self, raw: Mapping[str, object]) -> bool:
        """True when a raw message is ours, by user id, bot id or app id."""
        return (
            raw.get("user") == self.user_id
            or (self.bot_id is not None and raw.get("bot_id") == self.bot_id)
            or (self.app_id is not None and raw.get("app_id") == self.app_id)
        )


async def read_identity(web: WebApi) -> Identity:
    """Ask auth.test, and bots.info for the app's id. Raises SlackError."""
    answer = await web.read("auth.test")
    user_id, team_id = _text(answer.get("user_id")), _text(answer.get("team_id"))
    if user_id is None or team_id is None:
        raise SlackMalformed("auth.test", "the answer has no user_id or no team_id")
    bot_id = _text(answer.get("bot_id"))
    return Identity(
        user_id=user_id,
        bot_id=bot_id,
        app_id=None if bot_id is None else await _app_id(web, bot_id),
        team_id=team_id,
        team=_text(answer.get("team")) or team_id,
    )


async def _app_id(web: WebApi, bot_id: str) -> str | None:
    try:
        answer = await web.read("bots.info", bot=bot_id)
    except (CallRefused, MissingScope):
        # a token without users:read, or a server without the method: the other ids suffice
        return None
    bot = answer.get("bot")
    return _text(bot.get("app_id")) if isinstance(bot, Mapping) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
