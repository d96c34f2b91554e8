"""The packets that the kernel dropped during a trial, and those that rulesets counted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ...model.observation import Drop


@dataclass(kw_only=True)
class Drops:
    """The drops that were seen.

    Attributes:
        reports: the agent's answer to `drops-stop`; None: the kernel did not report.
        not_told: why it did not.
        rules_before, rules_after: packets that each named counter of a node's ruleset counted, by node.
    """

    reports: list[Drop] | None = None
    not_told: str | None = None
    rules_before: dict[str, dict[str, int]] = field(default_factory=dict)
    rules_after: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def rules(self) -> dict[str, dict[str, int]]:
        """The packets that each named counter of a node counted in the trial, where there were any."""
        rises = {
            node: {name: count - self.rules_before.get(node, {}).get(name, 0) for name, count in counters.items()}
            for node, counters in self.rules_after.items()
        }
        numbers = {
            node: {name: rise for name, rise in counters.items() if rise > 0} for node, counters in rises.items()
        }
        return {node: counters for node, counters in numbers.items() if counters}


def read_counters(listed: str) -> dict[str, int]:
    """Packets by counter, from the output of `nft -j list counters`."""
    try:
        items = json.loads(listed)["nftables"]
        counters = [item["counter"] for item in items if "counter" in item]
        return {str(counter["name"]): int(counter["packets"]) for counter in counters}
    except (KeyError, TypeError, ValueError):
        return {}
