"""Mechanisms whose device leaves addresses and ports to Linux's NAT: its sessions, and packets that it leaves as they
are."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from ip_packets import ICMP, ICMPV6, TCP
from lab.commands import with_exit
from lab.packet_cases import ANSWER, MECHANISMS, OUTSIDE, PREFIX, RST, SIIT, embedded, segment
from lab.packets import Ends, echo, error, in4, in6, udp
from packets_through import packets_through


@pytest.mark.parametrize("engine", ["user", "ebpf"])
def test_a_routers_error_comes_from_where_the_packet_was_to_go(
    sixbench: Callable[..., object], tmp_path: Path, engine: str
) -> None:
    router = Ends(source="203.0.113.7", destination=ANSWER.destination)
    error_in4 = in4(router, error(router, 3, 1, 0, in4(ANSWER.back, udp(ANSWER.back))), ICMP)
    words = (*MECHANISMS["nat64"].words, "--errors-from-destination", "--engine", engine)
    _, (_, rule, [passed]) = packets_through(
        with_exit(sixbench), tmp_path, words, [in6(SIIT[1], udp(SIIT[1])), error_in4]
    )
    assert (rule, passed[8:24]) == ("error-to-ipv6", IPv6Address(SIIT[1].destination).packed)


def no_connection(ends: Ends) -> bytes:
    """The end of a connection that nobody has begun."""
    return segment(ends, RST)


PRIVATE = Ends(source="10.0.0.5", destination=OUTSIDE)
OF_PREFIX = Ends(source=embedded(PREFIX, "198.51.100.77"), destination=SIIT[1].destination)
UNTRANSLATED = {
    "nat64": {
        "nothing begun": in6(SIIT[1], no_connection(SIIT[1]), TCP),
        "no such protocol": in6(SIIT[1], bytes(40), 132),
        "of the prefix": in6(OF_PREFIX, udp(OF_PREFIX)),
        "an echo request of the prefix": in6(OF_PREFIX, echo(OF_PREFIX), ICMPV6),
    },
    "lw4o6, lwB4": {
        "nothing begun": in4(PRIVATE, no_connection(PRIVATE), TCP),
        "no such protocol": in4(PRIVATE, bytes(40), 132),
    },
    "map-e, customer edge": {
        "nothing begun": in4(PRIVATE, no_connection(PRIVATE), TCP),
        "no such protocol": in4(PRIVATE, bytes(40), 132),
    },
}
"""Packets that Linux's NAT leaves as they are."""


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_linux_does_not_translate_goes_no_further(
    sixbench: Callable[..., object], tmp_path: Path, name: str
) -> None:
    packets = UNTRANSLATED[name]
    words = (*MECHANISMS[name].words, "--engine", "ebpf")
    passed = packets_through(with_exit(sixbench), tmp_path, words, [*packets.values()])
    assert dict(zip(packets, passed, strict=True)) == dict.fromkeys(packets, ("dropped", "node", []))


def test_linux_keeps_its_sessions_from_packet_to_packet(sixbench: Callable[..., object], tmp_path: Path) -> None:
    first, other, third = (
        replace(SIIT[1], source=f"2001:db8:1::{number}", ports=(port, 53))
        for number, port in ((1, 40000), (2, 40000), (3, 40003))
    )
    words = (*MECHANISMS["nat64"].words, "--engine", "ebpf")
    sent = [in6(ends, udp(ends)) for ends in (first, other, third, first)]
    answers = [in4(ends, udp(ends)) for ends in (replace(ANSWER, ports=(53, 40003)), ANSWER)]
    passed = packets_through(with_exit(sixbench), tmp_path, words, [*sent, *answers])
    assert {verdict for verdict, _, _ in passed} == {"translated"}
    out = [packet for _, _, [packet] in passed]
    ports = [struct.unpack("!H", packet[20:22])[0] for packet in out[: len(sent)]]
    # The second host with a port gets another one.
    assert (ports[0], ports[2], ports[3], ports[1] == 40000) == (40000, 40003, 40000, False)
    assert [str(IPv6Address(packet[24:40])) for packet in out[len(sent) :]] == [third.source, first.source]
