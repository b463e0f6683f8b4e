"""The latest status of every candidate, proposal, task and feedback row."""

from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.feedback import Position
from sayso.schemas.keys import status_key
from sayso.schemas.record import Record

StatusKind = Literal["feedback", "proposal", "task", "candidate", "example"]


class Status(Record):
    """The latest status of one item. Readers apply a record only when its rank is greater."""

    ce_type: ClassVar[str] = "sayso.status.v1"

    org: str
    kind: StatusKind
    id: str
    """Unique within org and kind; for feedback `<channel>:<ts>`."""
    state: str = Field(max_length=40)
    terminal: bool = False
    detail: str | None = Field(default=None, max_length=2_000)
    decision: str | None = None
    at: AwareDatetime | None = None
    epoch: int = 0
    rev: int
    source: Position | None = None

    @property
    def rank(self) -> tuple[int, int, int]:
        """What orders two statuses of one item: epoch, revision, source offset."""
        return (self.epoch, self.rev, self.source.offset if self.source else -1)

    @property
    def key(self) -> str:
        return status_key(self.org, self.kind, self.id)

    @property
    def ce_id(self) -> str:
        return f"{self.org}:{self.kind}:{self.id}:{self.epoch}:{self.rev}"
