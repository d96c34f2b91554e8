"""A CLAT that learns its prefix: who tells it, what is asked, and what a bring-up is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sixbench.agent.requests import REQUESTS
from sixbench.bench.proof.discovered import dhcp_evidence, without_questions
from sixbench.bench.proof.translators import translator_evidence
from sixbench.bench.proof.viewpoints import viewpoints
from sixbench.engines import EBPF
from sixbench.lab.build import _filled
from sixbench.lab.render import device_lines_of, render_path
from sixbench.mechanisms import find_engine, install
from sixbench.mechanisms.discovering import wrong_prefix
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.observation import CaptureAnswer, TranslatorState
from sixbench.model.reason import ReasonKind
from sixbench.model.stage import NodeRequest
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  p: {path}
workloads: [{workload}]
"""
BY_RA = "{464xlat: {nodes: [h1, r2], discovery: ra}}"
BY_DNS64 = "{464xlat: {nodes: [r1, r2], discovery: dns64, dns64: r2}}"


def network(read: Read, path: str, workload: str = "bring-up") -> Network:
    experiment = read(TEXT.format(path=path, workload=workload))
    return install(experiment.paths[0], experiment.topologies[0], experiment.between)


def requests(built: Network, node: str) -> list[NodeRequest]:
    script = render_path(built, EBPF.name)[node]
    return [request for stage in (*script.first_devices, *script.stages) for request in stage.requests]


def test_the_next_router_advertises_the_prefix_and_then_the_clat_asks(read: Read) -> None:
    actual_network = network(read, BY_RA)
    [advertise] = requests(actual_network, "r1")
    assert advertise.op == "router-advertise"
    assert advertise.fields["device"] == "eth0"
    assert advertise.fields["pref64"] == [{"prefix": "2001:db8:64::/96", "lifetime_s": 1800}]
    discover, add = requests(actual_network, "h1")
    assert (discover.op, discover.fields["by"], discover.fields["device"]) == ("prefix-discover", "ra", "eth0")
    learned = {("h1", "prefix-discover"): {"prefix": "2001:db8:99::/96"}}
    assert _filled(add.fields, learned)["mapping"]["prefixes"] == ["2001:db8:99::/96"]
    for request in (advertise, discover):
        REQUESTS[request.op](**request.fields)


def test_the_resolver_is_there_before_it_is_asked(read: Read) -> None:
    actual_network = network(read, BY_DNS64)
    assert [request.op for request in requests(actual_network, "r2")] == ["translator-add", "dns-start"]
    assert [request.op for request in requests(actual_network, "r1")] == ["prefix-discover", "translator-add"]
    discover, _ = requests(actual_network, "r1")
    assert (discover.fields["by"], discover.fields["resolver"]) == ("dns64", "2001:2:0:1::2")
    assert not actual_network.resolvers


def test_a_clat_that_has_its_prefix_asks_nobody(read: Read) -> None:
    paths = ("{464xlat: {nodes: [r1, r2], discovery: static}}", "{464xlat: [r1, r2]}")
    static, plain = (network(read, path, "ping") for path in paths)
    assert static == plain
    assert static.learning is None


def test_another_prefix_than_the_plats_is_told(read: Read) -> None:
    clat = network(read, BY_RA).learning
    assert clat is not None
    assert clat.discovery is not None
    assert wrong_prefix(clat.discovery, "2001:db8:64::/96") is None
    assert (
        wrong_prefix(clat.discovery, "64:ff9b::/96")
        == "r1 announced the prefix 64:ff9b::/96, but the PLAT uses 2001:db8:64::/96"
    )


def test_the_routes_into_the_translator_are_made_again(read: Read) -> None:
    actual_network = network(read, BY_RA)
    clat = actual_network.learning
    assert clat is not None
    lines = device_lines_of(actual_network, clat)
    assert "route add 198.18.2.0/24 dev 464xlat-1" in lines
    assert all(line.endswith("dev 464xlat-1") for line in lines)
    assert sorted(lines) == sorted(render_path(actual_network, EBPF.name)["h1"].made_routes)
    assert [":" in line for line in lines] == sorted([":" in line for line in lines], reverse=True)


