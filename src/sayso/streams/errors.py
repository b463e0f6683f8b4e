"""Errors of the streams, each saying what an operator does about it."""

from collections.abc import Sequence


class Poison(Exception):
    """A record cannot be decoded or validated.

    It goes to `dead` with its raw bytes and its position. Mend the producer or this build, then
    produce those bytes again.
    """


class Transient(Exception):
    """Something outside failed and will pass; the record is tried again in place."""

    def __init__(self, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds the other side asked us to wait."""


class NotDelivered(Exception):
    """The broker refused a record for good. The message says why."""


class NotDeliveredYet(Transient):
    """The broker did not take a record in time; its sender sends it again."""


class TopicsMismatch(Exception):
    """Topics are missing or differ from what this build needs.

    Run `sayso topics apply`, or mend by hand what it cannot change.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        """One sentence each, naming the topic and the mend."""


class BrokerUnreachable(Exception):
    """No Kafka answers at the bootstrap servers. Start one, or correct `kafka.bootstrap`."""


class BrokerFailed(Exception):
    """The embedded broker could not be prepared or started; the message says why and the mend."""


class UnreadableState(Exception):
    """A table row was written by a build that this one cannot read; it is never overwritten.

    Run the newer build again, or remove the row with it.
    """


class PartitionLost(Exception):
    """A rebalance took the partition while its record was processed.

    Nothing to do: the record is delivered again to whoever owns the partition now.
    """
