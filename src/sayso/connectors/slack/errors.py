"""Errors of the Slack connector, each saying what an operator does about it.

No message holds a token or a message's text.
"""


class SlackError(Exception):
    """Anything Slack, or the way to it, refused. `method` is the Web API method."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(f"{method}: {reason}")
        self.method = method


class RateLimited(SlackError):
    """The method's budget is spent; nothing was done. It passes by itself.

    When it does not: lower `slack.calls_per_minute`, or see what else uses the same app.
    """

    def __init__(self, method: str, *, retry_after: float) -> None:
        super().__init__(method, f"rate limited; to be called again in {retry_after:.1f} s")
        self.retry_after = retry_after
        """Seconds until the method may be called again."""


class SlackUnavailable(SlackError):
    """Slack gave no usable answer and nothing was done. It passes by itself.

    When it does not: check the network and `slack.api_url`.
    """


class PostAmbiguous(SlackError):
    """A post may or may not have happened: read back before it is sent again.

    Nothing to do by hand, unless it repeats: then look at the thread in Slack.
    """


class SlackDenied(SlackError):
    """The token is not accepted, for any method. Install the app again and set the new token."""

    def __init__(self, method: str, *, code: str) -> None:
        super().__init__(method, f"Slack does not accept the token ({code}); set a valid one")
        self.code = code


class MissingScope(SlackError):
    """The token may not do this. Add the scope to the app and install it again."""

    def __init__(self, method: str, *, code: str, needed: str, provided: str) -> None:
        wanted = f"the scope {needed}" if needed else "a right that it was not given"
        super().__init__(method, f"the token lacks {wanted} ({code}); add it and reinstall the app")
        self.code = code
        self.needed = needed
        """Scopes Slack names as needed, comma-separated; may be empty."""
        self.provided = provided
        """Scopes the token has, comma-separated; may be empty."""


class ChannelUnreadable(SlackError):
    """The channel cannot be read. Invite the bot, or take the channel out of the settings."""

    def __init__(self, method: str, *, code: str, channel: str) -> None:
        super().__init__(method, f"the channel {channel} cannot be read ({code}); invite the bot")
        self.code = code
        self.channel = channel


class ThreadGone(SlackError):
    """The thread's root was deleted, or never was. Its watch can be closed."""

    def __init__(self, method: str, *, channel: str, thread_ts: str) -> None:
        super().__init__(method, f"there is no thread {thread_ts} in {channel}")
        self.channel = channel
        self.thread_ts = thread_ts


class UserGone(SlackError):
    """Slack does not know the user, or does not show them to us. Nothing to do."""


class WindowLost(SlackError):
    """Slack no longer takes the page cursor it gave. The window is read again from its start."""


class SlackMalformed(SlackError):
    """Slack answered in a shape that this build cannot read. Report it with the method's name."""


class CallRefused(SlackError):
    """Slack refused a call as wrong, which is a fault of this build. Report it with its code."""

    def __init__(self, method: str, *, code: str) -> None:
        super().__init__(method, f"Slack refused the call ({code})")
        self.code = code


class PostRefused(SlackError):
    """Slack will not take this post, however often it is sent.

    Mend what the code names (`is_archived`: unarchive the channel; `not_in_channel`: invite the
    bot) and requeue it. `thread_gone`: the thread it was meant for does not exist any more.
    """

    def __init__(self, method: str, *, code: str, posted_ts: str | None = None) -> None:
        stray = f"; it stands outside the thread as {posted_ts}" if posted_ts else ""
        super().__init__(method, f"the post was refused ({code}){stray}")
        self.code = code
        self.posted_ts = posted_ts
        """With `thread_gone`: where the post went, when Slack put it outside the thread."""