def test_tayga_does_not_learn(read: Read) -> None:
    clat = network(read, BY_RA).learning
    assert clat is not None
    assert find_engine("tayga").unfit(clat) == "tayga has its prefix from its configuration; leave discovery out"


def test_the_clat_first_asks_whether_it_needs_ipv4(read: Read) -> None:
    actual_network = network(read, "{464xlat: {nodes: [h1, r2], discovery: ra, option-108: true}}")
    _, serve = requests(actual_network, "r1")
    assert serve.op == "dhcp-serve"
    known = {"device": "eth0", "server": "198.18.0.2", "first": "198.18.0.1", "last": "198.18.0.1", "prefix_bits": 24}
    assert known.items() <= serve.fields.items()
    assert serve.fields["v6only_wait_s"] == 1800
    ask, discover, _ = requests(actual_network, "h1")
    assert (ask.op, ask.fields["device"], discover.op) == ("dhcp-ask", "eth0", "prefix-discover")
    for request in (serve, ask):
        REQUESTS[request.op](**request.fields)
    assert actual_network.learning is not None
    assert actual_network.learning.discovery is not None
    assert actual_network.learning.discovery.dhcp == ask.fields


def test_the_next_router_tells_it_though_another_one_resolves(read: Read) -> None:
    actual_network = network(read, "{464xlat: {nodes: [h1, r2], discovery: dns64, dns64: r2, option-108: true}}")
    assert [request.op for request in requests(actual_network, "r1")] == ["dhcp-serve"]
    assert [request.op for request in requests(actual_network, "h1")][:2] == ["dhcp-ask", "prefix-discover"]


def message(name: str, **fields: Any) -> dict[str, Any]:
    layers = [{"kind": "ethernet"}, {"kind": "ipv4"}, {"kind": "udp"}, {"kind": "dhcp", "message": name, **fields}]
    return {"wire_bytes": 342, "data": "", "layers": layers}


def capture(packets: list[dict[str, Any]]) -> CaptureAnswer:
    return CaptureAnswer.model_validate({"packets": packets, "matched": len(packets)})


DISCOVER = message("discover", wants_v6only=True)
OFFER = message("offer", wants_v6only=False, v6only_wait_s=1800)


@pytest.mark.parametrize(
    ("packets", "kinds"),
    [
        ([DISCOVER, OFFER, DISCOVER, OFFER], []),
        ([DISCOVER, message("offer", wants_v6only=False)], [ReasonKind.NOT_SEEN, ReasonKind.OTHER_PATH]),
        ([message("discover", wants_v6only=False), OFFER], [ReasonKind.NOT_SEEN, ReasonKind.OTHER_PATH]),
        ([DISCOVER, OFFER, message("request", wants_v6only=True)], [ReasonKind.OTHER_PATH]),
        ([], [ReasonKind.NOT_SEEN, ReasonKind.NOT_SEEN]),
    ],
)
def test_packets_prove_that_it_does_without(read: Read, packets: list[dict[str, Any]], kinds: list[ReasonKind]) -> None:
    actual_network = network(read, "{464xlat: {nodes: [h1, r2], discovery: ra, option-108: true}}")
    views = viewpoints(actual_network)
    captures = [capture(packets if number == 0 else []) for number in range(len(views))]
    seen, reasons = dhcp_evidence(actual_network, views, captures)
    assert [reason.kind for reason in reasons] == kinds
    assert seen is not None
    assert sum(seen.messages.values()) == len(packets)
    assert len(seen.packets) == min(2, len(packets))
    assert [without_question.packets for without_question in without_questions(actual_network, captures)] == [
        [] for _ in views
    ]


def test_other_paths_have_no_dhcp(read: Read) -> None:
    actual_network = network(read, BY_RA)
    assert dhcp_evidence(actual_network, viewpoints(actual_network), [capture([DISCOVER])] * 3) == (None, [])


