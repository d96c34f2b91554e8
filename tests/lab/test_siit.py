"""Stateless translators in real networks: every workload with evidence, path MTUs both ways, and what passes a narrow
link."""

from __future__ import annotations

import json
import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong
from lab.networks import Watched, built, execute

from sixbench.agent import AgentHub
from sixbench.agent.requests import TranslatorCountersRequest
from sixbench.mechanisms.embedding import embed

NETWORK = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], offload: {offload}}}
    - {{endpoints: [r1, r2], mtu: {mtu}, offload: {offload}}}
    - {{endpoints: [r2, h2], offload: {offload}}}
between: [h1, h2]
paths:
  six: {{siit: {{nodes: [r1], engine: {engine}}}}}
  four: {{siit: {{nodes: [r1], client: ipv4, engine: {engine}}}}}
  over-six: {{siit: {{nodes: [r1, r2], client: ipv4, prefix: "2001:db8:100::/40", engine: {engine}}}}}
  over-four: {{siit: {{nodes: [r1, r2], engine: {engine}}}}}
baseline: six
blocks: 1
"""


def of_paths(finished: Finished, metric: str) -> dict[str, float]:
    return {trial.path: trial.metrics[metric] for trial in finished.trials if metric in trial.metrics}


@pytest.mark.parametrize(("offload", "engine"), [("true", "ebpf"), ("false", "user")])
def test_every_workload_with_evidence(hub: AgentHub, tmp_path: Path, offload: str, engine: str) -> None:
    workloads = """
