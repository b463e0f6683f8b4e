"""Which error a code of Slack's stands for."""

from collections.abc import Mapping
from typing import Final

from sayso.connectors.slack.errors import (
    CallRefused,
    ChannelUnreadable,
    MissingScope,
    PostAmbiguous,
    PostRefused,
    SlackDenied,
    SlackError,
    SlackUnavailable,
    ThreadGone,
    UserGone,
    WindowLost,
)

RATE_LIMITS: Final = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})

_DENIED: Final = frozenset(
    {
        "invalid_auth",
        "not_authed",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "org_login_required",
        "ekm_access_denied",
    }
)
_SCOPE: Final = frozenset({"missing_scope", "not_allowed_token_type", "no_permission"})
_CHANNEL: Final = frozenset(
    {
        "not_in_channel",
        "channel_not_found",
        "is_archived",
        "method_not_supported_for_channel_type",
        "access_denied",
    }
)
_OURS: Final = frozenset(
    {
        "invalid_ts_oldest",
        "invalid_ts_latest",
        "invalid_arguments",
        "invalid_arg_name",
        "invalid_array_arg",
        "invalid_charset",
        "invalid_form_data",
        "invalid_post_type",
        "invalid_json",
        "json_not_object",
        "invalid_metadata_filter_keys",
        "unknown_method",
        "method_deprecated",
        "deprecated_endpoint",
        "bot_not_found",
    }
)
_POST: Final = frozenset(
    {
        "no_text",
        "msg_too_long",
        "msg_blocks_too_long",
        "markdown_text_conflict",
        "metadata_too_large",
        "metadata_must_be_sent_from_app",
        "invalid_metadata_format",
        "invalid_metadata_schema",
        "cannot_reply_to_message",
        "as_user_not_supported",
        "messages_tab_disabled",
        "team_access_not_granted",
        "duplicate_channel_not_found",
        "duplicate_message_not_found",
        "thread_locked",
        "too_many_attachments",
        "too_many_contact_cards",
        "slack_connect_canvas_sharing_blocked",
        "slack_connect_file_link_sharing_blocked",
        "slack_connect_blocked_file_type",
    }
)


def reading_error(
    method: str, answer: Mapping[str, object], *, args: Mapping[str, str]
) -> SlackError:
    """The error for an `ok: false` answer to a call that changes nothing."""
    code = _code(answer)
    channel = args.get("channel", "")
    if code in ("thread_not_found", "message_not_found") and "ts" in args:
        return ThreadGone(method, channel=channel, thread_ts=args["ts"])
    if code in ("user_not_found", "user_not_visible", "users_not_found"):
        return UserGone(method, f"Slack does not show the user ({code})")
    if code == "invalid_cursor":
        return WindowLost(method, "Slack no longer takes its own page cursor")
    if code in _CHANNEL:
        return ChannelUnreadable(method, code=code, channel=channel)
    if code in _OURS:
        return CallRefused(method, code=code)
    return _either(method, code, answer) or SlackUnavailable(
        method, f"Slack could not answer ({code or 'no error named'})"
    )


def posting_error(method: str, answer: Mapping[str, object]) -> SlackError:
    """The error for an `ok: false` answer to a post.

    A code that nobody documented counts as ambiguous: reading back is safe, giving up is not.
    """
    code = _code(answer)
    if code in _CHANNEL | _POST | _OURS or code.startswith(("restricted_action", "invalid_blocks")):
        return PostRefused(method, code=code)
    return _either(method, code, answer) or PostAmbiguous(
        method, f"Slack may or may not have posted ({code or 'no error named'})"
    )


def _either(method: str, code: str, answer: Mapping[str, object]) -> SlackError | None:
    if code in _DENIED:
        return SlackDenied(method, code=code)
    if code in _SCOPE:
        needed, provided = (str(answer.get(part) or "")[:500] for part in ("needed", "provided"))
        return MissingScope(method, code=code, needed=needed, provided=provided)
    return None


def _code(answer: Mapping[str, object]) -> str:
    return str(answer.get("error") or "")[:100]
