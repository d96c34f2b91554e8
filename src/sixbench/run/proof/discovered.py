"""The prefixes that nodes learned of their translators, and the packets by which they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...model.evidence.devices import DiscoveredPrefix
from ...model.network import Network

DNS_PORT = 53
"""RFC 1035 section 4.2."""


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


def without_questions(network: Network, captures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The captures without the CLAT's questions to its resolver and their answers, which are no packets of the path.
    Solicitations and advertisements are between link-local addresses, which are not captured."""
    clat = network.learning
    if clat is None or clat.discovery is None or "resolver" not in clat.discovery.fields:
        return list(captures)
    resolver = clat.discovery.fields["resolver"]
    return [
        {**capture, "packets": [one for one in capture.get("packets") or [] if not _asks(one["layers"], resolver)]}
        for capture in captures
    ]


def _asks(layers: Sequence[Mapping[str, Any]], resolver: str) -> bool:
    kinds = [layer["kind"] for layer in layers if layer["kind"] != "ethernet"]
    if kinds != ["ipv6", "udp"]:
        return False
    network, transport = layers[-2:]
    return (network.get("destination"), transport.get("destination_port")) == (resolver, DNS_PORT) or (
        network.get("source"),
        transport.get("source_port"),
    ) == (resolver, DNS_PORT)
