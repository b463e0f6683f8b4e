"""What operators did, one record each."""

from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.record import Record

AuditAction = Literal["dead.requeue", "dead.drop"]


class AuditEntry(Record):
    """One action of an operator on one thing."""

    ce_type: ClassVar[str] = "sayso.audit.v1"

    id: str
    org: str
    """`-` when the thing belongs to no org that can be told."""
    action: AuditAction
    target: str
    """What it was done to; a dead letter by its id."""
    target_version: str | None = None
    """Which version of it; of a dead letter its `at`, since a record may die again."""
    by: str = Field(max_length=200)
    """The operator's name on the machine where it was done."""
    reason: str | None = Field(default=None, max_length=2_000)
    at: AwareDatetime

    @property
    def key(self) -> str:
        return self.org

    @property
    def ce_id(self) -> str:
        return self.id
