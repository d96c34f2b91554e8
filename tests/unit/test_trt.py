"""A transport relay translator in a network: legs that begin anew, theory of two connections, and what cannot go over
it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sixbench.agent.requests import REQUESTS
from sixbench.bench.proof.relays import relay_evidence
from sixbench.engines import EBPF, USER
from sixbench.lab.render import render_path
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.observation import RelayAnswer
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS
from sixbench.theory import NotPredicted, expected, path_mtu, predict

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, r3: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], mtu: {near_mtu}, rate: {near_rate}}}
    - {{endpoints: [r1, r2], mtu: {near_mtu}, rate: {near_rate}}}
    - {{endpoints: [r2, r3], mtu: {far_mtu}, rate: {far_rate}}}
    - {{endpoints: [r3, h2], mtu: {far_mtu}, rate: {far_rate}}}
between: [h1, h2]
paths: {{p: {path}, near: native6, far: native4}}
workloads: [{workload}]
"""
DEFAULTS = {
    "near_mtu": "1500",
    "near_rate": "10Mbit",
    "far_mtu": "1500",
    "far_rate": "10Mbit",
    "path": "{trt: [r2]}",
    "workload": "tcp-stream",
}


def experiment(read: Read, **changes: str) -> Experiment:
    return read(TEXT.format(**{**DEFAULTS, **changes}))


def network(read: Read, **changes: str) -> Network:
    actual_experiment = experiment(read, **changes)
    return install(actual_experiment.paths[0], actual_experiment.topologies[0], actual_experiment.between)


def bounds(read: Read, **changes: str) -> dict[str, dict[str, float]]:
    """Values that theory expects of each path, by its name."""
    actual_experiment = experiment(read, **changes)
    [combination] = actual_experiment.combinations
    workload = combination.workload
    return {
        path.name: expected(
            workload.kind, workload.params, path, actual_experiment.topologies[0], actual_experiment.between
        )
        for path in actual_experiment.paths
    }


def test_each_leg_begins_anew(read: Read) -> None:
    actual_network = network(read)
    assert [(leg.family, leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in actual_network.legs] == [
        (6, "h1", "r2", "2001:2::1", "2001:db8:64::c612:302"),
        (4, "r2", "h2", "198.18.2.1", "198.18.3.2"),
    ]
    limits = [(crossing.hop_limit, crossing.ip[0].reverse_hop_limit) for crossing in actual_network.crossings]
    assert limits == [(64, 63), (63, 64), (64, 63), (63, 64)]
    back = [(crossing.hop_limit, crossing.ip[0].reverse_hop_limit) for crossing in actual_network.reversed.crossings]
    assert back == [limit[::-1] for limit in reversed(limits)]


def test_echoes_go_to_the_relay_and_from_it(read: Read) -> None:
    first, second = network(read).echoed
    assert [(leg.near, leg.far, str(leg.destination)) for leg in (*first, *second)] == [
        ("h1", "r2", "2001:2:0:1::2"),
        ("r2", "h2", "198.18.3.2"),
    ]


def test_the_node_takes_all_ports_of_the_prefix_for_its_relay(read: Read) -> None:
    actual_network = network(read, path="{trt: {nodes: [r2], prefix: '2001:db8:7::/96', sessions: 7, dns64: r1}}")
    scripts = render_path(actual_network, USER.name)
    [device] = scripts["r2"].first_devices
    [request] = device.requests
    assert (request.op, request.fields["sessions"]) == ("relay-start", 7)
    assert REQUESTS[request.op](**request.fields).to_json(1)["prefix"] == "2001:db8:7::/96"
    for transport in ("tcp", "udp"):
        rule = f"ip6 daddr 2001:db8:7::/96 meta l4proto {transport} tproxy to :{request.fields['port']} accept"
        assert rule in device.nft
    assert "route add local 2001:db8:7::/96 dev lo" in scripts["r2"].made_routes
    assert scripts["r1"].routes[-1].startswith("route add 2001:db8:7::/96 via ")
    assert actual_network.resolvers["r1"]
    assert actual_network.resolvers["r1"] == actual_network.resolvers["h1"]


def test_only_user_space_relays(read: Read) -> None:
    [relay] = network(read).relays
    assert USER.unfit(relay) is None
    assert EBPF.unfit(relay) == "the agent cannot create a relay of the kind "
    assert MECHANISMS["trt"].engines == ("user",)


def test_workloads_that_need_icmp_are_those_that_cannot_go_over_it() -> None:
    unfit = {name for name, kind in WORKLOADS.items() if MECHANISMS["trt"].unfit(kind) is not None}
    assert unfit == {"ping", "bring-up", "pmtu", "latency-under-load"}
    for name, kind in MECHANISMS.items():
        assert name == "trt" or all(kind.unfit(workload) is None for workload in WORKLOADS.values())


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"far_rate": "100Mbit"}, "near"),
        ({"near_rate": "100Mbit"}, "far"),
        ({"far_mtu": "1280", "near_mtu": "9000"}, "far"),
        ({"near_mtu": "1300"}, "near"),
    ],
)
def test_goodput_is_that_of_the_slower_connection(
    read: Read, changes: dict[str, str], limit: str, direction: str
) -> None:
    actual_bounds = bounds(read, workload=f"tcp-stream: {{direction: {direction}}}", **changes)
    rate, mtu_bytes, header_bytes = 10e6, {"near": 1500, "far": 1500}, {"near": 40, "far": 20}
    mtu_bytes |= {key.removesuffix("_mtu"): int(value) for key, value in changes.items() if key.endswith("_mtu")}
    payload_bytes = mtu_bytes[limit] - header_bytes[limit] - 32
    assert actual_bounds["p"]["goodput_bps"] == pytest.approx(rate * payload_bytes / (mtu_bytes[limit] + 38))


