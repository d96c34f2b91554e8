"""The workload `frames`: what experiments may ask for, and what follows from the agents' results."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from sixbench.bench.workloads import performer_of
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.leg import Legs
from sixbench.model.networks import address_in, networks_behind
from sixbench.model.parameter import Scalar
from sixbench.model.reason import ReasonKind
from sixbench.model.routing import all_routes
from sixbench.model.topology import Family
from sixbench.model.workload import Result
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

from sixbench.mechanisms import MECHANISMS, install  # isort: skip

pytestmark = pytest.mark.computes

EXPERIMENT = """\
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1], {access}}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {paths}
workloads:
  - frames: {frames}
"""

LATENESS = {"count": 10, "buckets": [[5000, 10]], "min": 5000, "max": 5000, "mean": 5000.0, "stdev": 0.0}
TIMES = LATENESS | {"p50": 5000, "p90": 5000, "p99": 5000, "p999": 5000}
PARAMS = {"frame_bytes": 64, "rate_pps": 1000, "count": 10}
SENT: Result = {
    "sent": 10,
    "due": 10,
    "sent_bytes": 180,
    "measured_ns": 9_000_000,
    "scheduled_ns": 9_000_000,
    "lateness": TIMES,
    "inter_frame_error": TIMES,
}
ARRIVED: Result = {
    "received": 9,
    "unique": 8,
    "duplicates": 1,
    "reordered": 0,
    "corrupt": 1,
    "late": 0,
    "ring_drops": 0,
    "lost_middle": 1,
    "lost_tail": 1,
    "unique_bytes": 144,
    "measured_bytes": 126,
    "measured_ns": 7_000_000,
    "one_way_delay": TIMES,
    "ipdv": TIMES,
    "pdv": TIMES,
}


def problems(paths: str, frames: str, access: str = "mtu: 1500") -> str:
    text = EXPERIMENT.format(paths=paths, frames=frames, access=access)
    with pytest.raises(ExperimentError) as caught:
        read_experiment(parse_yaml(text, "x.yaml"), MECHANISMS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("paths", "frames", "access", "words"),
    [
        ("{n: native6}", "{frame: 64B, packet-rate: 1kpps}", "mtu: 1500", "too small: at least 84 over IPv6"),
        ("{n: native4}", "{frame: 1519B, packet-rate: 1kpps}", "mtu: 1500", "1519 bytes are too large for n"),
        ("{n: native4}", "{frame: 1518B, packet-rate: 1kpps}", "mtu: 1400", "on h1-r1, where 1400 fit"),
        ("{t: {6in4: [r1, r2]}}", "{frame: 1499B, packet-rate: 1kpps}", "mtu: 1500", "give at most 1498B"),
        ("{n: native4}", "{frame: 64B, packet-rate: 15kpps}", "rate: 10Mbit", "10000000 bit/s carry 14881 frames/s"),
        ("{n: native4}", "{frame: 64B}", "mtu: 1500", "packet-rate is missing"),
        ("{n: native4}", "{packet-rate: 1kpps}", "mtu: 1500", "frame is missing"),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, direction: up}", "mtu: 1500", "not one of forward"),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, step-after: 1s}", "mtu: 1500", "give both, or neither"),
        (
            *("{n: native4}", "{frame: 64B, packet-rate: 1kpps, step-after: 1s, step-rate: 15kpps}", "rate: 10Mbit"),
            "15000 frames/s are above the line rate",
        ),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, flows: 2}", "mtu: 1500", "give ports: pseudo-random"),
        ("{n: native4}", "{frame: 64B, packet-rate: 900Mpps, duration: 9s}", "mtu: 1500", "at most 4294967296"),
        (
            "{n: native4}",
            "{frame: 100B, packet-rate: 1kpps, extension-headers: routing}",
            "mtu: 1500",
            "extension headers are IPv6's",
        ),
        (
            "{s: {siit: [r1, r2]}}",
            "{frame: 100B, packet-rate: 1kpps, extension-headers: fragment}",
            "mtu: 1500",
            "extension headers are IPv6's",
        ),
        (
            "{n: native6}",
            "{frame: 123B, packet-rate: 1kpps, extension-headers: chain}",
            "mtu: 1500",
            "at least 124 over IPv6 with chain headers",
        ),
        (
            "{s: {siit: [r1, r2]}}",
            "{frame: 84B, packet-rate: 1kpps, networks: 256}",
            "mtu: 1500",
            "frames over s can go to one network only: its addresses change on the way",
        ),
        (
            "{s: {6to4: [r1, r2]}}",
            "{frame: 84B, packet-rate: 1kpps, networks: 256}",
            "mtu: 1500",
            "its tunnels find their ends by the addresses inside",
        ),
        (
            "{d: dual-stack}",
            "{frame: 84B, packet-rate: 14kpps, native: 50%}",
            "rate: 10Mbit",
            "10000000 bit/s carry 13298 frames/s of 74 bytes",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_line(paths: str, frames: str, access: str, words: str) -> None:
    actual_problems = problems(paths, frames, access)
    assert "x.yaml:7: workloads.0.frames" in actual_problems
    assert words in actual_problems


def read(paths: str, frames: str) -> Experiment:
    text = EXPERIMENT.format(paths=paths, frames=frames, access="mtu: 1500")
    return read_experiment(parse_yaml(text, "x.yaml"), MECHANISMS)


def test_frames_to_many_networks_have_routes_there() -> None:
    experiment = read("{n: native4, t: {6in4: [r1, r2]}}", "{frame: 84B, packet-rate: 1kpps, networks: [1, 256]}")
    assert len(experiment.topologies) == 1
    for path in experiment.paths:
        network = install(path, experiment.topologies[0], experiment.between)
        routes_by_node = all_routes(network.topology, network.devices)
        for node, host, first in (("r1", "h2", "198.19.128.0/25"), ("r2", "h1", "198.19.0.0/25")):
            to_networks = [route for route in routes_by_node[node] if str(route.prefix).startswith("198.19.")]
            behind = [
                str(route.prefix) for route in to_networks if route.prefix in networks_behind(network.topology, host, 4)
            ]
            assert (len(behind), behind[0]) == (255, first)
        prepared = performer_of(WORKLOADS["frames"]).prepare(path, network, {"networks": 256})
        assert (prepared.params["client_networks"], prepared.params["server_networks"]) == (
            ("198.19.0.0/25", "198.19.128.0/25") if path.name == "n" else ("2001:2:0:fe00::/64", "2001:2:0:ff00::/64")
        )
        assert prepared.network == network
        assert performer_of(WORKLOADS["frames"]).prepare(path, network, {"networks": 1}).params == {"networks": 1}


@pytest.mark.parametrize(
    ("bits", "first", "address"),
    [
        (48, "2001:db8:ff00::/48", "2001:db8:ff00::2"),
        (126, "2001:2:0:fd80::/126", "2001:2:0:fd80::2"),
        (128, "2001:2:0:fd81::/128", "2001:2:0:fd81::"),
    ],
)
def test_networks_with_prefixes_of_other_lengths_have_routes_beside_the_usual_ones(
    bits: int, first: str, address: str
) -> None:
    given = f"{{frame: 84B, packet-rate: 1kpps, networks: 256, network-prefix: [64, {bits}]}}"
    experiment = read("{n: native6}", given)
    [topology] = experiment.topologies
    [path] = experiment.paths
    network = install(path, topology, experiment.between)
    routed = [route.prefix for route in all_routes(network.topology)["r1"]]
    behind_server = [prefix for prefix in routed if prefix in networks_behind(topology, "h2", 6, bits)]
    assert (len(behind_server), str(behind_server[0])) == (255, first)
    assert len([prefix for prefix in routed if prefix in networks_behind(topology, "h2", 6)]) == 255
    params: dict[str, Scalar] = {"networks": 256, "network_bits": bits}
    assert performer_of(WORKLOADS["frames"]).prepare(path, network, params).params["server_networks"] == first
    assert "network_bits" not in WORKLOADS["frames"].agent_params(params)
    assert str(address_in(IPv6Network(first))) == address


@pytest.mark.parametrize(
    ("paths", "given", "words"),
    [
        (
            "{n: native6}",
            "networks: 256, network-prefix: 65",
            "65 is no length that RFC 5180 asks for: give 48, 64, 126",
        ),
        ("{n: native6}", "network-prefix: 126", "network-prefix is of several networks: give networks, too"),
        ("{n: native4}", "networks: 256, network-prefix: 126", "prefixes of 126 bits are IPv6's"),
    ],
)
def test_prefixes_that_cannot_be_are_refused(paths: str, given: str, words: str) -> None:
    assert words in problems(paths, f"{{frame: 84B, packet-rate: 1kpps, {given}}}", "mtu: 1500")


def test_a_link_in_the_place_of_the_networks_is_refused() -> None:
    actual_problems = problems(
        "{n: native4}",
        "{frame: 84B, packet-rate: 1kpps, networks: 256}",
        "ipv4: [198.19.7.1/24, 198.19.7.2/24]",
    )
    assert "frames go to networks of 198.19.0.0/17, and h1-r1 has 198.19.7.0/24" in actual_problems


def test_what_is_sent_is_a_level_wherever_it_is_given() -> None:
    given = "{frame: 128B, packet-rate: 1kpps, ports: pseudo-random, networks: 256, extension-headers: chain}"
    [combination] = read("{n: native6}", given).combinations
    assert combination.levels.keys() >= {"ports", "networks", "extension_headers"}


def test_native_frames_are_counted_apart_and_proved_by_their_family() -> None:
    params = PARAMS | {"native_ratio": 0.5}
    sent = SENT | {"native": {"family": 6, "sent": 5}}
    arrived = ARRIVED | {"native": {"family": 6, "unique": 4}}
    measured = WORKLOADS["frames"].summarise(params, sent, arrived)
    assert measured.invalid == []
    assert measured.metrics["loss_native_ratio"] == pytest.approx(0.2)
    traffic = WORKLOADS["frames"].traffic(params, sent, arrived)
    assert (traffic.forward_payload_bytes, traffic.forward_datagrams) == (144, 8)
    of_ipv4, native = traffic.of(4), traffic.of(6)
    assert (of_ipv4.forward_payload_bytes, of_ipv4.forward_datagrams) == (72, 4)
    assert (native.forward_payload_bytes, native.forward_datagrams) == (72, 4)
    more = arrived | {"native": {"family": 6, "unique": 6}}
    [reason] = WORKLOADS["frames"].summarise(params, sent, more).invalid
    assert reason.kind is ReasonKind.LEDGER


def test_the_agents_get_both_families_for_native_frames_alone() -> None:
    kind = WORKLOADS["frames"]
    assert kind.families(PARAMS) == frozenset()
    assert kind.families(PARAMS | {"native_ratio": 0.1}) == {4, 6}
    both: dict[Family, Legs] = {6: (), 4: ()}
    [path] = read("{n: native6}", "{frame: 84B, packet-rate: 1kpps}").paths
    assert list(performer_of(kind).ordered(both, path, {})) == [6, 4]


def test_addresses_behind_the_hosts_are_what_evidence_allows() -> None:
    params = PARAMS | {"networks": 256, "server_networks": "198.19.128.0/25", "client_networks": "198.19.0.0/25"}
    destinations = WORKLOADS["frames"].traffic(params, SENT, ARRIVED).destinations
    assert len(destinations) == 510
    assert IPv4Address("198.19.128.130") in destinations


def test_frames_that_lost_their_extension_headers_are_told() -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, SENT, ARRIVED | {"otherwise_extended": 3})
    assert any(note.startswith("3 frames arrived with other extension headers") for note in measured.notes)


def test_frames_cannot_go_over_a_mechanism_in_a_host() -> None:
    actual_problems = problems("{t: {6in4: [h1, r2]}}", "{frame: 100B, packet-rate: 1kpps}")
    assert "x.yaml:5: paths.t" in actual_problems
    assert "frames cannot go over 6in4: it has a device in the host h1" in actual_problems


def test_the_metrics_of_a_flow() -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, SENT, ARRIVED)
    assert measured.invalid == []
    for column, value in {
        "loss_ratio": 0.2,
        "corrupt_ratio": 0.1,
        "duplicates_ratio": 0.1,
        "late_ratio": 0.0,
        "packets_rate_pps": 1000.0,
        "goodput_bps": 8 * 126e9 / 7e6,
        "one_way_delay_p999_ns": 5000.0,
        "inter_frame_error_p50_ns": 5000.0,
    }.items():
        assert measured.metrics[column] == pytest.approx(value), column


@pytest.mark.parametrize(
    ("sent", "arrived", "kind", "words"),
    [
        ({"due": 11}, {}, ReasonKind.TESTER_LIMITED, "sent 10 of the 11 frames that were due"),
        ({"lateness": TIMES | {"p999": 10**8}}, {}, ReasonKind.TESTER_LIMITED, "left 100 ms late or later"),
        ({"measured_ns": 29_000_000}, {}, ReasonKind.TESTER_LIMITED, "took 20 ms longer than the 9 ms"),
        ({}, {"ring_drops": 3}, ReasonKind.TESTER_LIMITED, "had no room for 3 frames"),
        ({}, {"lost_middle": 0}, ReasonKind.LEDGER, "does not add up"),
    ],
)
def test_a_tester_that_was_too_slow_says_nothing_of_the_device(
    sent: dict[str, Any], arrived: dict[str, Any], kind: ReasonKind, words: str
) -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, {**SENT, **sent}, {**ARRIVED, **arrived})
    [reason] = measured.invalid
    assert reason.kind is kind
    assert words in reason.text


def test_a_frame_that_leaves_before_the_next_one_is_due_is_not_too_late() -> None:
    slow = {"frame_bytes": 1518, "rate_pps": 50, "count": 10}
    sent = SENT | {"measured_ns": 180_000_000, "lateness": TIMES | {"p999": 19_000_000}}
    assert WORKLOADS["frames"].summarise(slow, sent, ARRIVED).invalid == []
    late = sent | {"lateness": TIMES | {"p999": 21_000_000}}
    [reason] = WORKLOADS["frames"].summarise(slow, late, ARRIVED).invalid
    assert "21 ms late or later, where 20 ms are tolerated" in reason.text


def test_the_time_to_recover_is_until_the_last_lost_frame_was_due() -> None:
    params = {"frame_bytes": 64, "rate_pps": 1000, "duration_ns": 20_000_000}
    params |= {"step_after_ns": 10_000_000, "step_rate_pps": 500, "direction": "both"}
    sent = SENT | {"sent": 15, "due": 15, "measured_ns": 18_000_000}
    arrived = ARRIVED | {"unique": 14, "lost_middle": 1, "lost_tail": 0}

    def recovery_ns(*last_lost: int) -> float | None:
        there, back = ({**arrived, "last_lost": last} for last in last_lost)
        client = {"forward_sender": sent, "reverse_receiver": back}
        server = {"forward_receiver": there, "reverse_sender": sent}
        return WORKLOADS["frames"].summarise(params, client, server).metrics.get("recovery_ns")

    assert recovery_ns(9, 3) == 0
    assert recovery_ns(12, 3) == 4_000_000
    assert recovery_ns(12, 13) == 6_000_000
    assert WORKLOADS["frames"].summarise(PARAMS, SENT, ARRIVED).metrics.get("recovery_ns") is None


def test_both_directions_have_their_own_rates() -> None:
    client = {"forward_sender": SENT, "reverse_receiver": ARRIVED}
    server = {"forward_receiver": ARRIVED, "reverse_sender": SENT | {"due": 12}}
    measured = WORKLOADS["frames"].summarise(PARAMS | {"direction": "both"}, client, server)
    assert measured.metrics["packets_rate_reverse_pps"] == measured.metrics["packets_rate_pps"]
    assert measured.metrics["loss_reverse_ratio"] == 0.2
    assert [reason.text for reason in measured.invalid] == [
        "the sender sent 10 of the 12 frames that were due (reverse)"
    ]
