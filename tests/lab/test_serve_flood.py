"""`serve` under floods: good clients are served beside many addresses, one /64 or /48, half-open and slow connections.

The long form, with the counts of docs/measurements/reliability.md, is `benches/endurance/serve_flood.py`.
"""

from __future__ import annotations

import pytest
from endurance.serve_flood import fast_floods, floods, measure

ONE_WAY_MS = 25
FLOODS = floods(rate=600, crowd=600)
FAST_FLOODS = fast_floods(rate=7600)
CLIENTS = 4


@pytest.mark.parametrize("name", [name for name in FLOODS if name != "no flood"])
def test_good_clients_are_served_beside_a_flood(name: str) -> None:
    family, attacks = FLOODS[name]
    served = measure(name, family, attacks, clients=CLIENTS, one_way_ms=ONE_WAY_MS)
    assert served.errors == (), served
    assert len(served.times_s) == CLIENTS
    # It was a flood.
    for attack, did in zip(attacks, served.attackers, strict=True):
        assert did["opened"] >= 100, served
        assert attack.kind == "half-open" or did["connected"] >= 100, served


@pytest.mark.parametrize("name", FAST_FLOODS)
def test_good_clients_are_served_beside_connections_faster_than_sockets_open_them(name: str) -> None:
    family, attacks = FAST_FLOODS[name]
    served = measure(name, family, attacks, clients=CLIENTS, one_way_ms=0)
    # A network shares the queue of a network that floods once in 64 times, and is then served later or not.
    sharing = 1 if attacks[0].rate == 0 else 0
    assert len(served.errors) <= sharing, served
    assert served.attackers[0]["connected"] >= 1000, served
