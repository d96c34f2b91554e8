"""Packets through tayga (`--engine tayga`)."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ip_packets import ICMP, ICMPV6, TCP, checksum
from lab.commands import with_exit
from lab.packet_cases import PREFIX, SIIT
from lab.packets import as_compared, echo, in4, in6, tcp, udp
from packets_through import packets_through


def test_tayga_translates_and_what_came_out_is_of_its_packet(sixbench: Callable[..., object], tmp_path: Path) -> None:
    if shutil.which("tayga") is None and os.environ.get("SIXBENCH_EXPECT_PEERS") != "1":
        pytest.skip("tayga is not installed")
    there, back = SIIT
    packets = [
        in4(there, echo(there), ICMP),
        in4(there, udp(there), ttl=1),
        in6(back, tcp(back), TCP),
        in6(back, b"")[:20],
    ]
    words = ("siit", "--prefix", f"{PREFIX}/96", "--eam", "192.0.2.1/32=2001:db8:1::1/128", "--engine", "tayga")
    translated, expired, other, cut = packets_through(with_exit(sixbench), tmp_path, words, packets)
    assert (translated[0], expired[0], other[0], cut[0]) == ("translated", "answered", "translated", "dropped")
    [as_ipv6], [only_expired], [as_ipv4] = translated[2], expired[2], other[2]
    assert as_compared(as_ipv6) == as_compared(in6(back.back, echo(replace(back.back, ports=there.ports)), ICMPV6))
    assert only_expired[20] == 11
    assert as_ipv4[9] == TCP
    assert checksum(as_ipv4[12:20] + struct.pack("!II", TCP, 20) + as_ipv4[20:]) == 0
