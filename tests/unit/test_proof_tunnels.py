"""Evidence of the tunnels' ends about a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from observed import tunnels
from reasons import texts

from sixbench.bench.proof.tunnels import check_tunnels, drop_notes, program_times, tunnel_evidence
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.evidence import evidence_from_json
from sixbench.model.evidence.counts import CountIncrease
from sixbench.model.evidence.tunnels import TunnelCounters
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.model.workload import Traffic

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Counted = dict[str, Any]

BETWEEN = ("h1", "h2")
TEXT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
paths: {p: native4}
workloads: [ping]
"""


@pytest.fixture
def tunnel(read: Read) -> Callable[..., Network]:
    def make(mechanism: str = "6in4", *nodes: str) -> Network:
        path = Path(name="p", mechanism=mechanism, family=MECHANISMS[mechanism].family({}), nodes=nodes or ("r1", "r2"))
        return install(path, read(TEXT).topologies[0], BETWEEN)

    return make


Tunnel = Callable[..., Network]


def count(packets: int, octets: int = 0) -> dict[str, int]:
    return {"packets": packets, "bytes": octets}


def counters(out: int, into: int, slow_out: int = 0, slow_in: int = 0, **reasons: dict[str, Any]) -> Counted:
    """As `tunnel-counters` answers, packets of 1000 bytes."""
    return {
        "encapsulated": count(out, 1000 * out),
        "decapsulated": count(into, 1000 * into),
        "slow_encapsulated": count(slow_out, 1000 * slow_out),
        "slow_decapsulated": count(slow_in, 1000 * slow_in),
        "slow": {},
        "drops": {},
    } | reasons


def test_only_what_changed_in_the_trial_counts(tunnel: Tunnel) -> None:
    early = {
        "r1": {"6in4-1": counters(5, 6, drops={"no-mapping": count(2), "ecn-invalid": count(1)})},
        "r2": {"6in4-1": counters(6, 5, slow={"outer-fragment": count(3)})},
    }
    late = {
        "r1": {"6in4-1": counters(105, 56, 2, 1, drops={"no-mapping": count(2), "ecn-invalid": count(4, 300)})},
        "r2": {
            "6in4-1": counters(56, 105, slow={"outer-fragment": count(3), "outer-options": count(7, 7000)}),
            "other": counters(1, 1),
        },
    }
    actual_tunnel_evidence = tunnel_evidence(tunnel(), tunnels(early), tunnels(late), {})
    assert actual_tunnel_evidence == {
        "r1": {"6in4-1": end(100, 50, 2, 1, drops={"ecn-invalid": count(3, 300)})},
        "r2": {"6in4-1": end(50, 100, slow={"outer-options": count(7, 7000)})},
    }


def test_a_tunnel_that_was_not_asked_before_counts_from_its_start(tunnel: Tunnel) -> None:
    late = {"r1": {"6in4-1": counters(3, 4)}}
    assert tunnel_evidence(tunnel(), {}, tunnels(late), {}) == {"r1": {"6in4-1": end(3, 4)}}


def test_tunnels_of_the_kernel_are_interfaces(tunnel: Tunnel) -> None:
    interfaces = {
        "r1": {"6in4-1": {"tx_packets": 9, "tx_bytes": 900, "rx_packets": 8, "rx_bytes": 800, "tx_errors": 2}},
        "r2": {"eth0": {"tx_packets": 1}},
    }
    assert tunnel_evidence(tunnel(), {}, {}, interfaces) == {
        "r1": {
            "6in4-1": TunnelCounters(
                encapsulated=CountIncrease(packets=9, bytes=900),
                decapsulated=CountIncrease(packets=8, bytes=800),
                drops={"tx_errors": CountIncrease(packets=2, bytes=0)},
            )
        }
    }


def end(out: int, into: int, slow_out: int = 0, slow_in: int = 0, **reasons: dict[str, Any]) -> TunnelCounters:
    """Counters of an end that had counted nothing before."""
    data = {"tunnels": {"r1": {"t": counters(out, into, slow_out, slow_in, **reasons)}}}
    return (evidence_from_json(data).tunnels or {})["r1"]["t"]


def evidence(out: int, into: int) -> dict[str, dict[str, TunnelCounters]]:
    """Evidence of both ends of a tunnel that carried that much, from r1 to r2 and back."""
    return {"r1": {"6in4-1": end(out, into)}, "r2": {"6in4-1": end(into, out)}}


TRAFFIC = Traffic(forward_payload_bytes=10_000, reverse_payload_bytes=2_000)


def test_ends_that_carried_what_arrived(tunnel: Tunnel) -> None:
    assert texts(check_tunnels(tunnel(), evidence(10, 2), TRAFFIC)) == []


