"""The prefixes that nodes learned of their translators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.evidence import DiscoveredPrefix


def discovered_prefixes(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, DiscoveredPrefix]:
    """What a record keeps of the answers to `prefix-discover`, by node."""
    return {
        node: DiscoveredPrefix(
            prefix=told["prefix"],
            by=told["by"],
            source=told["source"],
            asked=told["asked"],
            took_ns=told["took_ns"],
            others=tuple(told["others"]),
        )
        for node, told in answers.items()
    }
