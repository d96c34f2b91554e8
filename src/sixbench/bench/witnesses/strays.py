"""Packets that came to the hosts of a trial and were none of its traffic."""

from __future__ import annotations

from ...model.evidence import Evidence
from ...model.evidence.arrivals import ArrivedSegments
from ..proof.case import Case, EndResults, Testimony
from ..proof.drops import Drops
from ..proof.segments import segment_evidence
from ..proof.strays import judge_strays
from .counters import CounterLooks
from .witness import Witness


class StrayWitness(Witness):
    """Counts strays in both ends' results and in what the kernels counted. It asks nobody itself."""

    def judge(self, case: Case) -> Testimony:
        arrived = _arrived_segments(case)
        notes, too_many = judge_strays(case.client, case.server, own_packets=case.traffic.packets, arrived=arrived)
        return Testimony(evidence=Evidence(arrived=arrived), reasons=too_many, notes=notes)

    @classmethod
    def judge_results(cls, results: EndResults) -> Testimony:
        notes, too_many = judge_strays(results.client, results.server, own_packets=results.traffic.packets)
        return Testimony(reasons=too_many, notes=notes)


def _arrived_segments(case: Case) -> dict[str, ArrivedSegments] | None:
    """The segments of TCP that came to both hosts. None where others than the hosts may send some by right: relays,
    programs under test, equipment, filters, tables that overflow, and links that copy packets."""
    network, topology, looks = case.network, case.network.topology, case.seen(CounterLooks)
    impaired = [direction.impairments for link in topology.links for state in link.states for direction in state]
    others = (
        case.traffic.fills_tables,
        network.relays,
        network.hosting,
        network.guests,
        len(topology.held) < len(topology.nodes),
        any(node.filters for node in topology.nodes.values()),
        any(item.duplicate is not None for item in impaired),
    )
    if "tcp" not in case.transports or any(others):
        return None
    return segment_evidence(case.between, case.nodes, looks.before, looks.after, case.seen(Drops).reports)
