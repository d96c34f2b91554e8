"""Networks with translators in them, what theory says of them, and the proof from their counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reasons import texts

from sixbench.bench.proof.translators import check_translators, translation_notes, translator_evidence
from sixbench.mechanisms import install
from sixbench.model.device import Translator
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.observation import TranslatorState
from sixbench.model.routing import all_routes
from sixbench.model.workload import Traffic
from sixbench.report.evidence.translators import TranslatorTotal
from sixbench.theory.expected import expected, path_mtu
from sixbench.theory.fragmentation import predict

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    [{{endpoints: [h1, r1], rate: 1Gbit}}, {{endpoints: [r1, r2], mtu: {mtu}, rate: 100Mbit}},
     {{endpoints: [r2, h2]}}{more}]
between: [h1, h2]
paths: {{p: {path}}}
workloads: [ping]
"""


def text(path: str, mtu: int = 1500, more: str = "") -> str:
    return TEXT.format(path=path, mtu=mtu, more=more)


@pytest.fixture
def network(read: Read) -> Callable[..., Network]:
    def make(path: str, mtu: int = 1500) -> Network:
        experiment = read(text(path, mtu))
        return install(experiment.paths[0], experiment.topologies[0], experiment.between)

    return make


Make = Callable[..., Network]


def test_one_translator_parts_the_network_in_two(network: Make) -> None:
    actual_network = network("{siit: [r1]}")
    assert [(leg.family, leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in actual_network.legs] == [
        (6, "h1", "r1", "2001:2::1", "2001:db8:64::c612:202"),
        (4, "r1", "h2", "192.0.2.1", "198.18.2.2"),
    ]
    assert [crossing.headers for crossing in actual_network.crossings] == [("ipv6",), ("ipv4",), ("ipv4",)]
    assert [crossing.hop_limit for crossing in actual_network.crossings] == [64, 62, 61]
    assert [crossing.ip[0].reverse_hop_limit for crossing in actual_network.crossings] == [61, 63, 64]


@pytest.mark.parametrize(
    ("path", "families", "ends"),
    [
        ("{siit: {nodes: [r2], client: ipv4}}", [4, 6], ("198.18.0.1", "192.0.2.1", "2001:2:0:2::2")),
        ("{siit: {nodes: [r1, r2], client: ipv4}}", [4, 6, 4], ("198.18.0.1", "198.18.2.2", "198.18.2.2")),
        ("{siit: [r1, r2]}", [6, 4, 6], ("2001:2::1", "2001:2:0:2::2", "2001:2:0:2::2")),
    ],
)
def test_either_side_may_be_ipv6(network: Make, path: str, families: list[int], ends: tuple[str, str, str]) -> None:
    actual_network = network(path)
    assert [leg.family for leg in actual_network.legs] == families
    assert (
        str(actual_network.legs[0].source),
        str(actual_network.legs[0].destination),
        str(actual_network.legs[-1].destination),
    ) == ends


@pytest.mark.parametrize("length", [32, 40, 48, 56, 64, 96])
def test_all_lengths_of_prefixes(network: Make, length: int) -> None:
    actual_network = network(f"{{siit: {{nodes: [r1, r2], client: ipv4, prefix: '2001:db8::/{length}'}}}}")
    middle = actual_network.legs[1]
    routes = all_routes(actual_network.topology, actual_network.devices)
    for node, address in (("r1", middle.source), ("r2", middle.destination)):
        into = [route.prefix for route in routes[node] if route.device.startswith("siit") and route.family == 6]
        assert any(address in prefix for prefix in into if prefix is not None)


def test_a_table_takes_the_place_of_the_pool(network: Make) -> None:
    actual_network = network("{siit: {nodes: [r1], eam: {198.51.100.0/28: '2001:2::/124'}}}")
    assert str(actual_network.legs[1].source) == "198.51.100.1"
    [device] = actual_network.translators
    assert device.mapping["explicit"] == [["198.51.100.0/28", "2001:2::/124"]]


@pytest.mark.parametrize(
    ("path", "more", "words"),
    [
        ("{siit: {nodes: [r1], prefix: '2001:db8::/33'}}", "", "another length than /32, /40"),
        ("{siit: {nodes: [r1], prefix: '64:ff9b::/96'}}", "", "must not stand for 198.18.1.1"),
        ("{siit: {nodes: [r1], prefix: '2001:2::/32'}}", "", "overlaps"),
        ("{siit: {nodes: [r1], pool: 198.18.2.0/24}}", "", "overlaps 198.18.2.0/24"),
        ("{siit: {nodes: [r1], pool: 192.0.2.0/32}}", "", "pool"),
        ("{siit: {nodes: [r1], pool: 192.0.2.0}}", "", "is not an IPv4 prefix"),
        ("{siit: {nodes: [r1], eam: {192.0.2.1: '2001:db8::1'}}}", "", "no row of the table maps 2001:2::1"),
        ("{siit: {nodes: [r1], eam: {192.0.2.1: '2001:2::1', 192.0.2.2: '2001:2::1'}}}", "", "overlap"),
        ("{siit: {nodes: [r1], eam: {198.18.2.2: '2001:2::1'}}}", "", "overlaps 198.18.2.0/24"),
        ("{siit: {nodes: [r1], pool: 224.0.0.0/8}}", "", "is for no hosts"),
        ("{siit: {nodes: [r1], pool: 0.0.0.0/8}}", "", "is for no hosts"),
        ("{siit: {nodes: [r1], prefix: 'ff05::/96'}}", "", "is for no hosts"),
        ("{siit: [h1]}", "", '"h1" is a host'),
        ("{siit: [r2, r1]}", "", "named from the client on"),
        ("{siit: [r1]}", ", {endpoints: [h1, r2]}", "not on the way"),
        ("{siit: [r1, r2, r1]}", "", "1 to 2 nodes"),
        ("{siit: {nodes: [r1], engine: ebpf2}}", "", "engine of siit"),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_line(problems: Problems, path: str, more: str, words: str) -> None:
    actual_problems = problems(text(path, more=more))
    assert len(actual_problems) == 1
    assert actual_problems[0].startswith("test.yaml:8: ")
    assert words in actual_problems[0]


def test_another_translation_of_addresses_on_the_way_is_refused(problems: Problems) -> None:
    given = text("{siit: [r1]}").replace("r2: router", "r2: {kind: router, masquerade: true}")
    [problem] = problems(given)
    assert '"r2", on the way from "r1" to "h2", masquerades' in problem


def test_a_way_around_the_translator_is_refused(problems: Problems) -> None:
    more = ", {endpoints: [r1, r3]}, {endpoints: [r3, r4]}, {endpoints: [r4, r2]}"
    given = text("{siit: {nodes: [r1, r2], client: ipv4}}", more=more).replace(
        "r2: router,", "r2: router, r3: router, r4: router,"
    )
    assert problems(given) == []  # Another way between the two translators passes neither by.
    given = text("{siit: [r1]}", more=", {endpoints: [h1, r3]}, {endpoints: [r3, r4]}, {endpoints: [r4, r2]}")
    [problem] = problems(given.replace("r2: router,", "r2: router, r3: router, r4: router,"))
    assert 'a way around "r1"' in problem


@pytest.mark.parametrize(
    ("path", "mtu", "limit_bytes", "mtu_bytes"),
    [
        # The client's packets of 1500 bytes are 1480 behind the translator.
        ("{siit: [r1]}", 1500, 1480 + 38, 1500),
        ("{siit: [r1]}", 1300, 1300 + 38, 1320),
        # Over IPv6 in the midst, packets of 1480 bytes are 1500.
        ("{siit: {nodes: [r1, r2], client: ipv4}}", 1500, 1500 + 38, 1480),
        ("{siit: {nodes: [r1, r2], client: ipv4}}", 1400, 1400 + 38, 1380),
    ],
)
def test_theory_follows_packets_through_translators(
    read: Read, path: str, mtu: int, limit_bytes: int, mtu_bytes: int
) -> None:
    experiment = read(text(path, mtu))
    [only_path], topology = experiment.paths, experiment.topologies[0]
    network = install(only_path, topology, experiment.between)
    assert path_mtu(network) == mtu_bytes
    payload = mtu_bytes - (40 if network.family == 6 else 20) - 32
    # Preamble and gap are 20 bytes, header and checksum of Ethernet 18.
    goodput_bps = expected("tcp-stream", {}, only_path, topology, experiment.between)["goodput_bps"]
    assert goodput_bps == pytest.approx(100e6 * payload / limit_bytes, rel=1e-12)


def test_datagrams_that_may_be_fragmented_are_cut_for_ipv6(network: Make) -> None:
    """RFC 7915 section 4: 1252 bytes of UDP are one packet of 1300 bytes, which is over 1280."""
    actual_network = network("{siit: {nodes: [r1], client: ipv4}}")
    settled = predict(actual_network, 1252, "clear").settled
    assert [load.sizes_bytes for load in settled.loads] == [(1280,), (1280, 48 + 28), (1280, 48 + 28)]
    settled = predict(actual_network, 1212, "clear").settled
    assert [load.sizes_bytes for load in settled.loads] == [(1240,), (1260,), (1260,)]


def test_sources_learn_path_mtus_in_their_own_family(network: Make) -> None:
    """RFC 7915 sections 4.2 and 5.2: 20 bytes more or less."""
    six = predict(network("{siit: [r1]}", 1300), 1400, "kernel")
    assert [attempt.learned_mtus for attempt in six.attempts] == [{("h1", "h2"): 1320}, {}]
    four = predict(network("{siit: {nodes: [r1], client: ipv4}}", 1300), 1400, "kernel")
    assert four.attempts[0].learned_mtus == {("h1", "h2"): 1280}


def counted(to_ipv6: int, to_ipv4: int, **more: dict[str, Any]) -> TranslatorState:
    """As `translator-counters` answers of one translator, packets of 1000 bytes."""
    output = {name: {"packets": n, "bytes": 1000 * n} for name, n in (("to_ipv6", to_ipv6), ("to_ipv4", to_ipv4))}
    return TranslatorState.model_validate(
        {"slow": {}, "answered": {}, "drops": {}, "waiting": {"packets": 0, "bytes": 0}} | output | more
    )


def test_translators_account_for_what_arrived(network: Make) -> None:
    actual_network = network("{siit: [r1]}")
    early, late = {"r1": {"siit-1": counted(5, 7)}}, {"r1": {"siit-1": counted(7, 17)}}
    evidence = translator_evidence(actual_network, early, late)
    assert (
        texts(
            check_translators(
                actual_network, evidence, Traffic(forward_payload_bytes=10_000, reverse_payload_bytes=2_000)
            )
        )
        == []
    )
    [wrong] = texts(
        check_translators(actual_network, evidence, Traffic(forward_payload_bytes=10_001, reverse_payload_bytes=0))
    )
    assert wrong == (
        "10001 bytes of payload arrived, but siit-1 of r1 translated only 10000 bytes to IPv4: they went another way"
    )
    [missing] = texts(check_translators(actual_network, {}, Traffic()))
    assert missing == "r1 could not be asked for the counters of its translator siit-1"


def test_what_was_dropped_or_answered_is_told(network: Make) -> None:
    actual_network = network("{siit: [r1]}")
    fields = {"packets": 1, "bytes": 60}
    late = counted(0, 0, drops={"no-mapping": fields, "not-unicast": fields}, answered={"packet-too-big": fields})
    evidence = translator_evidence(actual_network, {}, {"r1": {"siit-1": late}})
    assert translation_notes(evidence) == [
        "siit-1 of r1 dropped 1 packets: no-mapping",
        "siit-1 of r1 answered 1 packets: packet-too-big",
    ]


def test_fragments_that_still_wait_at_the_end_are_told(network: Make) -> None:
    actual_network = network("{siit: [r1]}")
    late = counted(0, 0, waiting={"packets": 3, "bytes": 180})
    evidence = translator_evidence(actual_network, {}, {"r1": {"siit-1": late}})
    [note] = translation_notes(evidence)
    assert note == "3 fragments still waited in siit-1 of r1 at the end for the first one of their packet"
    total = TranslatorTotal(node="r1", device="siit-1").with_trial(evidence["r1"]["siit-1"])
    assert total.waiting is not None
    assert total.waiting.packets == 3


def test_devices_are_as_wide_as_the_links_of_their_node(network: Make) -> None:
    [device] = network("{siit: [r1]}", 1300).devices
    assert isinstance(device, Translator)
    assert (device.mtu_bytes, device.mapping["mtu4"], device.mapping["mtu6"]) == (1500, 1300, 1500)


@pytest.mark.parametrize(
    ("nodes", "legs"),
    [
        ("[r1]", [("198.18.0.1", "192.0.2.3"), ("2001:db8:64::c612:1", "2001:2:0:2::2")]),
        (
            "[r1, r2]",
            [
                ("198.18.0.1", "198.18.2.2"),
                ("2001:db8:64::c612:1", "2001:db8:ed6e::c612:202"),
                ("198.18.0.1", "198.18.2.2"),
            ],
        ),
    ],
)
def test_a_data_centre_with_border_and_edge_relays(network: Make, nodes: str, legs: list[tuple[str, str]]) -> None:
    actual_network = network(f"{{siit-dc: {nodes}}}")
    assert [(str(leg.source), str(leg.destination)) for leg in actual_network.legs] == legs
