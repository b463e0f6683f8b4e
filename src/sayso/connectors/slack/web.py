"""One Web API call over HTTP: its budget, its count, and its failure as an error of ours.

The SDK never retries here. A read is tried again by whoever needs it; a post may have happened
although its answer was lost, and only reading back can tell.
"""

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Final, Self

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
)
from pydantic import SecretStr
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sayso.connectors.slack.budget import Budget, retry_after
from sayso.connectors.slack.errors import (
    CallRefused,
    PostAmbiguous,
    RateLimited,
    SlackError,
    SlackUnavailable,
)
from sayso.connectors.slack.refusals import RATE_LIMITS, posting_error, reading_error
from sayso.connectors.slack.settings import SlackSettings

Before = Callable[[], Awaitable[None]]
"""Awaited when a call may go out, right before it does; what it raises keeps the call back."""

_LOST: Final = (TimeoutError, ClientError, OSError, UnicodeDecodeError)
_NEVER_SENT: Final = (ClientConnectorError, ConnectionTimeoutError)


class WebApi:
    """The Web API of one workspace. An async context manager, or `close()` it."""

    def __init__(self, *, token: SecretStr, settings: SlackSettings) -> None:
        self._settings = settings
        self._token = token
        self._budget = Budget(calls_per_minute=settings.calls_per_minute)
        self._session: ClientSession | None = None
        self._sdk: AsyncWebClient | None = None
        self.calls = 0
        """Calls sent over HTTP so far."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
        self._session = self._sdk = None

    async def read(self, method: str, **args: str | None) -> Mapping[str, object]:
        """Answer of a call that changes nothing. Raises SlackError, never PostAmbiguous."""
        return (await self.read_with_headers(method, **args))[0]

    async def read_with_headers(
        self, method: str, **args: str | None
    ) -> tuple[Mapping[str, object], Mapping[str, str]]:
        """As `read`, with the answer's headers, their names in lower case."""
        sent = {name: value for name, value in args.items() if value is not None}
        verb = "POST" if method == "auth.test" else "GET"
        await self._budget.admit(method)
        try:
            return await self._call(method, verb=verb, params=sent)
        except SlackApiError as error:
            raise self._refused(method, error, args=sent) from error
        except _LOST as error:
            raise SlackUnavailable(method, f"no answer ({type(error).__name__})") from error
        except (AttributeError, ValueError) as error:
            # the SDK trips over bodies that are no JSON object, text/plain among them
            raise SlackUnavailable(method, "the answer is not a JSON object") from error

    async def post(
        self, method: str, body: Mapping[str, object], *, before: Before | None = None
    ) -> Mapping[str, object]:
        """Answer of a call that posts. Raises PostAmbiguous when it may have happened."""
        await self._budget.admit(method)
        if before is not None:
            # Outside of what follows: an error of its own is no lost answer.
            await before()
        try:
            return (await self._call(method, verb="POST", json=dict(body)))[0]
        except SlackApiError as error:
            raise self._refused(method, error, args=None) from error
        except _NEVER_SENT as error:
            raise SlackUnavailable(method, f"not sent ({type(error).__name__})") from error
        except _LOST as error:
            raise PostAmbiguous(method, f"the answer was lost ({type(error).__name__})") from error
        except (AttributeError, ValueError) as error:
            raise PostAmbiguous(method, "the answer is not a JSON object") from error

    async def _call(
        self,
        method: str,
        *,
        verb: str,
        params: dict[str, str] | None = None,
        json: dict[str, object] | None = None,
    ) -> tuple[Mapping[str, object], Mapping[str, str]]:
        sdk = self._connected()
        self.calls += 1
        answer = await sdk.api_call(method, http_verb=verb, params=params, json=json)
        if not isinstance(answer.data, dict):
            raise ValueError("not a JSON object")
        return answer.data, {name.lower(): value for name, value in answer.headers.items()}

    def _connected(self) -> AsyncWebClient:
        if self._sdk is None:
            # The SDK's own sessions ignore NO_PROXY, and its `timeout` ours.
            timeout = ClientTimeout(total=self._settings.timeout)
            self._session = ClientSession(timeout=timeout, trust_env=True)
            self._sdk = AsyncWebClient(
                token=self._token.get_secret_value(),
                base_url=self._settings.api_url,
                session=self._session,
                retry_handlers=[],
            )
            self._sdk.proxy = None
        return self._sdk

    def _refused(
        self, method: str, error: SlackApiError, *, args: Mapping[str, str] | None
    ) -> SlackError:
        response = error.response
        status = _status(response)
        answer = getattr(response, "data", None)
        if not isinstance(answer, dict):
            answer = {}
        if status == 429 or answer.get("error") in RATE_LIMITS:
            seconds = retry_after(getattr(response, "headers", None) or {})
            self._budget.hold(method, seconds)
            return RateLimited(method, retry_after=seconds)
        if status == 404 and "error" not in answer:
            return CallRefused(method, code="unknown_method")
        if status >= 500 or "error" not in answer:
            lost = f"HTTP {status} without a readable answer"
            if args is None:
                return PostAmbiguous(method, lost)
            return SlackUnavailable(method, lost)
        if args is None:
            return posting_error(method, answer)
        return reading_error(method, answer, args=args)


def _status(response: object) -> int:
    """The SDK's responses name it `status_code`, aiohttp's `status`."""
    for name in ("status_code", "status"):
        value = getattr(response, name, None)
        if isinstance(value, int):
            return value
    return 0
