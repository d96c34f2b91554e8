"""The workload `pmtu`: verdicts on a path, and its metrics."""

from __future__ import annotations

import pytest
from path_mtu_results import ESCAPED, FINE, HOLE, REPORTED, Result
from reasons import texts

from sixbench.model.workload import Traffic, TrialMeasurements
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

PMTU = WORKLOADS["pmtu"]


def pmtu(forward: Result, reverse: Result) -> TrialMeasurements:
    client, server = {"forward": forward, "received_bytes": 7}, {"reverse": reverse, "received_bytes": 9}
    return PMTU.summarise({}, client, server)


@pytest.mark.parametrize(
    ("forward", "reverse", "words"),
    [
        (FINE, FINE, "verdict: fine (forward: fine, 1500 bytes; reverse: fine, 1500 bytes)"),
        (
            REPORTED,
            FINE | {"interface_bytes": 1400, "kernel_bytes": 1400, "probed_bytes": 1400},
            "verdict: discovered-by-icmp (forward: discovered-by-icmp, 1400 bytes, limited at hop 2 (2001:db8::2); "
            "reverse: fine, 1400 bytes)",
        ),
        (REPORTED, FINE, "verdict: asymmetric (forward: discovered-by-icmp, 1400 bytes, limited at hop 2"),
        (
            HOLE,
            FINE,
            "verdict: black-hole (forward: black-hole, 1400 bytes, limited at hop 4 (192.0.2.4); reverse: fine",
        ),
        (
            ESCAPED,
            REPORTED,
            "verdict: discovered-by-probing (forward: discovered-by-probing, 1400 bytes, limited at hop 4",
        ),
        (HOLE | {"black_hole": {"between": [4, 6]}}, ESCAPED, "limited at one of the hops 4 to 6; reverse"),
        (HOLE | {"black_hole": {"packet_bytes": 1500}}, FINE, "verdict: black-hole (forward: black-hole, 1400 bytes, "),
        (HOLE | {"black_hole": {"index": 0}}, FINE, "limited by the first link; reverse"),
        (REPORTED | {"kernel_bytes": 1300}, REPORTED, "verdict: inconsistent (forward: inconsistent, 1400 bytes"),
        (REPORTED | {"tcp": {"stalled": True}}, REPORTED, "verdict: inconsistent"),
    ],
)
def test_verdicts_on_a_path(forward: Result, reverse: Result, words: str) -> None:
    measured = pmtu(forward, reverse)
    assert measured.invalid == []
    assert words in measured.notes[0]


def test_path_mtus() -> None:
    measured = pmtu(HOLE, REPORTED)
    assert measured.metrics == {
        "pmtu_forward_bytes": 1400,
        "pmtu_reverse_bytes": 1400,
        "pmtu_kernel_bytes": 1500,
        "pmtu_kernel_reverse_bytes": 1400,
        "pmtu_probed_bytes": 1400,
        "pmtu_tcp_reverse_bytes": 1400,
        "pmtu_converge_ns": 2,
        "pmtu_probes_count": 10,
        "pmtu_probe_bytes": 12000,
        "pmtu_lost_probes_count": 13,
        "black_hole_hop": 4,
    }
    assert "forward: TCP stalled after 33 bytes" in measured.notes
    assert PMTU.traffic({}, {"received_bytes": 7}, {"received_bytes": 9}) == Traffic(
        forward_payload_bytes=9, reverse_payload_bytes=7, chooses_hop_limits=True
    )


def test_a_path_without_datagrams_has_no_verdict() -> None:
    blocked = {"tcp": {"stalled": False}, "tcp_bytes": 1500, "converged_ns": {"tcp": 3}}
    measured = pmtu(blocked, FINE)
    assert texts(measured.invalid) == ["forward: no datagram was acknowledged, not even of the smallest size"]
    assert not any("verdict" in note for note in measured.notes)
    assert measured.metrics["pmtu_tcp_bytes"] == 1500
