"""The base of every record on a topic: frozen, versioned, tolerant of fields added later."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A frozen piece of a record, without a version of its own."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Record(Part, ABC):
    """One record's value.

    `schema_version` rises only with a change that older readers cannot read; a field that is
    added with a default does not raise it. A reader refuses a version it does not know.
    """

    ce_type: ClassVar[str]
    """The CloudEvents type of this record, `sayso.<what>.v<version>`."""

    schema_version: Literal[1] = 1

    @property
    @abstractmethod
    def key(self) -> str:
        """The Kafka key."""

    @property
    @abstractmethod
    def ce_id(self) -> str:
        """The CloudEvents id: a function of the facts, so that a copy has the same one."""
