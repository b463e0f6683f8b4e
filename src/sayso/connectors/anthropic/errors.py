"""Why the model gave no usable answer."""

from typing import Literal

RefusalKind = Literal[
    "truncated",
    "declined",
    "wrong shape",
    "overloaded",
    "rate limited",
    "timed out",
    "unreachable",
    "unauthorised",
    "failed",
]


class ModelRefusal(Exception):
    """The model was asked once and gave no usable answer.

    The message is one sentence without secrets and without any of the text that was sent or
    received. What an operator does depends on `kind`:

    - `truncated`: raise `model.max_tokens`, or look at a reply that is unusually long.
    - `declined`: the model refused to read the reply; read it and decide by hand.
    - `wrong shape`: the server at `model.url` answered something else than the Messages API
      does; check the address and any proxy in front of it.
    - `overloaded`, `rate limited`: nothing, the next attempt waits at least `retry_after`; if it
      goes on, raise the account's limits or poll less often.
    - `timed out`: raise `model.timeout`, or look at the network.
    - `unreachable`: check `model.url`, name resolution, proxy and firewall.
    - `unauthorised`: set `ANTHROPIC_API_KEY` (or `model.key_file`) to a valid key that may use
      the model.
    - `failed`: the sentence names the HTTP status; quote the request id to the provider.
    """

    def __init__(
        self,
        sentence: str,
        *,
        kind: RefusalKind,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(sentence)
        self.kind: RefusalKind = kind
        self.retry_after = retry_after
        """Seconds until the server wants to be asked again, where it said so."""
        self.request_id = request_id
