"""Errors to IPv4 hosts behind the smallest link that IPv4 has (RFC 791 section 3.2), by the core and by devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.commands import with_exit
from lab.packet_cases import (
    ANSWER,
    CE_IPV4,
    CE_PORT,
    IN4,
    MAP_T,
    MECHANISMS,
    OUTSIDE,
    PREFIX,
    SIIT,
    from_edge,
)
from lab.packets import DF, Ends, in4, udp
from packets_through import packets_through

LEAST_BYTES = 68
TO_ITSELF = Ends(source=OUTSIDE, destination="192.0.0.8")
TO_EDGE = Ends(source=OUTSIDE, destination=CE_IPV4, ports=(53, CE_PORT))
FROM_OUTSIDE = from_edge(0xA << 6 | 1 << 10).back
OWN4 = ("--own4", "203.0.113.9")
WORDS = {
    "siit": ("siit", "--prefix", f"{PREFIX}/96", "--eam", "192.0.2.1/32=2001:db8:1::1/128"),
    "map-t": MAP_T,
    "nat64": MECHANISMS["nat64"].words,
    "lw4o6": (*MECHANISMS["lw4o6, lwAFTR"].words, *OWN4),
    "map-e": (*MECHANISMS["map-e, border relay"].words, *OWN4),
}
PACKETS = {
    "siit": [in4(SIIT[0], udp(SIIT[0], 1480), flags=DF), in4(SIIT[0], udp(SIIT[0], 200), ttl=1)],
    "map-t": [in4(TO_ITSELF, udp(TO_ITSELF, 200)), in4(TO_EDGE, udp(TO_EDGE, 200), ttl=1)],
    "nat64": [in4(ANSWER, udp(ANSWER, 200)), in4(ANSWER, udp(ANSWER, 1480), flags=DF)],
    "lw4o6": [in4(IN4.back, udp(IN4.back, 200), ttl=1)],
    "map-e": [in4(FROM_OUTSIDE, udp(FROM_OUTSIDE, 200), ttl=1)],
}
"""From outside. Their sources are told of an error."""


@pytest.mark.parametrize("engine", ["user", "ebpf"])
@pytest.mark.parametrize("name", WORDS)
def test_an_error_fits_the_link(sixbench: Callable[..., object], tmp_path: Path, name: str, engine: str) -> None:
    """Whoever sends it: the mechanism, or the node of its device."""
    words = (*WORDS[name], "--mtu4", LEAST_BYTES, "--engine", engine)
    passed = packets_through(with_exit(sixbench), tmp_path, words, PACKETS[name])
    actual_passed = [(verdict, [*map(len, out)]) for verdict, _, out in passed]
    assert actual_passed == [("answered", [LEAST_BYTES])] * len(PACKETS[name])
