"""Deterministic ids: UUIDv5 of the source facts, so that a retry and a second host agree."""

from typing import Final
from uuid import UUID, uuid5

NAMESPACE: Final = UUID("6f4f8b0e-2c5b-5f0e-9c1d-0a7f3f6f5a10")
"""Namespace of every id below. Changing it changes every id."""


def row_id(org: str, channel: str, ts: str) -> str:
    """Id of the feedback row of one reply."""
    return str(uuid5(NAMESPACE, f"feedback/{org}/{channel}/{ts}"))


def decision_id(row: str, revision: int) -> str:
    """Id of the decision that a row's revision settled."""
    return str(uuid5(NAMESPACE, f"decision/{row}/{revision}"))


def effect_id(kind: str, *cause: str) -> str:
    """Id of an effect: its kind and what caused it."""
    return str(uuid5(NAMESPACE, "/".join(("effect", kind, *cause))))


def tick_id(org: str, channel: str, occasion: str) -> str:
    """Id of a tick; two schedulers that reach the same time slot make the same id."""
    return str(uuid5(NAMESPACE, f"tick/{org}/{channel}/{occasion}"))


def message_id(org: str, channel: str, ts: str, version: str | None) -> str:
    """Id of one version of a message: `version` is the ts of its last edit, or `deleted`."""
    base = f"slack:{org}:{channel}:{ts}"
    return base if version is None else f"{base}:{version}"


def audit_id(action: str, target: str, version: str) -> str:
    """Id of an operator's action; done twice to the same version, it is the same action."""
    return str(uuid5(NAMESPACE, f"audit/{action}/{target}/{version}"))
