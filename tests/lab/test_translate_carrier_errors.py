"""ICMP errors about outer packets, of which a router quotes as much as it likes, from 28 bytes on: the core and the
device tell the source of the packet inside, and remember what the path takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from ip_packets import ICMP, ICMPV6
from lab.commands import with_exit
from lab.packet_cases import ERROR_SOURCES, FROM_LOCAL4, FROM_LOCAL6, IN4, IN6, TUNNEL4, TUNNEL6
from lab.packets import DF, Ends, as_compared, error, in4, in6, udp
from packets_through import packets_through

IN_6TO4 = Ends(source="2002:cb00:7101::1", destination="2002:cb00:7102::1")
IN_6RD = Ends(source="2001:db8:cb00:7101::1", destination="2001:db8:cb00:7102::1")


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """An end of a tunnel, with the ends of outer and of inner packets."""

    words: Sequence[str]
    outer: Ends
    inner: Ends
    protocol: int
    gre: bytes = b""

    @property
    def headers(self) -> int:
        """Number of bytes before the packet inside."""
        return (20 if "." in self.outer.source else 40) + len(self.gre)

    @property
    def inner_header(self) -> int:
        return 20 if "." in self.inner.source else 40

    def inside(self, length: int) -> bytes:
        payload = udp(self.inner, length - self.inner_header)
        return in4(self.inner, payload, flags=DF) if self.inner_header == 20 else in6(self.inner, payload)

    def sent(self, packet: bytes) -> bytes:
        """A packet as it left this end."""
        of_family = in4 if "." in self.outer.source else in6
        return of_family(self.outer, self.gre + packet, self.protocol)

    def errors_about(self, quoted: bytes, *, mtu_bytes: int | None = None) -> bytes:
        """A router's error: that the other end is unreachable, or what MTU its link has."""
        if "." in self.outer.source:
            ends = Ends(source="203.0.113.99", destination=self.outer.source)
            kind = (3, 1, 0) if mtu_bytes is None else (3, 4, mtu_bytes)
            return in4(ends, error(ends, *kind, quoted), ICMP)
        ends = Ends(source="2001:db8:f::99", destination=self.outer.source)
        kind = (1, 3, 0) if mtu_bytes is None else (2, 0, mtu_bytes)
        return in6(ends, error(ends, *kind, quoted), ICMPV6)


GRE4, GRE6 = b"\0\0\x08\0", b"\0\0\x86\xdd"
TUNNELS = {
    "6in4": Tunnel(words=("6in4", *FROM_LOCAL4, *ERROR_SOURCES[2:]), outer=TUNNEL4.back, inner=IN6, protocol=41),
    "6to4": Tunnel(
        words=("6to4", "--local", "203.0.113.1", *ERROR_SOURCES[2:]), outer=TUNNEL4.back, inner=IN_6TO4, protocol=41
    ),
    "6rd": Tunnel(
        words=("6rd", "--local", "203.0.113.1", "--prefix", "2001:db8::/32", *ERROR_SOURCES[2:]),
        outer=TUNNEL4.back,
        inner=IN_6RD,
        protocol=41,
    ),
    "4in6": Tunnel(words=("4in6", *FROM_LOCAL6, *ERROR_SOURCES[:2]), outer=TUNNEL6.back, inner=IN4, protocol=4),
    "gre, IPv4": Tunnel(
        words=("gre", *FROM_LOCAL4, *ERROR_SOURCES), outer=TUNNEL4.back, inner=IN4, protocol=47, gre=GRE4
    ),
    "gre, IPv6": Tunnel(
        words=("gre", *FROM_LOCAL4, *ERROR_SOURCES), outer=TUNNEL4.back, inner=IN6, protocol=47, gre=GRE6
    ),
    "gre over IPv6": Tunnel(
        words=("gre", *FROM_LOCAL6, *ERROR_SOURCES), outer=TUNNEL6.back, inner=IN6, protocol=47, gre=GRE6
    ),
}


