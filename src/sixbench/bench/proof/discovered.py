"""The prefixes that nodes learned of their translators, and the packets by which they did, and by which they were told
to do without IPv4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model import observation
from ...model.captured import IpHeader, Layer, OtherLayer, TransportHeader
from ...model.device import Discovery
from ...model.evidence.discovery import DhcpSeen, DiscoveredPrefix, WithoutIpv4
from ...model.network import Network
from ...model.observation import CaptureAnswer, Packet
from ...model.reason import Reason, ReasonKind
from .viewpoints import Viewpoint

DNS_PORT = 53
"""RFC 1035 section 4.2."""

SHOWN_MESSAGES = 2
"""Number of packets of DHCP in the record: a question and its answer."""


def discovered_prefixes(answers: Mapping[str, observation.DiscoveredPrefixAnswer]) -> dict[str, DiscoveredPrefix]:
    """The record's part of the answers to `prefix-discover`, by node, each with that to `dhcp-ask`."""
    return {
        node: DiscoveredPrefix(
            prefix=discovered_prefix.prefix,
            by=discovered_prefix.by,
            source=discovered_prefix.source,
            asked=discovered_prefix.asked,
            took_ns=discovered_prefix.took_ns,
            others=tuple(discovered_prefix.others),
            dhcp=_without_ipv4(discovered_prefix.dhcp),
        )
        for node, discovered_prefix in answers.items()
    }


def _without_ipv4(without_ipv4: observation.WithoutIpv4Answer | None) -> WithoutIpv4 | None:
    if without_ipv4 is None:
        return None
    return WithoutIpv4(
        server=without_ipv4.server,
        offered=without_ipv4.offered,
        wait_s=without_ipv4.wait_s,
        asked=without_ipv4.asked,
        took_ns=without_ipv4.took_ns,
    )


def without_questions(network: Network, captures: Sequence[CaptureAnswer]) -> list[CaptureAnswer]:
    """The captures without the CLAT's questions to its resolver and by DHCP, and their answers, which are no packets of
    the path. Solicitations and advertisements are between link-local addresses, which are not captured."""
    clat = network.learning
    if clat is None or clat.discovery is None:
        return list(captures)
    discovery = clat.discovery
    return [
        capture.model_copy(
            update={"packets": [packet for packet in capture.packets if not _asks(packet.layers, discovery)]}
        )
        for capture in captures
    ]


def dhcp_evidence(
    network: Network, views: Sequence[Viewpoint], captures: Sequence[CaptureAnswer] | None
) -> tuple[DhcpSeen | None, list[Reason]]:
    """The DHCP that was seen on the CLAT's link while it was brought up, and the reasons against the trial: the CLAT
    must have asked for option 108 (RFC 8925), been answered with it, and asked for no address. None where it does not
    ask.

    Args:
        captures: of a trial in which the CLAT was brought up; None: it was not.
    """
    clat = network.learning
    if captures is None or clat is None or clat.discovery is None or clat.discovery.dhcp is None:
        return None, []
    device = clat.discovery.dhcp["device"]
    seen: list[tuple[str, Packet]] = []
    place = ""
    for view, capture in zip(views, captures, strict=True):
        if not any((end.node, end.name) == (clat.node, device) for end in view.link.ends):
            continue
        place = f"on {view.link.name} at {view.end.node}"
        for packet in capture.packets:
            seen += [(_named(layer), packet) for layer in packet.layers if _is_dhcp(layer)]
    messages = {name: sum(text == name for text, _ in seen) for name in dict.fromkeys(name for name, _ in seen)}
    due = ("discover for option 108", "offer with option 108")
    reasons = [
        Reason(kind=ReasonKind.NOT_SEEN, text=f"no DHCP message was seen {place} that is a {name}")
        for name in due
        if name not in messages
    ]
    reasons += [
        Reason(kind=ReasonKind.OTHER_PATH, text=f"{count} messages of DHCP seen {place} were {name}: IPv4 is asked for")
        for name, count in messages.items()
        if name not in due
    ]
    return DhcpSeen(messages=messages, packets=tuple(packet.kept for _, packet in seen[:SHOWN_MESSAGES])), reasons


def _is_dhcp(layer: Layer) -> bool:
    return layer.kind == "dhcp"


def _named(layer: Layer) -> str:
    """The type of a message, and whether option 108 is in it or asked for."""
    assert isinstance(layer, OtherLayer), "a message of DHCP is one"
    if layer.wants_v6only:
        return f"{layer.message} for option 108"
    return str(layer.message) + (" with option 108" if layer.v6only_wait_s is not None else "")


def _asks(layers: Sequence[Layer], discovery: Discovery) -> bool:
    if discovery.dhcp is not None and layers and _is_dhcp(layers[-1]):
        return True
    resolver = discovery.fields.get("resolver")
    if resolver is None:
        return False
    match [layer for layer in layers if layer.kind != "ethernet"]:
        case [IpHeader(kind="ipv6") as network, TransportHeader(kind="udp") as transport]:
            to, back = (network.destination, transport.destination_port), (network.source, transport.source_port)
            return (resolver, DNS_PORT) in (to, back)
    return False
