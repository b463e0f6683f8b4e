"""Settings of Kafka and of the worker."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class KafkaSettings(BaseModel):
    """Section `[kafka]`. Passwords come from `SAYSO_KAFKA_PASSWORD` or a file, never from here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bootstrap: str = "127.0.0.1:9092"
    """Comma-separated host:port pairs."""
    prefix: str = Field(default="", pattern=r"^[a-zA-Z0-9._-]{0,60}$")
    """Put before every topic and the consumer group, so that deployments can share a cluster."""
    partitions: int = Field(default=12, ge=1, le=1_000)
    """Of every topic. It cannot grow once tables exist."""
    replication: int = Field(default=1, ge=1, le=9)
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None


class WorkerSettings(BaseModel):
    """Section `[worker]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tick_interval: float = Field(default=60.0, ge=1, le=86_400)
    """Seconds between scheduled ticks of a channel, jittered by a tenth."""
    transient_tries: int = Field(default=5, ge=1, le=100)
    """How often a record is tried in place before a passing error counts as unknown."""
    transient_wait: float = Field(default=30.0, gt=0, le=600)
    """The most seconds one such pause may take, Retry-After included."""
    dead_ratio: float = Field(default=0.1, ge=0, le=1)
    """Share of records that may die of an unknown error before the worker stops."""
    stuck_after: float = Field(default=600.0, ge=30, le=86_400)
    """Seconds without any progress on a partition that has work after which the worker stops."""
    dead_consecutive: int = Field(default=5, ge=1, le=10_000)
    """Records in a row that may die of an unknown error before the worker stops."""
