"""The prefixes that nodes learned of their translators, and the packets by which they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model import observation
from ...model.captured import IpHeader, Layer, TransportHeader
from ...model.evidence.devices import DiscoveredPrefix
from ...model.network import Network
from ...model.observation import CaptureAnswer

DNS_PORT = 53
"""RFC 1035 section 4.2."""


def discovered_prefixes(answers: Mapping[str, observation.DiscoveredPrefix]) -> dict[str, DiscoveredPrefix]:
    """What a record keeps of the answers to `prefix-discover`, by node."""
    return {
        node: DiscoveredPrefix(
            prefix=told.prefix,
            by=told.by,
            source=told.source,
            asked=told.asked,
            took_ns=told.took_ns,
            others=tuple(told.others),
        )
        for node, told in answers.items()
    }


def without_questions(network: Network, captures: Sequence[CaptureAnswer]) -> list[CaptureAnswer]:
    """The captures without the CLAT's questions to its resolver and their answers, which are no packets of the path.
    Solicitations and advertisements are between link-local addresses, which are not captured."""
    clat = network.learning
    if clat is None or clat.discovery is None or "resolver" not in clat.discovery.fields:
        return list(captures)
    resolver = clat.discovery.fields["resolver"]
    return [
        capture.model_copy(update={"packets": [one for one in capture.packets if not _asks(one.layers, resolver)]})
        for capture in captures
    ]


def _asks(layers: Sequence[Layer], resolver: str) -> bool:
    match [layer for layer in layers if layer.kind != "ethernet"]:
        case [IpHeader(kind="ipv6") as network, TransportHeader(kind="udp") as transport]:
            to, back = (network.destination, transport.destination_port), (network.source, transport.source_port)
            return (resolver, DNS_PORT) in (to, back)
    return False
