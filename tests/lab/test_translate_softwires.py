"""The tunnels of an lwAFTR, by the core and by an engine's devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lab.commands import with_exit
from lab.packet_cases import OUTSIDE, TUNNEL6
from lab.packets import Ends, in4, in6, sealed, udp
from packets_through import packets_through


@pytest.mark.parametrize("engine", ["user", "ebpf"])
def test_an_lwb4_may_have_several_rows(sixbench: Callable[..., object], tmp_path: Path, engine: str) -> None:
    rows = (f"192.0.2.1,6,{psid},{TUNNEL6.source}" for psid in (39, 5))
    words = ["lw4o6", "--role", "aftr", "--br", TUNNEL6.destination, "--engine", engine]
    words += [word for row in rows for word in ("--binding", row)]
    inner = [Ends(source="192.0.2.1", destination=OUTSIDE, ports=(psid << 10 | 7, 53)) for psid in (39, 5, 6)]
    packets = [in6(TUNNEL6, in4(ends, udp(ends)), 4) for ends in inner]
    answers = [in4(ends.back, udp(ends.back)) for ends in inner]
    passed = packets_through(with_exit(sixbench), tmp_path, words, [*packets, *answers])
    assert [verdict for verdict, _, _ in passed] == ["translated", "translated", "dropped"] * 2


def test_one_tunnel_tells_of_a_carriers_error(sixbench: Callable[..., object], tmp_path: Path) -> None:
    """RFC 2473 section 8: about a packet to one of two lwB4s."""
    rows = (f"192.0.2.1,6,39,{TUNNEL6.source}", "192.0.2.1,6,5,2001:db8:f::3")
    words = ["lw4o6", "--role", "aftr", "--br", TUNNEL6.destination, "--own4", "203.0.113.9", "--engine", "ebpf"]
    words += [word for row in rows for word in ("--binding", row)]
    inner = Ends(source=OUTSIDE, destination="192.0.2.1", ports=(53, 39 << 10 | 7))
    lost = in6(TUNNEL6.back, in4(inner, udp(inner)), 4)
    ends = Ends(source="2001:db8:f::fe", destination=TUNNEL6.destination)
    error = in6(ends, sealed(ends, 58, bytes([3, 0, 0, 0, 0, 0, 0, 0]) + lost, 2), 58)
    [(_, _, answers)] = packets_through(with_exit(sixbench), tmp_path, words, [error])
    assert len(answers) == 1
