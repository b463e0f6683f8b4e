"""The owner of each org's strategy: applies conclusions one after the other."""

from typing import Final

from sayso.agents.strategy.rules import OrgStrategy, apply, current_values, decide
from sayso.schemas.keys import decision_key, message_key
from sayso.schemas.strategy import Decision, StrategyRequest
from sayso.streams.app import Pipeline
from sayso.streams.delivery import Delivery
from sayso.streams.tables import ModelTable

STRATEGIES: Final = "strategies"
DECIDED: Final = "decided"


class StrategyAgent:
    """Settles requests, keyed by org."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._strategies = ModelTable(pipeline.app, name=STRATEGIES, model=OrgStrategy)
        self._decided = ModelTable(pipeline.app, name=DECIDED, model=Decision)
        pipeline.consume(
            "strategy.requests", StrategyRequest, self.on_request, name="strategy.apply"
        )

    async def on_request(self, request: StrategyRequest, delivery: Delivery) -> None:
        """Apply a request once; a copy sends the same records again."""
        key = decision_key(request.org, request.decision)
        strategy = self._strategies.get(request.org) or OrgStrategy()
        decision = self._decided.get(key)
        if decision is None:
            decision = decide(strategy, request)
        # Which values a decision superseded cannot be told once it is applied, so it is kept first.
        self._decided.put(key, decision)
        await delivery.settle()
        await delivery.confirm_mine()
        strategy = apply(strategy, decision)
        self._strategies.put(request.org, strategy)
        await delivery.emit("decisions", decision)
        for value in current_values(strategy, decision):
            await delivery.emit("strategy", value)
        # The row becomes `processed` on this record, so it goes out after what it stands for.
        await delivery.settle()
        await delivery.emit(
            "strategy.applied",
            decision,
            key=message_key(decision.org, decision.channel, decision.ts),
        )