workloads:
  - ping: {count: 10, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-rr: {duration: 100ms, warmup: 0s}
  - tcp-connect: {duration: 100ms, warmup: 0s}
  - tcp-stream: {bytes: 2MB, warmup: 0s}
  - udp-stream: {datagram: 1200B, rate: 5Mbit, duration: 200ms, warmup: 0s}
"""
    finished = run(hub, NETWORK.format(mtu=1500, offload=offload, engine=engine) + workloads, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {trial.path for trial in finished.trials} == {"six", "four", "over-six", "over-four"}
    for trial in finished.trials:
        translators = trial.evidence.translators or {}
        assert set(translators) == ({"r1"} if trial.path in ("six", "four") else {"r1", "r2"})
        for devices in translators.values():
            [counted] = devices.values()
            both_ways = [counted.to_ipv6.packets > 5, counted.to_ipv4.packets > 5]
            assert any(both_ways) if trial.workload == "udp-stream" else all(both_ways)
            slow = sum(count.packets for count in counted.slow.values())
            translated = counted.to_ipv6.packets + counted.to_ipv4.packets
            assert slow == translated if engine == "user" else slow < 10
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)


def test_each_leg_has_its_family_and_addresses(hub: AgentHub, tmp_path: Path) -> None:
    text = NETWORK.format(mtu=1500, offload="true", engine="ebpf") + "workloads: [{ping: {count: 5, interval: 2ms}}]\n"
    finished = run(hub, text, tmp_path / "run")
    assert wrong(finished.trials) == []
    seen = {
        trial.path: [(segment.claimed, set(segment.outer)) for segment in trial.evidence.segments or ()]
        for trial in finished.trials
    }
    six = {"2001:2::1 > 2001:db8:64::c612:202", "2001:db8:64::c612:202 > 2001:2::1"}
    four = {"192.0.2.1 > 198.18.2.2", "198.18.2.2 > 192.0.2.1"}
    assert seen["six"] == [("ipv6", six), ("ipv4", four), ("ipv4", four)]
    assert [family for family, _ in seen["over-six"]] == ["ipv4", "ipv6", "ipv4"]
    assert seen["over-six"][1][1] == {
        "2001:db8:1c6:1200:1:: > 2001:db8:1c6:1202:2::",
        "2001:db8:1c6:1202:2:: > 2001:db8:1c6:1200:1::",
    }


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_path_mtus_are_learned_through_translators(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    """The question of OpenBSD's tests: behind a link of 1300, the IPv4 client learns 1280, the IPv6 client 1320."""
    finished = run(
        hub, NETWORK.format(mtu=1300, offload="true", engine=engine) + "workloads: [pmtu]\n", tmp_path / "run"
    )
    assert wrong(finished.trials) == []
    collected = {}
    for trial in finished.trials:
        file = finished.directory / "trials" / trial.key / "trial.json"
        record = json.loads(file.read_text())
        forward, reverse = record["client"]["forward"], record["server"]["reverse"]
        collected[trial.path] = [forward["kernel_bytes"], forward["probed_bytes"], reverse["kernel_bytes"]]
    # The link is an IPv4 one for `six` and `over-four`, and an IPv6 one for the others.
    assert collected == {
        "six": [1320, 1320, 1300],
        "four": [1280, 1280, 1300],
        "over-six": [1280, 1280, 1280],
        "over-four": [1320, 1320, 1320],
    }


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_200_000_bytes_come_through_a_narrow_link(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    workloads = "workloads: [{tcp-stream: {bytes: 200000B, direction: [forward, reverse]}}]\n"
    finished = run(hub, NETWORK.format(mtu=1300, offload="true", engine=engine) + workloads, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert len(finished.trials) == 8


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_servers_of_a_data_centre_reach_one_another_by_ipv4(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    """RFC 7755 section 4.4: who is asked sees an address of the prefix, and its answer goes back through the relay."""
    text = f"""
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {{dc: {{siit-dc: {{nodes: [r1], engine: {engine}}}}}}}
"""
    lab, network, _ = built(hub, text)
    try:
        ends = [end for link in network.topology.links for end in link.ends if end.ipv6 is not None]
        [relay] = network.translators
        prefix = IPv6Network(relay.mapping["prefixes"][0])
        table = {IPv6Network(ipv6)[0]: IPv4Network(ipv4)[0] for ipv4, ipv6 in relay.mapping["explicit"]}
        [asks], [asked, _] = ([end.ipv6.ip for end in ends if end.node == node] for node in ("h2", "r2"))
        sees, is_asked = (str(embed(prefix, table[item])) for item in (asks, asked))
        watched = Watched(lab.agents["r2"], "eth0")
        execute(lab.agents["h2"], "ping", "-c", "3", "-i", "0.01", "-W", "5", is_asked)
        echoes = [packet for packet in watched.packets(tmp_path) if packet.fields["icmpv6.type"] in ("128", "129")]
        assert {(packet.sources[0], packet.destinations[0]) for packet in echoes} == {
            (str(asks), is_asked),
            (sees, str(asked)),
            (str(asked), sees),
            (is_asked, str(asks)),
        }
        assert not any(packet.has_wrong_checksum for packet in echoes)
        [counted] = lab.agents["r1"].answer(TranslatorCountersRequest()).translators.values()
        assert counted.to_ipv4.packets >= 6
        # The first packet of each direction may wait for its next hop.
        assert ("hairpin" in counted.slow) == (engine == "user") or counted.slow["hairpin"].packets <= 2
    finally:
        lab.close()


ROUTER_BEYOND = """
topology:
  nodes: {{h1: host, r1: router, r2: router, r3: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, r3]}}, {{endpoints: [r3, h2]}}]
between: [h1, h2]
paths: {{p: {{{mechanism}: {{nodes: {nodes}, engine: {engine}, errors-from-destination: {flag}}}}}}}
"""


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    ("mechanism", "nodes", "engine"),
    [
        ("siit", "[r1]", "ebpf"),
        ("siit", "[r1]", "user"),
        ("nat64", "[r1]", "ebpf"),
        ("464xlat", "[r1, r2]", "ebpf"),
        ("map-t", "[r1, r2]", "user"),
    ],
)
def test_errors_of_ipv4_routers_come_from_where_the_packet_was_to_go_if_so_told(
    hub: AgentHub, mechanism: str, nodes: str, engine: str, flag: bool
) -> None:
    """The hop limit ends at r3, which is an IPv4 router in all of these paths."""
    text = ROUTER_BEYOND.format(mechanism=mechanism, nodes=nodes, engine=engine, flag=str(flag).lower())
    lab, network, _ = built(hub, text)
    try:
        asked = network.legs[0].destination
        [router] = [end.ipv4.ip for end in network.topology.links[2].ends if end.node == "r3" and end.ipv4 is not None]
        is_ipv6 = asked.version == 6
        translator = network.translators[-1]
        comes_from = embed(IPv6Network(translator.mapping["prefixes"][0]), router) if is_ipv6 else router
        hops = 3 + len(network.translators)
        words = ["ping", "-n", "-c", "1", "-W", "5", "-t", str(hops), str(asked)]
        output = str(lab.agents["h1"].call("exec", argv=words)["stdout"])
        assert re.findall(r"^From (\S+) icmp_seq=1 ", output, re.MULTILINE) == [str(asked if flag else comes_from)]
    finally:
        lab.close()


def test_fragments_are_what_theory_says(hub: AgentHub, tmp_path: Path) -> None:
    """IPv4 packets that may be fragmented are cut for IPv6, and IPv6's fragments become those of IPv4."""
    workloads = """
workloads:
  - udp-stream: {datagram: [1252B, 1400B, 4000B], df: [clear, set, kernel], rate: 2Mbit, duration: 150ms, warmup: 0s}
"""
    finished = run(hub, NETWORK.format(mtu=1500, offload="true", engine="ebpf") + workloads, tmp_path / "run")
    unexpected = [
        (trial.key, trial.combination, trial.path, trial.status, trial.evidence.fragments)
        for trial in finished.trials
        if trial.evidence.fragments is not None and trial.evidence.fragments.agrees is False
    ]
    assert unexpected == []
    judged = [
        trial for trial in finished.trials if (trial.evidence.fragments or None) and trial.evidence.fragments.agrees
    ]
    assert len(judged) >= 30
