"""A stand-in for Slack: a real HTTP server that behaves as its Web API was observed to, faults
included. What it agrees to proves nothing about Slack itself; the contract suite runs on both.
"""

from sayso.connectors.slack.sandbox.faults import Fault, FaultKind, Faults
from sayso.connectors.slack.sandbox.run import SlackSandbox
from sayso.connectors.slack.sandbox.workspace import Workspace

__all__ = ["Fault", "FaultKind", "Faults", "SlackSandbox", "Workspace"]
