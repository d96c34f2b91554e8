"""Lightweight 4over6 in a network."""

from __future__ import annotations

import pytest
from installed import Installed

from sixbench.mechanisms import MechanismError

pytestmark = pytest.mark.computes

HOMES = "h1-r1 h2-r2 r1-r9 r2-r9 r9-h9"


def test_each_subscriber_has_its_ports_of_one_address(installed: Installed) -> None:
    network = installed("lw4o6", "r1", "r2", "r9", links=HOMES, between=("h2", "h9"))
    assert [(leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in network.legs] == [
        ("h2", "r2", "192.168.1.1", "198.18.4.2"),
        ("r2", "h9", "192.0.2.1", "198.18.4.2"),
    ]
    [stages] = network.stages
    assert "snat to 192.0.2.1:1024-2047" in stages["r1"].nft
    assert "snat to 192.0.2.1:2048-3071" in stages["r2"].nft
    table = stages["r9"].nft
    assert "th dport 2048-3071 meta mark set 2" in table
    assert 'iifname "lw4o6-2" ip saddr 192.0.2.1 meta l4proto { tcp, udp } th sport 2048-3071 accept' in table
    assert 'iifname "lw4o6-2" meta l4proto { tcp, udp } counter drop' in table
    assert "icmp type { destination-unreachable, time-exceeded, parameter-problem } @th,224,16 1024-2047" in table


def test_sets_are_as_many_as_the_bits_can_count(installed: Installed) -> None:
    network = installed("lw4o6", "r1", "r9", links="h1-r1 r1-r9 r9-h9", between=("h1", "h9"), psid_bits=1)
    assert "snat to 192.0.2.1:32768-65535" in network.stages[0]["r1"].nft
    with pytest.raises(MechanismError, match="2 subscribers need as many sets of ports besides the first one"):
        installed("lw4o6", "r1", "r2", "r9", links=HOMES, between=("h2", "h9"), psid_bits=1)


def test_a_host_is_no_lwb4(installed: Installed) -> None:
    with pytest.raises(MechanismError, match='"h1" is a host; an lwB4 is a router'):
        installed("lw4o6", "h1", "r2")
