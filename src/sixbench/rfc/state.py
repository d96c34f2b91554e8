"""Checks whether what is on a path keeps state of connections."""

from __future__ import annotations

from ..mechanisms.jool import NAT64
from ..model.network import Network


def keeps_state(network: Network) -> bool:
    """True if a node tracks connections or relays them, or a device of others does."""
    return bool(network.tracking or network.relays or has_own_table(network))


def has_own_table(network: Network) -> bool:
    """True if a device of others keeps state in a table that nobody empties before a trial."""
    by_jool = any(device.mapping.get("kind") == NAT64 for device in network.translators)
    return by_jool or any(device.keeps_state for device in network.devices)
