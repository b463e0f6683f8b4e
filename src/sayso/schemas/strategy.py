"""Decisions and the strategic fields they change."""

from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, Field

from sayso.schemas.keys import decision_key, field_key
from sayso.schemas.record import Part, Record
from sayso.schemas.ts import Ts

FieldValue = (
    Annotated[str, Field(max_length=4_000)]
    | Annotated[tuple[Annotated[str, Field(max_length=4_000)], ...], Field(max_length=100)]
    | Annotated[int | float, Field(allow_inf_nan=False)]
)
"""A text, a list of texts, or a finite number."""

Reversibility = Literal["reversible", "costly", "irreversible", "unknown"]


class FieldChange(Part):
    """One strategic field and its new value."""

    field: str = Field(max_length=100)
    value: FieldValue


class Conclusion(Part):
    """The model's answer after validation: what a reply decides."""

    is_decision: bool
    title: str = Field(max_length=200)
    statement: str = Field(max_length=4_000)
    rationale: str = Field(max_length=4_000)
    quote: str = Field(max_length=4_000)
    """The words of the reply that decide."""
    products: tuple[str, ...] = Field(default=(), max_length=50)
    initiatives: tuple[str, ...] = Field(default=(), max_length=50)
    reversibility: Reversibility = "unknown"
    confidence: float = Field(ge=0, le=1)
    changes: tuple[FieldChange, ...] = Field(default=(), max_length=50)


class Superseded(Part):
    """A field's earlier value that a decision replaced, or a later one that outranks it."""

    field: str
    decision: str


class StrategyRequest(Record):
    """Asks the owner of an org's strategy to apply one reply's conclusion, all of it or nothing."""

    ce_type: ClassVar[str] = "sayso.strategy.request.v1"

    decision: str
    """Id of the decision, from the row and its revision."""
    row: str
    revision: int
    org: str
    channel: str
    ts: Ts
    thread: Ts
    decided_by: str
    decided_at: AwareDatetime
    conclusion: Conclusion
    model: str
    prompt_version: str

    @property
    def key(self) -> str:
        return self.org

    @property
    def ce_id(self) -> str:
        return f"{self.decision}:request"


class Decision(Record):
    """What one processed reply settled, with the evidence."""

    ce_type: ClassVar[str] = "sayso.decision.v1"

    id: str
    row: str
    revision: int
    org: str
    channel: str
    ts: Ts
    thread: Ts
    decided_by: str
    decided_at: AwareDatetime
    """When the reply was posted, by Slack's clock."""
    title: str
    statement: str
    rationale: str
    quote: str
    products: tuple[str, ...] = ()
    initiatives: tuple[str, ...] = ()
    reversibility: Reversibility = "unknown"
    confidence: float
    changes: tuple[FieldChange, ...] = ()
    supersedes: tuple[Superseded, ...] = ()
    """Fields that an earlier reply had set."""
    outranked_by: tuple[Superseded, ...] = ()
    """Changes that did not take effect since a later reply already set the field."""
    model: str
    prompt_version: str

    @property
    def key(self) -> str:
        return decision_key(self.org, self.id)

    @property
    def ce_id(self) -> str:
        return self.id


class StrategyValue(Record):
    """A strategic field's current value and the reply that set it."""

    ce_type: ClassVar[str] = "sayso.strategy.value.v1"

    org: str
    field: str
    value: FieldValue
    decision: str
    channel: str
    ts: Ts
    decided_by: str

    @property
    def key(self) -> str:
        return field_key(self.org, self.field)

    @property
    def ce_id(self) -> str:
        return f"{self.decision}:{self.field}"
