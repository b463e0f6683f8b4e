"""The workspace behind the sandbox, with what people do in it as plain methods."""

import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Final, cast
from uuid import NAMESPACE_URL, uuid5

from sayso.connectors.slack.sandbox.serving import kept_text, served
from sayso.connectors.slack.sandbox.state import (
    ALL_SCOPES,
    Channel,
    Post,
    Stored,
    Token,
    User,
    UserKind,
)
from sayso.schemas.ts import from_micros, micros

DEFAULT_TOKEN: Final = "xoxb-sandbox"  # noqa: S105 - opens nothing but the sandbox
_SECOND: Final = 1_000_000
_TEXT_LIMIT: Final = 40_000


class Workspace:
    """Users, channels and messages in memory. Every method may be called from any thread.

    Messages are named by their ts. With `start`, a ts, the clock begins there and moves one
    second with each message, so that a run can be repeated exactly; otherwise it is the wall
    clock's. Methods raise KeyError for what does not exist.
    """

    def __init__(
        self,
        *,
        team_id: str = "T0SANDBOX",
        bot: User | None = None,
        token: str = DEFAULT_TOKEN,
        start: str | None = None,
    ) -> None:
        self.lock = RLock()
        self.team_id = team_id
        self.bot = bot or User(
            id="U0SAYSO", kind="bot", name="sayso", bot_id="B0SAYSO", app_id="A0SAYSO"
        )
        self.users: dict[str, User] = {self.bot.id: self.bot}
        self.channels: dict[str, Channel] = {}
        self.tokens: dict[str, Token] = {}
        self.root_on_every_page = True
        """Whether later pages of a thread repeat its root; observers of Slack disagree."""
        self._now: Callable[[], int] = _wall_clock if start is None else _counting_clock(start)
        self.add_token(token, user=self.bot.id)

    def add_token(self, token: str, *, user: str, scopes: frozenset[str] = ALL_SCOPES) -> None:
        """Accept a token that acts for `user`; a token given again has its scopes replaced."""
        with self.lock:
            self.tokens[token] = Token(user=user, scopes=scopes)

    def add_user(
        self,
        user_id: str,
        *,
        kind: UserKind = "member",
        name: str | None = None,
        bot_id: str | None = None,
        app_id: str | None = None,
    ) -> str:
        """Add a user, or change one; returns the id."""
        with self.lock:
            self.users[user_id] = User(
                id=user_id, kind=kind, name=name or user_id.lower(), bot_id=bot_id, app_id=app_id
            )
        return user_id

    def add_channel(
        self,
        channel_id: str,
        *,
        name: str | None = None,
        private: bool = False,
        joined: bool = True,
    ) -> str:
        """Add a channel; the bot is in it when `joined`. Returns the id."""
        with self.lock:
            self.channels[channel_id] = Channel(
                id=channel_id,
                name=name or channel_id.lower(),
                private=private,
                members={self.bot.id} if joined else set(),
            )
        return channel_id

    def archive(self, channel: str, *, archived: bool = True) -> None:
        """Archive a channel: it stays readable and takes no posts."""
        with self.lock:
            self.channels[channel].archived = archived

    def say(
        self,
        channel: str,
        user: str,
        text: str,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        ts: str | None = None,
        metadata: Mapping[str, object] | None = None,
        through_api: bool = False,
    ) -> str:
        """A user says something; returns its ts.

        `text` is mrkdwn. What a bot says carries its ids, as everything does that comes
        `through_api`.
        """
        with self.lock:
            who = self.users[user]
            raw: dict[str, object] = {
                "type": "message",
                "user": user,
                "text": kept_text(text[:_TEXT_LIMIT]),
                "team": self.team_id,
            }
            if who.kind in ("external", "hidden"):
                raw["user_team"] = raw["source_team"] = "T0OTHER"
            if who.kind == "bot" or through_api:
                raw |= {"bot_id": who.bot_id or "B0USER", "app_id": who.app_id or "A0USER"}
            return self.put(
                channel,
                raw,
                thread_ts=thread_ts,
                broadcast=broadcast,
                ts=ts,
                metadata=metadata,
                through_api=through_api,
            )

    def put(
        self,
        channel: str,
        raw: Mapping[str, object],
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        ts: str | None = None,
        metadata: Mapping[str, object] | None = None,
        through_api: bool = False,
    ) -> str:
        """Take in a message as Slack would serve it, of whatever subtype; returns its ts."""
        with self.lock:
            place = self.channels[channel]
            moment = self._free_moment(place) if ts is None else micros(ts)
            root = None if thread_ts is None else micros(thread_ts)
            if root is not None and (root not in place.messages or place.messages[root].root):
                raise KeyError(f"{channel} has no root {thread_ts}")
            kept = dict(raw)
            if not through_api and "subtype" not in kept and "bot_id" not in kept:
                kept["client_msg_id"] = str(uuid5(NAMESPACE_URL, f"{channel}/{moment}"))
            place.put(
                Stored(
                    micros=moment,
                    raw=kept,
                    root=root,
                    broadcast=broadcast,
                    metadata=None if metadata is None else dict(metadata),
                    through_api=through_api,
                )
            )
            return from_micros(moment)

    def edit(self, channel: str, ts: str, text: str) -> str:
        """The author edits a message; returns the ts of the edit."""
        with self.lock:
            message = self._message(channel, ts)
            at = from_micros(self._now())
            message.raw["text"] = kept_text(text)
            message.raw["edited"] = {"user": message.raw.get("user"), "ts": at}
            return at

    def delete(self, channel: str, ts: str) -> None:
        """Delete a message; a root with replies leaves a tombstone."""
        with self.lock:
            self.channels[channel].take(self._message(channel, ts))

    def react(self, channel: str, ts: str, user: str, name: str) -> None:
        """A user reacts; a second time changes nothing."""
        with self.lock:
            users = self._message(channel, ts).reactions.setdefault(name, [])
            if user not in users:
                users.append(user)

    def unreact(self, channel: str, ts: str, user: str, name: str) -> None:
        """A user takes a reaction back."""
        with self.lock:
            reactions = self._message(channel, ts).reactions
            reactions[name].remove(user)
            if not reactions[name]:
                del reactions[name]

    @property
    def posts(self) -> tuple[Post, ...]:
        """What came through the Web API and still stands, by channel and in the order of ts."""
        with self.lock:
            return tuple(
                Post(
                    channel=place.id,
                    ts=message.ts,
                    thread_ts=None if message.root is None else from_micros(message.root),
                    user=cast("str | None", message.raw.get("user")),
                    text=str(message.raw.get("text", "")),
                    metadata=message.metadata,
                )
                for place in self.channels.values()
                for _, message in sorted(place.messages.items())
                if message.through_api and not message.tombstone
            )

    def snapshot(self) -> dict[str, object]:
        """Everything that stands in the channels, as it would be served, metadata included."""
        with self.lock:
            return {
                "team_id": self.team_id,
                "users": {user.id: user.kind for user in self.users.values()},
                "channels": {
                    place.id: {
                        "name": place.name,
                        "is_archived": place.archived,
                        "messages": [
                            served(place, message, with_metadata=True)
                            for _, message in sorted(place.messages.items())
                        ],
                    }
                    for place in self.channels.values()
                },
            }

    def _message(self, channel: str, ts: str) -> Stored:
        return self.channels[channel].messages[micros(ts)]

    def _free_moment(self, place: Channel) -> int:
        moment = self._now()
        while moment in place.messages:
            moment += 1
        return moment


def _wall_clock() -> int:
    return time.time_ns() // 1_000


def _counting_clock(start: str) -> Callable[[], int]:
    moment = micros(start) - _SECOND

    def now() -> int:
        nonlocal moment
        moment += _SECOND
        return moment

    return now
