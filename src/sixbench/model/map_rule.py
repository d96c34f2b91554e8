"""The address arithmetic of MAP (RFC 7597 sections 5 and 6), which MAP-E and MAP-T share: which IPv6 address a customer
edge has by its IPv4 address and port set, and which ports are in the set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

MAX_EA_BITS = 48
"""RFC 7598 section 4.1."""
MAX_PSID_OFFSET = 15
"""RFC 7598 section 4.5."""
DEFAULT_PSID_OFFSET = 6
"""RFC 7597 section 5.1: the system ports are nobody's."""
MAX_END_USER_BITS = 64
"""Bits that leave room for the interface identifier. A longer End-user IPv6 prefix takes the place of its first bits
(RFC 7597 section 6)."""
PORT_BITS = 16
DEFAULT_RULE_PREFIX = "2001:db8:ce00::/42"
"""RFC 3849. With six EA bits, each customer edge has a /48."""
DEFAULT_RULE_IPV4 = "192.0.2.1/32"
"""RFC 5737."""
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
"""RFC 1122 section 3.2.1.3."""
_IPV4_END_BITS = 112
"""End of the IPv4 address in an interface identifier (RFC 7597 section 6)."""


class RuleError(Exception):
    """A rule that cannot be.

    Attributes:
        part: what of it is wrong: `ipv6`, `ipv4`, `ea_bits`, or `psid_offset`.
    """

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


