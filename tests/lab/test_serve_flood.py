"""`serve` under floods: good clients are served beside many addresses, one /64 or /48, half-open and slow connections.

The long form, with the counts of docs/reliability.md, is `benches/endurance/serve_flood.py`.
"""

from __future__ import annotations

import pytest
from endurance.serve_flood import floods, measure

ONE_WAY_MS = 25
FLOODS = floods(rate=600, crowd=600)


@pytest.mark.parametrize("name", [name for name in FLOODS if name != "no flood"])
def test_good_clients_are_served_beside_a_flood(name: str) -> None:
    family, attacks = FLOODS[name]
    served = measure(name, family, attacks, clients=4, one_way_ms=ONE_WAY_MS)
    assert served.errors == (), served
    assert len(served.times_s) == 4
    # It was a flood.
    for attack, did in zip(attacks, served.attackers, strict=True):
        assert did["opened"] >= 100, served
        assert attack.kind == "half-open" or did["connected"] >= 100, served