def test_the_slow_path_carries_too(tunnel: Tunnel) -> None:
    by_hand = evidence(0, 0)
    by_hand["r1"]["6in4-1"] = end(4, 1, 6, 1)
    by_hand["r2"]["6in4-1"] = end(0, 0, 2, 10)
    assert texts(check_tunnels(tunnel(), by_hand, TRAFFIC)) == []


@pytest.mark.parametrize(
    ("out", "into", "wrong"),
    [
        (
            9,
            2,
            [
                "10000 bytes of payload arrived, but r1 encapsulated only 9000 bytes in 6in4-1: they went another way",
                "10000 bytes of payload arrived, but r2 decapsulated only 9000 bytes in 6in4-1: they went another way",
            ],
        ),
        (
            10,
            1,
            [
                "2000 bytes of payload arrived, but r1 decapsulated only 1000 bytes in 6in4-1: they went another way",
                "2000 bytes of payload arrived, but r2 encapsulated only 1000 bytes in 6in4-1: they went another way",
            ],
        ),
    ],
)
def test_an_end_that_carried_less_than_arrived(tunnel: Tunnel, out: int, into: int, wrong: list[str]) -> None:
    assert texts(check_tunnels(tunnel(), evidence(out, into), TRAFFIC)) == wrong


def test_an_end_that_could_not_be_asked(tunnel: Tunnel) -> None:
    actual_evidence = evidence(10, 2)
    del actual_evidence["r2"]
    assert texts(check_tunnels(tunnel(), actual_evidence, TRAFFIC)) == [
        "r2 could not be asked for the counters of its tunnel 6in4-1"
    ]


def test_only_tunnels_on_the_way_are_held_to_it(read: Read) -> None:
    """The other subscriber of an AFTR carries nothing in this trial."""
    text = """
        topology:
          nodes: {h1: host, h2: host, h3: host, r1: router, r2: router, r9: router}
          links:
            - {endpoints: [h1, r1]}
            - {endpoints: [h3, r2]}
            - {endpoints: [r1, r9]}
            - {endpoints: [r2, r9]}
            - {endpoints: [r9, h2]}
        between: [h1, h2]
        paths: {p: {ds-lite: [r1, r2, r9]}}
        workloads: [ping]
    """
    experiment = read(text)
    network = install(experiment.paths[0], experiment.topologies[0], BETWEEN)
    carried = {"r1": {"ds-lite-1": end(10, 2)}, "r9": {"ds-lite-1": end(2, 10)}}
    assert texts(check_tunnels(network, carried, TRAFFIC)) == []


def test_a_path_without_tunnels_has_nothing_to_check(read: Read) -> None:
    experiment = read(TEXT)
    network = install(experiment.paths[0], experiment.topologies[0], BETWEEN)
    assert texts(check_tunnels(network, {}, TRAFFIC)) == []
    assert tunnel_evidence(network, {}, {}, {"r1": {"eth0": {"tx_packets": 1}}}) == {}


def test_drops_are_told_with_their_reason() -> None:
    drops = {"inner-source-bogus": count(3), "no-mapping": count(9), "inner-family": count(1)}
    assert drop_notes({"r1": {"6to4-1": end(1, 1, drops=drops)}, "r2": {"6to4-1": end(1, 1)}}) == [
        "6to4-1 of r1 dropped 3 packets: inner-source-bogus"
    ]
    assert drop_notes({}) == []


def programs(**times: tuple[int, int]) -> Counted:
    """As `tunnel-counters` with `run_time: stop` answers of one tunnel: runs and time of each program."""
    return {"programs": {name: {"runs": runs, "run_time_ns": time} for name, (runs, time) in times.items()}}


def test_the_run_time_of_programs_is_a_mean_over_all_tunnels() -> None:
    measured = {
        "r1": {"6in4-1": programs(encapsulate=(10, 2000), decapsulate=(5, 500))},
        "r2": {"6in4-1": programs(encapsulate=(30, 6000), decapsulate=(0, 0))},
    }
    assert program_times(tunnels(measured)) == {"bpf_encapsulate_ns": 8000 / 40, "bpf_decapsulate_ns": 100.0}


@pytest.mark.parametrize(
    "measured",
    [{}, {"r1": {}}, {"r1": {"t": {}}}, {"r1": {"t": {"programs": None}}}, {"r1": {"t": programs(encapsulate=(0, 0))}}],
)
def test_a_program_that_did_not_run_has_no_run_time(measured: Counted) -> None:
    """Neither 0 nor NaN stands for what is missing."""
    assert program_times(tunnels(measured)) == {}
