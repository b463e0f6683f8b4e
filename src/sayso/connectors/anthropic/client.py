"""Asks the model through the Anthropic SDK: one HTTP request per question, bounded.

The SDK takes over a second to import, so it is imported when a client is made.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from pydantic import SecretStr

from sayso.connectors.anthropic.errors import ModelRefusal
from sayso.connectors.anthropic.faults import status_refusal
from sayso.connectors.anthropic.response import MAX_BODY, ModelAnswer, read_response
from sayso.connectors.anthropic.settings import ModelSettings

if TYPE_CHECKING:
    from anthropic._response import AsyncAPIResponse
    from anthropic.types import MessageParam

__all__ = ["ModelAnswer", "ModelClient"]

_CONNECT_SECONDS = 5.0


class ModelClient:
    """One connection pool to one Messages API; an async context manager."""

    def __init__(self, *, key: SecretStr, settings: ModelSettings) -> None:
        """Raises ModelRefusal when the key or the address cannot be used at all."""
        import httpx2
        from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

        # At DEBUG the SDK logs whole requests, and with them people's messages.
        logging.getLogger("anthropic").setLevel(logging.WARNING)
        secret = key.get_secret_value()
        if not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ModelRefusal(
                "the model's API key holds characters that no key has", kind="unauthorised"
            )
        timeout = Timeout(settings.timeout, connect=min(_CONNECT_SECONDS, settings.timeout))
        try:
            self._sdk: AsyncAnthropic = AsyncAnthropic(
                api_key=secret,
                base_url=settings.url,
                timeout=timeout,
                # Every request is an attempt that the feedback row counts, so nothing below the
                # loop repeats one: no retries and no redirects.
                max_retries=0,
                http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False),
            )
        except httpx2.InvalidURL as error:
            raise ModelRefusal("model.url is not an address", kind="unreachable") from error
        self._settings = settings

    async def answer(
        self, *, system: str, prompt: str, schema: Mapping[str, object]
    ) -> ModelAnswer:
        """Ask once for an answer in the shape of a JSON schema. Raises ModelRefusal.

        The schema steers the model and proves nothing: the caller validates the text.
        """
        from anthropic import transform_schema

        settings = self._settings
        shape = transform_schema(dict(schema))
        async with self._named_faults():
            calling = self._sdk.messages.with_streaming_response.create(
                model=settings.name,
                max_tokens=settings.max_tokens,
                system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
                messages=[_user(prompt)],
                output_config={"format": {"type": "json_schema", "schema": shape}},
            )
            async with calling as response:
                body = await _read_bounded(response)
                request_id = response.request_id
        return read_response(body, asked=settings.name, request_id=request_id)

    async def check(self) -> str:
        """Prove that key and model work, as cheaply as the server allows; the model's name.

        Compatible servers seldom have every endpoint, so one that is missing leads to the next
        dearer one, the last being a real question of one token. Raises ModelRefusal.
        """
        try:
            async with self._named_faults():
                return await self._cheapest_proof(self._settings.name)
        except (ValueError, AttributeError, TypeError):
            # The SDK trips over a page that is no API answer with whatever error comes first.
            raise _not_the_api() from None

    async def _cheapest_proof(self, name: str) -> str:
        from anthropic import NotFoundError

        asked = [_user("ping")]
        try:
            found = await self._sdk.models.retrieve(name)
        except NotFoundError:
            pass
        else:
            if not isinstance(found.id, str):
                raise _not_the_api()
            shown = getattr(found, "display_name", None)
            return f"{found.id} ({shown})" if shown else found.id
        try:
            counted = await self._sdk.messages.count_tokens(model=name, messages=asked)
        except NotFoundError:
            said = await self._sdk.messages.create(model=name, max_tokens=1, messages=asked)
            is_proof = isinstance(said.content, list)
        else:
            is_proof = isinstance(counted.input_tokens, int)
        if not is_proof:
            raise _not_the_api()
        return name

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def _named_faults(self) -> AsyncIterator[None]:
        """Bound the time of a whole call and turn what the SDK raises into a ModelRefusal.

        The SDK's error is not chained: it holds the server's body, which may echo what was sent.
        """
        import httpx2
        from anthropic import AnthropicError, APIConnectionError, APIStatusError, APITimeoutError

        seconds = self._settings.timeout
        try:
            async with asyncio.timeout(seconds):
                yield
        except (TimeoutError, APITimeoutError, httpx2.TimeoutException):
            raise ModelRefusal(
                f"the model did not answer within {seconds:g} s", kind="timed out"
            ) from None
        except APIStatusError as error:
            raise status_refusal(error) from None
        except (APIConnectionError, httpx2.TransportError):
            raise ModelRefusal(
                "the model's server cannot be reached or dropped the connection",
                kind="unreachable",
            ) from None
        except httpx2.HTTPError:
            raise ModelRefusal(
                "the model's server sent a body that cannot be decoded", kind="wrong shape"
            ) from None
        except AnthropicError:
            raise ModelRefusal("the Anthropic SDK could not ask the model", kind="failed") from None


def _not_the_api() -> ModelRefusal:
    return ModelRefusal(
        "the address in model.url answers, yet not as the Messages API does", kind="wrong shape"
    )


def _user(text: str) -> "MessageParam":
    return {"role": "user", "content": text}


async def _read_bounded(response: "AsyncAPIResponse[Any]") -> bytes:
    body = bytearray()
    async for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MAX_BODY:
            raise ModelRefusal(
                f"the model's server answered more than {MAX_BODY:,} bytes",
                kind="wrong shape",
                request_id=response.request_id,
            )
    return bytes(body)
