"""Captured packets by their headers, as agents tell of them and evidence keeps them (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from .form import Flag, Kept, Name, Natural
from .headers import IP_HEADERS


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment(Kept):
    """The place of a fragment in its packet."""

    offset_bytes: Natural
    more: Flag
    identification: Natural | None = None

    @property
    def is_atomic(self) -> bool:
        """True if it is the whole packet, which has a Fragment header all the same (RFC 6946)."""
        return self.offset_bytes == 0 and not self.more


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer(Kept):
    """A header of a captured packet, or the rest that was not decoded. The kinds of which records keep more have a
    class of their own. docs/protocol.md says what each kind has.

    Attributes:
        bytes: the length of the header, or of the rest.
    """

    kind: Name
    bytes: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IpHeader(Layer):
    """`ipv4` and `ipv6`.

    Attributes:
        hop_limit: also the TTL of IPv4.
        protocol: the number of what follows, behind extension headers.
    """

    source: Name | None = None
    destination: Name | None = None
    total_bytes: Natural | None = None
    hop_limit: Natural | None = None
    traffic_class: Natural | None = None
    flow_label: Natural | None = None
    protocol: Natural | None = None
    dont_fragment: Flag | None = None
    extensions: Annotated[tuple[Name, ...], Field(max_length=100)] | None = None
    fragment: Fragment | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TransportHeader(Layer):
    """`tcp` and `udp`.

    Attributes:
        payload_bytes: of the whole datagram or segment, of which the packet may be a fragment.
    """

    source_port: Natural | None = None
    destination_port: Natural | None = None
    payload_bytes: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IcmpHeader(Layer):
    """`icmp` and `icmpv6`.

    Attributes:
        payload_bytes: as of `TransportHeader`.
        identifier, sequence: of echoes.
        mtu_bytes: of Packet Too Big and Fragmentation Needed.
    """

    type: Natural | None = None
    code: Natural | None = None
    payload_bytes: Natural | None = None
    identifier: Natural | None = None
    sequence: Natural | None = None
    mtu_bytes: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherLayer(Layer):
    """All other kinds that have more than a length.

    Attributes:
        protocol_type, key: of `gre`.
        vni: of `vxlan`.
        vlan_id, priority: of `vlan`.
        operation, sender, target: of `arp`.
        message, wants_v6only, v6only_wait_s: of `dhcp`.
        after, number: what an `unknown` layer came after, and its EtherType or protocol.
        of, reason: of what was `truncated` or `malformed`.
    """

    protocol_type: Natural | None = None
    key: Natural | None = None
    vni: Natural | None = None
    vlan_id: Natural | None = None
    priority: Natural | None = None
    operation: Natural | None = None
    sender: Name | None = None
    target: Name | None = None
    message: Name | None = None
    wants_v6only: Flag | None = None
    v6only_wait_s: Natural | None = None
    after: Name | None = None
    number: Natural | None = None
    of: Name | None = None
    reason: Name | None = None


def vlan_id_of(layers: Iterable[Layer]) -> int | None:
    """The number of the VLAN whose tag a frame has: of several, of the outermost one. None: it is in none, as a frame
    whose tag has a priority alone (IEEE 802.1Q table 9-2)."""
    for layer in layers:
        if isinstance(layer, OtherLayer) and layer.kind == "vlan":
            return layer.vlan_id or None
        if layer.kind in IP_HEADERS:
            return None
    return None


_LAYERS: Mapping[str, str] = {
    **dict.fromkeys(IP_HEADERS, IpHeader.__name__),
    **dict.fromkeys(("tcp", "udp"), TransportHeader.__name__),
    **dict.fromkeys(("icmp", "icmpv6"), IcmpHeader.__name__),
    **dict.fromkeys(("gre", "vxlan", "vlan", "arp", "dhcp", "unknown", "truncated", "malformed"), OtherLayer.__name__),
}
"""The classes of layers by kind. All other kinds have none of their own."""


def _layer_class(layer: Any) -> str:
    kind = layer.get("kind") if isinstance(layer, dict) else getattr(layer, "kind", None)
    return _LAYERS.get(kind, Layer.__name__) if isinstance(kind, str) else Layer.__name__


AnyLayer = Annotated[
    Annotated[Layer, Tag("Layer")]
    | Annotated[IpHeader, Tag("IpHeader")]
    | Annotated[TransportHeader, Tag("TransportHeader")]
    | Annotated[IcmpHeader, Tag("IcmpHeader")]
    | Annotated[OtherLayer, Tag("OtherLayer")],
    Discriminator(_layer_class),
]
"""A layer of the class that its kind has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPacket(Kept):
    """A captured packet by its headers, outermost first."""

    wire_bytes: Natural
    layers: Annotated[tuple[AnyLayer, ...], Field(max_length=100)]
