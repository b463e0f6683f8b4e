"""Trying again while an error passes, without a word: standard output belongs to the command."""

from collections.abc import Callable, Iterable

import stamina


def patiently(
    *, on: type[Exception] | Callable[[Exception], bool], timeout: float
) -> Iterable[stamina.Attempt]:
    """Attempts, each a context manager, while `on` holds for the error, for `timeout` seconds."""
    # By default every retry is logged, and to standard output at that.
    stamina.instrumentation.set_on_retry_hooks(())
    return stamina.retry_context(on=on, timeout=timeout, attempts=None, wait_max=1.0)