@dataclass(frozen=True, kw_only=True)
class Psid:
    """A Port-Set Identifier that is provisioned: RFC 7598 section 4.5."""

    bits: int
    value: int


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A mapping rule (RFC 7597 section 5).

    Attributes:
        ipv6: the Rule IPv6 prefix.
        ipv4: the Rule IPv4 prefix.
        ea_bits: how many Embedded Address bits follow the Rule IPv6 prefix.
        psid_offset: how many bits of a port precede the PSID. Unless there are none, ports in which they are zero are
            nobody's.
        psid: the port set where no bits embed it.
    """

    ipv6: IPv6Network
    ipv4: IPv4Network
    ea_bits: int
    psid_offset: int
    psid: Psid | None = None

    def check(self, max_end_user_bits: int = MAX_END_USER_BITS) -> None:
        """Raises `RuleError` where the rule cannot be.

        Args:
            max_end_user_bits: how long an End-user IPv6 prefix may be.
        """
        if self.ea_bits > MAX_EA_BITS:
            raise RuleError(f"a rule has at most {MAX_EA_BITS} EA bits (RFC 7598 section 4.1)", "ea_bits")
        if self.end_user_bits > max_end_user_bits:
            room = max_end_user_bits - self.ipv6.prefixlen
            fewer = f"at most {room}, or " if room >= 0 else ""
            raise RuleError(
                f"{self.ea_bits} EA bits behind {self.ipv6} make an End-user IPv6 prefix of {self.end_user_bits} bits, "
                f"and it has at most {max_end_user_bits}: give {fewer}a shorter rule prefix",
                "ea_bits",
            )
        if self.spare_bits and self.end_user_bits > _IPV4_END_BITS - self.spare_bits:
            raise RuleError(
                f"{self.ea_bits} EA bits behind {self.ipv6} leave no room for the last {self.spare_bits} bits of an "
                f"IPv4 address of {self.ipv4}: give a shorter rule prefix",
                "ea_bits",
            )
        if self.psid_offset + self.psid_bits > PORT_BITS:
            raise RuleError(
                f"a PSID of {self.psid_bits} bits behind an offset of {self.psid_offset} leaves no ports: both "
                f"together have at most {PORT_BITS} bits (RFC 7597 section 5.1)",
                "psid_offset" if self.psid_bits <= PORT_BITS else "ea_bits",
            )

    def check_hosts(self, *, allow_reserved: bool = False) -> None:
        """Raises `RuleError` where its addresses cannot be those of hosts.

        Args:
            allow_reserved: whether 240.0.0.0/4 can, which RFC 1112 reserved.
        """
        ipv6, ipv4 = self.ipv6, self.ipv4
        if ipv6.is_multicast or ipv6.is_link_local or ipv6.is_loopback or ipv6.is_unspecified:
            raise RuleError(
                f"the rule prefix {ipv6} is for no hosts; give another one, such as {DEFAULT_RULE_PREFIX}", "ipv6"
            )
        is_nobodys = ipv4.is_multicast or ipv4.is_loopback or ipv4.is_link_local or ipv4.overlaps(_THIS_NETWORK)
        if is_nobodys or (ipv4.is_reserved and not allow_reserved):
            raise RuleError(
                f"the IPv4 prefix {ipv4} is for no hosts; give another one, such as {DEFAULT_RULE_IPV4}", "ipv4"
            )

    def check_apart(self, default: IPv6Network) -> None:
        """Raises `RuleError` where customer edges have addresses of the prefix of the Default Mapping Rule, in which
        IPv4 addresses outside are embedded (RFC 7599 section 5)."""
        if default.overlaps(self.ipv6):
            raise RuleError(
                f"the prefix {default} of the Default Mapping Rule overlaps the rule prefix {self.ipv6}; give one of "
                "them another",
                "ipv6",
            )

    @property
    def suffix_bits(self) -> int:
        """Number of bits of an IPv4 address behind the Rule IPv4 prefix."""
        return 32 - self.ipv4.prefixlen

    @property
    def spare_bits(self) -> int:
        """Number of last bits of IPv4 addresses that a customer edge has to itself, as it has an IPv4 prefix (RFC 7597
        section 5.2)."""
        return max(0, self.suffix_bits - self.ea_bits)

    @property
    def psid_bits(self) -> int:
        """Number of bits of a PSID."""
        return self.psid.bits if self.psid is not None else self._embedded_bits

    @property
    def _embedded_bits(self) -> int:
        """Number of EA bits behind those of the IPv4 address."""
        return max(0, self.ea_bits - self.suffix_bits)

    @property
    def end_user_bits(self) -> int:
        """The length of the End-user IPv6 prefix."""
        return self.ipv6.prefixlen + self.ea_bits

    def psid_of(self, port: int) -> int | None:
        """The port set of a port (RFC 7597 section 5.1); None: no one of this rule."""
        if self.psid_bits == 0:
            return 0
        if self.psid_offset and not port >> (PORT_BITS - self.psid_offset):
            return None
        psid = port >> (PORT_BITS - self.psid_offset - self.psid_bits) & ((1 << self.psid_bits) - 1)
        return psid if self.psid is None or self.psid.value == psid else None

    def ports(self, psid: int) -> Sequence[range]:
        """The ports of a port set, in order (RFC 7597 section 5.1 and appendix B)."""
        offset = self.psid_offset if self.psid_bits else 0
        size = 1 << (PORT_BITS - offset - self.psid_bits)
        starts = (
            (high << (PORT_BITS - offset)) + psid * size
            for high in range(1 if offset else 0, 1 << offset if offset else 1)
        )
        return [range(start, start + size) for start in starts]

    def end_user_prefix(self, ipv4: IPv4Address, psid: int) -> IPv6Network:
        """The End-user IPv6 prefix of a customer edge (RFC 7597 section 5.2)."""
        suffix = (int(ipv4) & ((1 << self.suffix_bits) - 1)) >> self.spare_bits
        ea = (suffix << self._embedded_bits) + (psid if self._embedded_bits else 0)
        return IPv6Network((int(self.ipv6.network_address) + (ea << (128 - self.end_user_bits)), self.end_user_bits))

    def address(self, ipv4: IPv4Address, psid: int) -> IPv6Address:
        """The MAP IPv6 address of a customer edge: in the first subnet of its prefix (RFC 7597 sections 5.2 and 6)."""
        end_user = self.end_user_prefix(ipv4, psid)
        interface = (int(ipv4) << 16) + psid
        return end_user.network_address + (interface & int(end_user.hostmask))

    def to_ipv6(self, ipv4: IPv4Address, port: int) -> IPv6Address | None:
        """The MAP IPv6 address of the customer edge that has an IPv4 address and a port; None: the rule has none."""
        psid = self.psid_of(port) if ipv4 in self.ipv4 else None
        return None if psid is None else self.address(ipv4, psid)

    def to_ipv4(self, ipv6: IPv6Address) -> tuple[IPv4Address, int] | None:
        """The IPv4 address and the port set of a customer edge; None: it is not the MAP IPv6 address of any."""
        pair = self.of_prefix(IPv6Network((ipv6, self.end_user_bits), strict=False))
        if pair is None:
            return None
        first, psid = pair
        ipv4 = first + (int(ipv6) >> (128 - _IPV4_END_BITS) & ((1 << self.spare_bits) - 1))
        return (ipv4, psid) if self.address(ipv4, psid) == ipv6 else None

    def of_prefix(self, prefix: IPv6Network) -> tuple[IPv4Address, int] | None:
        """The IPv4 address and the port set of the customer edge with that End-user IPv6 prefix, or the first address
        of several; None: it is none's."""
        if prefix.prefixlen != self.end_user_bits or not prefix.subnet_of(self.ipv6):
            return None
        ea = int(prefix.network_address) >> (128 - self.end_user_bits) & ((1 << self.ea_bits) - 1)
        psid = ea & ((1 << self._embedded_bits) - 1) if self.psid is None else self.psid.value
        return self.ipv4.network_address + ((ea >> self._embedded_bits) << self.spare_bits), psid

    def provisioned(self, ipv4: IPv4Address, psid: int) -> Rule:
        """The rule that one customer edge alone has (RFC 7597 appendix A, example 5)."""
        return Rule(
            ipv6=self.end_user_prefix(ipv4, psid),
            ipv4=IPv4Network((ipv4, 32 - self.spare_bits), strict=False),
            ea_bits=0,
            psid_offset=self.psid_offset,
            psid=Psid(bits=self.psid_bits, value=psid) if self.psid_bits else None,
        )

    @property
    def protocol_form(self) -> dict[str, object]:
        """As docs/protocol.md has it."""
        answers: dict[str, object] = {
            "ipv6": str(self.ipv6),
            "ipv4": str(self.ipv4),
            "ea_bits": self.ea_bits,
            "psid_offset": self.psid_offset,
        }
        return answers if self.psid is None else answers | {"psid": {"bits": self.psid.bits, "value": self.psid.value}}