def test_datagrams_are_fragmented_on_each_leg_by_its_own_header(read: Read) -> None:
    actual_bounds = bounds(read, workload="udp-stream: {datagram: 1464B, rate: 1Gbit}")
    # Two fragments over IPv6, one packet over IPv4.
    assert actual_bounds["p"]["goodput_bps"] < 0.96 * actual_bounds["far"]["goodput_bps"]
    slower = bounds(read, workload="udp-stream: {datagram: 1464B, rate: 1Gbit}", far_rate="1Mbit")
    assert slower["p"]["goodput_bps"] == pytest.approx(1e6 * 1464 / (1492 + 38))


def test_what_is_not_exact_is_not_given(read: Read) -> None:
    actual_network = network(read, near_mtu="1400")
    assert path_mtu(actual_network) == 1400
    with pytest.raises(NotPredicted, match="behind r2"):
        predict(actual_network, 1000)


def answer(**changes: int) -> RelayAnswer:
    tcp = {"open": 0, "opened": 0, "reset": 0, "unreachable": 0, "bytes_to_ipv4": 0, "bytes_to_ipv6": 0}
    udp = {"open": 0, "opened": 0, "errors": 0, "not_sent": 0, "datagrams_to_ipv4": 0, "datagrams_to_ipv6": 0}
    udp |= {"bytes_to_ipv4": 0, "bytes_to_ipv6": 0}
    refused = {name: changes.pop(name) for name in ("sessions", "no-server") if name in changes}
    return RelayAnswer.model_validate({"tcp": tcp | changes, "udp": udp, "refused": refused, "most": 9})


TRAFFIC = Traffic(forward_payload_bytes=1000, reverse_payload_bytes=200)


def test_the_relay_has_passed_on_what_arrived(read: Read) -> None:
    actual_network = network(read)
    before, after = answer(opened=3, bytes_to_ipv4=5), answer(opened=4, open=1, bytes_to_ipv4=1005, bytes_to_ipv6=200)
    actual_relay_evidence = relay_evidence(actual_network, {"r2": before}, {"r2": after}, TRAFFIC, is_meant=False)
    assert (actual_relay_evidence.notes, actual_relay_evidence.invalid) == ([], [])
    assert (actual_relay_evidence.relays["r2"].connections, actual_relay_evidence.relays["r2"].bytes_to_ipv4) == (
        1,
        1000,
    )
    assert (
        actual_relay_evidence.sessions["r2"].before,
        actual_relay_evidence.sessions["r2"].after,
        actual_relay_evidence.sessions["r2"].most,
    ) == (0, 1, 9)
    too_few = answer(opened=4, bytes_to_ipv4=1004, bytes_to_ipv6=200)
    [reason] = relay_evidence(actual_network, {"r2": before}, {"r2": too_few}, TRAFFIC, is_meant=False).invalid
    assert reason.kind is ReasonKind.RELAY_COUNTERS
    assert "passed only 999 bytes on to IPv4" in reason.text
    [reason] = relay_evidence(actual_network, {}, {}, TRAFFIC, is_meant=False).invalid
    assert reason.kind is ReasonKind.NOT_COUNTED


def test_refused_sessions_are_a_reason_unless_they_were_meant(read: Read) -> None:
    actual_network, before, after = (
        network(read),
        answer(sessions=1),
        answer(sessions=4, **{"no-server": 2}, unreachable=1),
    )
    actual_relay_evidence = relay_evidence(actual_network, {"r2": before}, {"r2": after}, Traffic(), is_meant=False)
    assert [reason.kind for reason in actual_relay_evidence.invalid] == [ReasonKind.SESSIONS_REFUSED]
    assert actual_relay_evidence.invalid[0].text == "r2 refused 3 sessions: its relay has at most 9"
    assert actual_relay_evidence.sessions["r2"].failed == {"sessions": 3}
    assert actual_relay_evidence.notes == [
        "the relay of r2 ended 2 sessions for addresses of no server",
        "the relay of r2 ended 1 sessions whose server could not be reached or refused",
    ]
    meant = relay_evidence(actual_network, {"r2": before}, {"r2": after}, Traffic(), is_meant=True)
    assert meant.invalid == []
    assert len(meant.notes) == 3


def test_a_network_without_relays_is_one_part(read: Read) -> None:
    actual_network = network(read, path="{nat64: [r2]}")
    assert actual_network.parts == (actual_network,)
    assert replace(actual_network, legs=actual_network.legs[:1]).echoed == (actual_network.legs[:1],)
