"""Connections whose client gets the server's addresses of both families in the order that it prefers."""

from __future__ import annotations

from collections.abc import Mapping

from ...mechanisms import by_preference
from ...model.leg import Legs
from ...model.parameter import Params
from ...model.path import Path
from ...model.topology import Family
from ...model.workloads import happy_eyeballs
from ...model.workloads.happy_eyeballs import PREFER
from .performer import Performer


class HappyEyeballsPerformer(Performer):
    """Flows whose client selects the addresses (RFC 6724 section 6)."""

    workload = happy_eyeballs.KIND.name

    def ordered(self, legs: Mapping[Family, Legs], path: Path, params: Params) -> Mapping[Family, Legs]:
        prefers_ipv4 = params.get(PREFER.column, path.options.get(PREFER.name)) == "ipv4"
        pairs = {family: (legs[family][0].source, legs[family][0].destination) for family in sorted(legs)}
        order = by_preference(list(pairs.values()), prefers_ipv4)
        return {family: legs[family] for family in sorted(pairs, key=lambda family: order.index(pairs[family]))}
