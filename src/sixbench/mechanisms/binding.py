"""The table of a node where softwires end whose subscribers share addresses: the softwire of each address and port (RFC
7596 section 6, RFC 7597 section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from ..model.map_rule import PORT_BITS
from .dslite import Subscriber

_ERRORS = "icmp type { destination-unreachable, time-exceeded, parameter-problem }"
_ECHOES = "icmp type { echo-request, echo-reply }"
_WITH_PORTS = "meta l4proto { tcp, udp }"
_PORT_OF_QUOTED = "@th,224,16"
"""The source port of the packet in an ICMP error."""


@dataclass(frozen=True, kw_only=True)
class PortRange:
    """Ports from one to another."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"

    def having(self, field: str) -> str:
        """The condition of nft(8) for a field with a port of the range."""
        return f" {field} {self}"


@dataclass(frozen=True, kw_only=True)
class PortSet:
    """The ports of a PSID (RFC 7597 section 5.1).

    Attributes:
        lowest: no port below it is in any set.
        mask: the bits of a port that are the PSID.
        value: these bits.
    """

    lowest: int
    mask: int
    value: int

    @classmethod
    def of(cls, bits: int, value: int, offset: int) -> PortSet:
        """The set of a PSID of so many bits, behind so many others, which are not all zero."""
        offset = offset if bits else 0
        shift = PORT_BITS - offset - bits
        lowest = 1 << (PORT_BITS - offset) if offset else 0
        return cls(lowest=lowest, mask=((1 << bits) - 1) << shift, value=value << shift)

    def having(self, field: str) -> str:
        """The condition of nft(8) for a field with a port of the set."""
        least = f" {field} >= {self.lowest}" if self.lowest else ""
        return least + (f" {field} & {self.mask:#06x} == {self.value:#06x}" if self.mask else "")


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A row of the table. A subscriber may have several.

    Attributes:
        address: that the subscriber has, maybe with others.
        ports: that it alone has.
    """

    subscriber: Subscriber
    address: IPv4Address
    ports: PortRange | PortSet


def binding_table(name: str, shared: IPv4Address | IPv4Network | str, bindings: Sequence[Binding]) -> str:
    """The ruleset of the table. `shared`: the addresses that subscribers have, or a set of nft(8) with them.

    Answers go to the softwire whose set has their port. Of ICMP errors, the port in the packet inside counts (RFC 7596
    section 8.1, RFC 7597 section 8.2). Packets from a softwire have its address and ports, or are dropped (RFC 7596
    section 6.2, RFC 7597 section 8.1). Nothing else goes into a softwire: nobody outside reaches a subscriber by the
    well-known address of its B4. Linux puts fragments together before that, because connections are tracked.
    """
    marks, checks = [], []
    addresses: dict[str, list[IPv4Address]] = {}
    for binding in bindings:
        mark, device = f"meta mark set {binding.subscriber.number}", f'iifname "{binding.subscriber.device}"'
        addresses.setdefault(device, []).append(binding.address)
        to, of, ports = f"ip daddr {binding.address}", f"ip saddr {binding.address}", binding.ports
        marks += [
            f"{to} {_WITH_PORTS}{ports.having('th dport')} {mark}",
            f"{to} {_ECHOES}{ports.having('icmp id')} {mark}",
            f"{to} {_ERRORS}{ports.having(_PORT_OF_QUOTED)} {mark}",
        ]
        checks += [
            f"{device} {of} {_WITH_PORTS}{ports.having('th sport')} accept",
            f"{device} {of} {_ECHOES}{ports.having('icmp id')} accept",
        ]
    for device, address in addresses.items():
        others = f"{device} ip saddr != {{ {', '.join(map(str, dict.fromkeys(address)))} }}"
        checks += [f"{text} counter drop" for text in (f"{device} {_WITH_PORTS}", f"{device} {_ECHOES}", others)]
    devices = ", ".join(dict.fromkeys(f'"{item.subscriber.device}"' for item in bindings))
    lines = ["\n".join(f"    {line}" for line in lines) for lines in (marks, checks)]
    return f"""table ip {name} {{
  chain answers {{
    type filter hook prerouting priority mangle; policy accept;
{lines[0]}
  }}
  chain binding {{
    type filter hook forward priority filter; policy accept;
    ct state invalid counter drop
    ip daddr {shared} meta mark 0 counter drop
    oifname {{ {devices} }} ip daddr != {shared} counter drop
{lines[1]}
  }}
}}
"""
