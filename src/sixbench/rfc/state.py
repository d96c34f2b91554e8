"""Whether what is on a path keeps state of connections."""

from __future__ import annotations

from ..mechanisms.jool import NAT64
from ..model.network import Network


def keeps_state(network: Network) -> bool:
    """Whether a node tracks connections or relays them, or a translator of others does."""
    by_others = any(device.mapping.get("kind") == NAT64 for device in network.translators)
    return bool(network.tracking or network.relays or by_others)