def test_the_time_until_it_does_without_counts_from_the_beginning() -> None:
    kind = WORKLOADS["bring-up"]
    actual_repetition = repetition(dhcp_ns=1_600)
    actual_repetition["clat"]["dhcp"] = {"asked": 2}
    results = {"repetitions": [actual_repetition, actual_repetition]}
    measured = kind.summarise({}, results, {})
    assert measured.metrics["time_to_v6only_p50_ns"] == 600
    assert measured.notes == ["in 2 of 2 repetitions, the CLAT had to ask more than once"]
    assert kind.traffic({}, results, {}).foreign_packets == 4


def repetition(**changes: Any) -> dict[str, Any]:
    times = {"begun_ns": 1_000, "discovered_ns": 3_000, "configured_ns": 8_000} | changes
    probe = {"began_ns": times.pop("began_ns", 500), "sent": 4, "refused": {}, "errors": {}}
    received_ns = times.pop("received_ns", 11_000)
    if received_ns is not None:
        probe["answered"] = {"number": 3, "sent_ns": 9_000, "received_ns": received_ns}
    return {"clat": times | {"discovered": {"asked": times.pop("asked", 1)}}, "probe": probe}


def test_times_count_from_the_beginning_of_the_search() -> None:
    kind = WORKLOADS["bring-up"]
    results = {"repetitions": [repetition(), repetition(received_ns=21_000), repetition(received_ns=13_000, asked=2)]}
    measured = kind.summarise({}, results, {})
    assert measured.invalid == []
    assert measured.metrics["time_to_prefix_p50_ns"] == 2_000
    assert measured.metrics["time_to_configured_p50_ns"] == 7_000
    assert (measured.metrics["time_to_ipv4_p50_ns"], measured.metrics["time_to_ipv4_max_ns"]) == (12_000, 20_000)
    assert measured.histograms["time_to_ipv4"]["buckets"] == [[10_000, 1], [12_000, 1], [20_000, 1]]
    assert measured.notes == ["in 1 of 3 repetitions, the CLAT had to ask more than once"]
    assert kind.traffic({}, results, {}).messages == 6


def test_a_repetition_without_an_answer_has_no_time() -> None:
    kind = WORKLOADS["bring-up"]
    measured = kind.summarise({}, {"repetitions": [repetition(received_ns=None)]}, {})
    assert [reason.kind for reason in measured.invalid] == [ReasonKind.NOTHING_ARRIVED]
    assert measured.metrics == {}


def test_requests_that_begin_late_measure_nothing() -> None:
    measured = WORKLOADS["bring-up"].summarise({}, {"repetitions": [repetition(began_ns=8_001)]}, {})
    assert [reason.kind for reason in measured.invalid] == [ReasonKind.TESTER_LIMITED]
    assert measured.metrics == {}


def counted(packets: int) -> TranslatorState:
    count = {"packets": packets, "bytes": 100 * packets}
    fields = {
        "to_ipv6": count,
        "to_ipv4": count,
        "slow": {"udp": count},
        "answered": {},
        "drops": {},
        "waiting": {"packets": 0, "bytes": 0},
    }
    return TranslatorState.model_validate(fields)


def test_the_counters_of_translators_that_were_taken_away_count(read: Read) -> None:
    actual_network = network(read, BY_RA)
    before, after = ({"h1": {"464xlat-1": counted(n)}, "r2": {"464xlat-2": counted(n)}} for n in (5, 7))
    actual_translator_evidence = translator_evidence(actual_network, before, after, [counted(6), counted(3)])
    assert actual_translator_evidence["h1"]["464xlat-1"].to_ipv6.packets == (6 - 5) + 3 + 7
    assert actual_translator_evidence["h1"]["464xlat-1"].slow["udp"].packets == 11
    assert actual_translator_evidence["r2"]["464xlat-2"].to_ipv6.packets == 2
