"""Posting once: an effect's id travels in the message's metadata, and is found again by it.

Slack has no idempotency key. A post is never retried here; when its answer is lost, `find_post`
tells whether it happened.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sayso.connectors.slack.errors import PostAmbiguous, PostRefused, ThreadGone
from sayso.connectors.slack.identity import Identity
from sayso.connectors.slack.pages import Raw, read_pages
from sayso.connectors.slack.settings import SlackSettings
from sayso.connectors.slack.web import Before, WebApi
from sayso.schemas.effect import PostMessage
from sayso.schemas.ts import checked_ts, micros

EVENT_TYPE: Final = "sayso_effect"
_POST: Final = "chat.postMessage"


@dataclass(frozen=True, kw_only=True)
class Posted:
    """A message of ours as it stands in Slack."""

    ts: str
    thread_ts: str | None
    """None when it stands in the channel itself."""


async def post(
    web: WebApi, action: PostMessage, *, effect_id: str, before: Before | None = None
) -> Posted:
    """Post once.

    Slack puts a reply whose thread is gone into the channel, for everybody to read, and says ok.
    So the thread is looked up first, one cheap call; should it vanish in between, the refusal
    names where the post went. Nothing is deleted. `before` is awaited right before the post goes
    out, and nothing is posted when it raises. Raises SlackError: PostRefused, PostAmbiguous,
    RateLimited, or what the look-up raises.
    """
    if action.thread_ts is not None:
        await _require_thread(web, action.channel, action.thread_ts)
    body: dict[str, object] = {
        "channel": action.channel,
        "text": action.text,
        "unfurl_links": False,
        "unfurl_media": False,
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"effect_id": effect_id}},
    }
    if action.thread_ts is not None:
        body["thread_ts"] = action.thread_ts
    posted = _posted(await web.post(_POST, body, before=before))
    if posted.thread_ts != action.thread_ts:
        raise PostRefused(_POST, code="thread_gone", posted_ts=posted.ts)
    return posted


async def find_post(
    web: WebApi,
    action: PostMessage,
    *,
    effect_id: str,
    since: str | None,
    me: Identity,
    settings: SlackSettings,
) -> Posted | None:
    """The post of that effect, if it happened after `since` (a ts of Slack's, exclusive).

    Metadata can be forged by any app of the workspace, so the author must be us as well. A reply
    whose thread is gone is looked for in the channel too. On a server that keeps no metadata our
    post is known by its text. Raises SlackError.
    """
    found: list[Raw] | None = None
    window = {"channel": action.channel, "oldest": since, "include_all_metadata": "true"}
    if action.thread_ts is not None:
        with suppress(ThreadGone):
            found = await read_pages(
                web, "conversations.replies", settings=settings, ts=action.thread_ts, **window
            )
    if found is None:
        found = await read_pages(web, "conversations.history", settings=settings, **window)
    ours = [raw for raw in found if me.wrote(raw)]
    named = [raw for raw in ours if _effect_of(raw) == effect_id]
    if not named and not any(isinstance(raw.get("metadata"), Mapping) for raw in ours):
        named = [raw for raw in ours if _is_after(raw, since) and _says(raw, action)]
    return min(map(_stood, named), key=lambda posted: micros(posted.ts), default=None)


async def _require_thread(web: WebApi, channel: str, thread_ts: str) -> None:
    try:
        answer = await web.read("conversations.replies", channel=channel, ts=thread_ts, limit="1")
    except ThreadGone as error:
        raise PostRefused(_POST, code="thread_gone") from error
    messages = answer.get("messages")
    served = messages if isinstance(messages, list) else []
    if not any(isinstance(raw, dict) and _is_root(raw, thread_ts) for raw in served):
        raise PostRefused(_POST, code="thread_gone")


def _is_root(raw: Raw, thread_ts: str) -> bool:
    return raw.get("ts") == thread_ts and raw.get("thread_ts") in (None, "", thread_ts)


def _posted(answer: Mapping[str, object]) -> Posted:
    message = answer.get("message")
    thread_ts = message.get("thread_ts") if isinstance(message, Mapping) else None
    return _checked(answer.get("ts"), thread_ts)


def _stood(raw: Raw) -> Posted:
    return _checked(raw.get("ts"), raw.get("thread_ts"))


def _checked(ts: object, thread_ts: object) -> Posted:
    try:
        own = checked_ts(str(ts))
        root = None if thread_ts in (None, "", own) else checked_ts(str(thread_ts))
    except ValueError as error:
        raise PostAmbiguous(_POST, f"the answer names no message: {error}") from None
    return Posted(ts=own, thread_ts=root)


def _is_after(raw: Raw, since: str | None) -> bool:
    """Checked anew: a server that keeps no metadata may pass over `oldest` as well."""
    return since is None or micros(_stood(raw).ts) > micros(since)


def _says(raw: Raw, action: PostMessage) -> bool:
    is_the_root = raw.get("ts") == action.thread_ts
    return raw.get("text") == action.text and not is_the_root


def _effect_of(raw: Raw) -> object:
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return payload.get("effect_id") if isinstance(payload, Mapping) else None
