"""How many records may die of an unknown error before the worker stops."""

from collections import deque
from typing import Final

WINDOW: Final = 1_000
"""Records over which the ratio is taken."""
_MIN_FOR_RATIO: Final = 50
"""Below this many records a ratio says nothing, and only the consecutive count holds."""


class DeadLimit:
    """Allows a dead letter while the ratio and the consecutive count are within bounds.

    When everything fails the fault is ours, and draining a topic into `dead` would only hide it.
    """

    def __init__(self, *, ratio: float, consecutive: int) -> None:
        self._ratio = ratio
        self._consecutive = consecutive
        self._recent: deque[bool] = deque(maxlen=WINDOW)
        self._in_a_row = 0

    def passed(self) -> None:
        """Count a record that went through."""
        self._recent.append(True)
        self._in_a_row = 0

    def allows_another(self) -> bool:
        """Count a record that would die; False when the worker has to stop instead."""
        self._recent.append(False)
        self._in_a_row += 1
        if self._in_a_row > self._consecutive:
            return False
        if len(self._recent) < _MIN_FOR_RATIO:
            return True
        return self._recent.count(False) / len(self._recent) <= self._ratio