def through(
    sixbench: Callable[..., object], folder: Path, tunnel: Tunnel, packets: Sequence[bytes]
) -> list[list[tuple[str, str, list[bytes]]]]:
    """Verdict, rule and packets of both engines."""
    words = (*tunnel.words, "--pmtu", "dynamic")
    return [
        packets_through(with_exit(sixbench), folder, (*words, "--engine", engine), packets)
        for engine in ("user", "ebpf")
    ]


@pytest.mark.parametrize("name", TUNNELS)
def test_a_quote_is_enough_where_it_has_the_addresses(
    sixbench: Callable[..., object], tmp_path: Path, name: str
) -> None:
    """RFC 4213 sections 3.4 and 3.2.2, RFC 2473 sections 8 and 7. For what the path takes, the outer addresses are
    enough: the source of the next packet that is longer is told."""
    tunnel = TUNNELS[name]
    sent = tunnel.sent(tunnel.inside(70))
    least = tunnel.headers - len(tunnel.gre) + 8
    cuts = range(least, len(sent) + 1)
    limits = {1400: least, 1350: 576 - 28}
    packets = [tunnel.inside(1400), *(tunnel.errors_about(sent[:cut]) for cut in cuts)]
    for mtu_bytes, cut in limits.items():
        fits, long = (tunnel.inside(mtu_bytes - tunnel.headers + more) for more in (0, 1))
        packets += [tunnel.errors_about(tunnel.sent(long)[:cut], mtu_bytes=mtu_bytes), fits, long]
    core, device = through(sixbench, tmp_path, tunnel, packets)
    assert [core[0][0], device[0][0]] == ["translated"] * 2
    for cut, item, other in zip(cuts, core[1:], device[1:], strict=False):
        is_enough = cut >= tunnel.headers + tunnel.inner_header
        expected = ("answered", "carrier-unreachable") if is_enough else ("dropped", "carrier-error")
        assert (item[:2], other[:2]) == (expected, expected), cut
        assert [*map(as_compared, item[2])] == [*map(as_compared, other[2])], cut
        quoted = sent[tunnel.headers : cut]
        assert [packet[-len(quoted) :] for packet in item[2]] == [quoted] * is_enough, cut
    for passed in (core[len(cuts) + 1 :], device[len(cuts) + 1 :]):
        for mtu_bytes, (_, fits, long) in zip(limits, (passed[:3], passed[3:]), strict=True):
            assert [fits[0], *long[:2]] == ["translated", "answered", "outer-too-big"]
            assert told_mtu(long[2][0]) == mtu_bytes - tunnel.headers


def told_mtu(answer: bytes) -> int:
    """MTU that Fragmentation Needed or Packet Too Big carries."""
    kind, mtu = (answer[20:22], answer[26:28]) if answer[0] >> 4 == 4 else (answer[40:42], answer[46:48])
    assert kind == (b"\3\4" if answer[0] >> 4 == 4 else b"\2\0")
    return int.from_bytes(mtu)


def test_no_error_about_an_error_and_none_about_what_ipv6_guarantees(
    sixbench: Callable[..., object], tmp_path: Path
) -> None:
    """RFC 4443 section 2.4 (e), also where the quote ends before the type of the message. RFC 4213 section 3.2.2: where
    the path takes less than 1280 bytes of them, outer packets have DF clear again."""
    tunnel = TUNNELS["6in4"]
    sent = tunnel.sent(in6(IN6, error(IN6, 1, 0, 0, bytes(40)), ICMPV6))
    errors = [tunnel.errors_about(sent[:cut]) for cut in (60, 61, len(sent))]
    output = tunnel.errors_about(tunnel.sent(tunnel.inside(1280))[:28], mtu_bytes=1000)
    packets = [*errors, output, tunnel.inside(1280), tunnel.inside(1281)]
    for passed in through(sixbench, tmp_path, tunnel, packets):
        *about_errors, _, least, more = passed
        assert about_errors == [("dropped", "carrier-unreachable", [])] * 3
        assert [least[0], more[:2]] == ["translated", ("answered", "outer-too-big")]
        assert [(len(packet), packet[6] & 0x40) for packet in least[2]] == [(996, 0), (324, 0)]
        assert told_mtu(more[2][0]) == 1280
