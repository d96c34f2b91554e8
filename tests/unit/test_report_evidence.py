"""Reports on evidence: links, packets, tunnels, the ways of paths; and on evidence that is unlike it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from stored import bare_record
from synthetic_values import old_evidence

from sixbench.model.captured import KeptPacket, Layer
from sixbench.model.evidence import Evidence, evidence_from_json
from sixbench.model.evidence.counts import CountIncrease
from sixbench.model.evidence.transactions import TransactionLink
from sixbench.model.evidence.tunnels import TunnelCounters
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path as NetworkPath
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.record_json import record_from_json, record_to_json
from sixbench.model.trial import TrialRecord
from sixbench.report import evidence
from sixbench.report.evidence.packets import PacketSum
from sixbench.report.evidence.transactions import TransactionSum, transactions_table
from sixbench.report.evidence.tunnels import TunnelEnd, TunnelSum, tunnels_table
from sixbench.report.path_descriptions import path_descriptions
from sixbench.report.path_tables import paths_table
from sixbench.report.routes import route_of
from sixbench.report.validity import trials as count_trials
from sixbench.store import Run

pytestmark = pytest.mark.computes


def found_in(run: Run) -> dict[str, evidence.PathSums]:
    return {item.path: item for item in evidence.by_path(run)}


def packets_in(run: Run) -> dict[str, PacketSum]:
    return {path: sums.of(PacketSum) for path, sums in found_in(run).items()}


def of_all_trials(data: dict[str, Any]) -> Run:
    """A run each of whose trials has this evidence, as records have it."""
    run = synthetic.small(blocks=1).in_memory()
    return replace(run, trials=[replace(trial, evidence=evidence_from_json(data)) for trial in run.trials])


def test_evidence_adds_up_over_trials_link_by_link() -> None:
    path = found_in(synthetic.transition(blocks=2).in_memory())["router-to-router"]
    assert (path.trials, path.are_valid) == (10, True)
    tunnel = path.of(PacketSum)
    assert tunnel.families == {"ipv6": 640}
    assert [(link.link, link.claimed, link.seen) for link in tunnel.links] == [
        ("h1-r1", ["ipv6"], {"ipv6": 640}),
        ("r1-r2", ["ipv6 in ipv4"], {"ipv6 in ipv4": 640}),
        ("r2-h2", ["ipv6"], {"ipv6": 640}),
    ]
    assert tunnel.middle is tunnel.links[1]
    assert tunnel.middle.outer == {"198.18.1.1 > 198.18.1.2": 440, "198.18.1.2 > 198.18.1.1": 200}
    assert tunnel.middle.stacks == {"Ethernet / IPv4 / IPv6 / TCP": 10}
    assert (tunnel.middle.captured, tunnel.middle.max_ip_bytes) == (640, 1500)


def test_packets_are_shown_once_for_links_on_which_they_are_alike() -> None:
    packets = packets_in(synthetic.transition(blocks=1).in_memory())
    assert [
        (packet.links, packet.stack.text, packet.stack.payload_bytes) for packet in packets["router-to-router"].packets
    ] == [
        (("h1-r1", "r2-h2"), "Ethernet / IPv6 / TCP", 1408),
        (("r1-r2",), "Ethernet / IPv4 / IPv6 / TCP", 1408),
    ]
    [native] = packets["ipv4"].packets
    assert (native.links, native.stack.total_bytes) == (("h1-r1", "r1-r2", "r2-h2"), 1514)


def test_a_larger_packet_that_the_path_does_not_claim_is_not_its_packet() -> None:
    run = synthetic.transition(blocks=1).in_memory()
    layers = (Layer(kind="ethernet", bytes=14), Layer(kind="ipv4", bytes=20))
    stray = KeptPacket(wire_bytes=9000, layers=layers)

    def with_stray(kept: Evidence) -> Evidence:
        first, middle, *rest = kept.segments or ()
        return replace(kept, segments=(first, replace(middle, packets=(stray, *middle.packets)), *rest))

    run = replace(run, trials=[replace(trial, evidence=with_stray(trial.evidence)) for trial in run.trials])
    packets = packets_in(run)["router-to-router"].packets
    assert [packet.stack.total_bytes for packet in packets] == [1494, 1514]


def test_payload_of_a_fragment_is_what_is_in_it() -> None:
    layers = [
        {"kind": "ethernet", "bytes": 14},
        {"kind": "ipv4", "bytes": 20},
        {"kind": "udp", "bytes": 8, "payload_bytes": 4000},
    ]
    later = [{"kind": "ethernet", "bytes": 14}, {"kind": "ipv4", "bytes": 20}, {"kind": "fragment-data", "bytes": 158}]
    segments = [
        {"link": "h1-r1", "claimed": "ipv4", "packets": [{"wire_bytes": 1514, "layers": layers}]},
        {"link": "r1-r2", "claimed": "ipv4", "packets": [{"wire_bytes": 1510, "layers": later}]},
    ]
    first, rest = packets_in(of_all_trials({"segments": segments}))["ipv4"].packets
    assert (first.stack.text, first.stack.payload_bytes) == ("Ethernet / IPv4 / UDP", 1472)
    assert (rest.stack.text, rest.stack.payload_bytes) == ("Ethernet / IPv4", 1476)


def test_an_atomic_fragment_is_called_so() -> None:
    fragment = {"offset_bytes": 0, "more": False, "identification": 7}
    layers = [{"kind": "ipv6", "bytes": 48, "fragment": fragment}, {"kind": "udp", "bytes": 8, "fragment": None}]
    packet = {"wire_bytes": 100, "layers": layers}
    run = of_all_trials({"segments": [{"link": "h1-r1", "claimed": "ipv6", "packets": [packet]}]})
    assert packets_in(run)["ipv6"].packets[0].stack.text == "IPv6 (atomic fragment) / UDP"


def test_runs_of_earlier_versions_can_be_read() -> None:
    run = synthetic.small(blocks=1)
    link = run.manifest.experiment.topologies[0].links[1]
    paths = {path.name: path for path in run.manifest.experiment.paths}
    trials = [replace(trial, evidence=old_evidence(paths[trial.path], link)) for trial in run.trials]
    path = found_in(replace(run, trials=trials).in_memory())["ipv6"]
    result = path.of(PacketSum)
    assert result.middle is result.links[0]
    assert (result.middle.link, result.middle.claimed, result.middle.seen) == ("r1-r2", ["ipv6"], {"ipv6": 192})
    assert [(packet.links, packet.stack.text) for packet in result.packets] == [(("r1-r2",), "Ethernet / IPv6 / TCP")]
    assert path.of(TunnelSum).ends == []


NOTHING = {"packets": 0, "bytes": 0}


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"link": "a", "capture_dropped": None, "max_ip_bytes": None},
        {"something": {"of": "a later version"}},
        {"segments": [], "middle": 2**64 - 1},
        {"segments": [{"link": "a"}], "middle": 7},
        {"segments": [{"link": "", "packets": [{"wire_bytes": 0, "layers": []}], "stacks": {"ipv6": 0}}]},
        {"segments": [{"link": "a", "packets": [{"wire_bytes": 0, "layers": [{"kind": "", "bytes": 2**64 - 1}]}]}]},
        {"segments": [{"link": "a", "packets": [{"wire_bytes": 1, "layers": [{"kind": "novel", "fragment": None}]}]}]},
        {"tunnels": {"r1": {"d": {"encapsulated": {"packets": -1, "bytes": -1}, "decapsulated": NOTHING}}}},
        {"losses": {"located": [], "refused": {}, "unlocated": 0, "lost": 0, "not_told": ""}},
    ],
)
def test_evidence_may_lack_anything_and_say_anything_that_its_form_has(odd: dict[str, Any]) -> None:
    run = of_all_trials(odd)
    result = found_in(run)
    assert list(result) == ["ipv4", "ipv4-again", "ipv6"]
    assert not any(item.of(PacketSum).families for item in result.values())
    links = [link for item in result.values() for link in item.of(PacketSum).links]
    assert all(link.max_ip_bytes is None and not link.seen for link in links)
    assert all(end.carried_packets == 0 for item in result.values() for end in item.of(TunnelSum).ends)
    path_descriptions(run)


@pytest.mark.parametrize(
    "odd",
    [
        {"link": "a", "packets": None},
        {"link": 3},
        {"link": "a", "stacks": "many"},
        {"link": "a", "stacks": {"ipv6": -1}},
        {"link": "a", "captured_packets": True},
        {"link": "a", "captured_packets": 1.5},
        {"link": "a", "captured_packets": 2**64},
        {"segments": [{"link": "a", "packets": [[]]}]},
        {"segments": [{"link": "a", "packets": [{"layers": [{"kind": "novel"}], "wire_bytes": None}]}]},
        {"segments": [{"stacks": {}}]},
        {"middle": -1},
        {"tunnels": {"r1": {"d": {"encapsulated": {"packets": "many", "bytes": 0}, "decapsulated": NOTHING}}}},
        {"tunnels": {"r1": {"d": {"decapsulated": NOTHING}}}},
        {"emulation": {"a": {"emulator": "user", "forward": {"packets": -1}}}},
        {"losses": {"located": [{"where": "here", "what": "so", "datagrams": "many", "other_packets": 0}]}},
        {"losses": {"refused": {"ENOBUFS": None}}},
    ],
)
def test_counts_of_another_form_come_into_no_report(odd: dict[str, Any]) -> None:
    """So that reports need not look again."""
    with pytest.raises(ValueError, match="evidence"):
        record_from_json(record_to_json(synthetic.small().trials[0]) | {"evidence": odd})


# --- transactions -------------------------------------------------------------------------------------------------


def test_bytes_of_transactions_stand_beside_theory_for_each_link_and_level() -> None:
    def trial(version: str, path: str, sent: float | None) -> TrialRecord:
        links = (
            TransactionLink(link="lan", least_sent=100, least_received=2000),
            TransactionLink(link="core", least_sent=140, least_received=2040, sent=sent, received=2100.0),
        )
        levels: dict[str, Scalar] = {"version": version, "objects": 60}
        transactions = Evidence(transactions=links)
        return bare_record("http", combination=f"c{version}", path=path, levels=levels, evidence=transactions)

    def added(path: str, *trials: TrialRecord) -> evidence.PathSums:
        sums = TransactionSum()
        for item in trials:
            sums.add(item)
        return evidence.PathSums(
            path=path, mechanism="native4", engines=[], trials=len(trials), are_valid=True, sums=[sums]
        )

    paths = [
        added("ipv4", trial("3", "ipv4", None), trial("2", "ipv4", 150.0), trial("2", "ipv4", 171.0)),
        added("ipv6", trial("2", "ipv6", 1000.0)),
    ]
    table = transactions_table(paths)
    assert table is not None
    assert [column.name for column in table.columns][2:6] == ["link", "trials", "sent, at least", "sent"]
    assert table.rows == [
        ["ipv4", "http, version 2", "lan", "2", "100", "–", "2\u00a0000", "–"],
        ["ipv4", "http, version 2", "core", "2", "140", "160", "2\u00a0040", "2\u00a0100"],
        ["ipv4", "http, version 3", "lan", "1", "100", "–", "2\u00a0000", "–"],
        ["ipv4", "http, version 3", "core", "1", "140", "–", "2\u00a0040", "2\u00a0100"],
        ["ipv6", "http, version 2", "lan", "1", "100", "–", "2\u00a0000", "–"],
        ["ipv6", "http, version 2", "core", "1", "140", "1\u00a0000", "2\u00a0040", "2\u00a0100"],
    ]
    assert transactions_table([added("ipv4", bare_record("ping"))]) is None


# --- tunnels ------------------------------------------------------------------------------------------------------


def test_ends_of_tunnels_add_up_over_trials() -> None:
    def trial(drops: dict[str, int], slow: int) -> dict[str, Any]:
        return {
            "encapsulated": {"packets": 100, "bytes": 1000},
            "decapsulated": {"packets": 50, "bytes": 500},
            "slow_encapsulated": {"packets": slow, "bytes": 10 * slow},
            "slow_decapsulated": {"packets": 0, "bytes": 0},
            "slow": {"outer-fragment": {"packets": slow, "bytes": 10 * slow}},
            "drops": {reason: {"packets": count, "bytes": 0} for reason, count in drops.items()},
        }

    counted = [{"r1": {"t": trial({"ttl": 1}, 5)}}, {}, {"r1": {"t": trial({"ttl": 2, "ecn": 9}, 0)}}]
    [record, *_] = synthetic.small(blocks=1).trials
    added = TunnelSum()
    for tunnels in counted:
        added.add(replace(record, evidence=evidence_from_json({"tunnels": tunnels})))
    [end] = added.ends
    assert (end.node, end.device, end.trials) == ("r1", "t", 2)
    assert end.encapsulated == CountIncrease(packets=200, bytes=2000)
    assert end.slow == {"outer-fragment": CountIncrease(packets=5, bytes=50)}
    assert {reason: count.packets for reason, count in end.drops.items()} == {"ecn": 9, "ttl": 3}
    assert (end.carried_packets, end.slow_packets, end.dropped_packets) == (305, 5, 12)


def test_an_engine_without_a_slow_path_has_none_rather_than_an_empty_one() -> None:
    nothing = CountIncrease(packets=0, bytes=0)
    added = TunnelSum()
    kept = Evidence(tunnels={"r1": {"t": TunnelCounters(encapsulated=nothing, decapsulated=nothing)}})
    added.add(replace(synthetic.small(blocks=1).trials[0], evidence=kept))
    [end] = added.ends
    assert end.slow_packets is None
    assert TunnelEnd(node="r1", device="t", slow_encapsulated=nothing).slow_packets == 0


def test_a_user_sees_whether_the_slow_path_carried_anything_and_why_packets_were_dropped() -> None:
    table = tunnels_table(evidence.by_path(synthetic.transition(blocks=1).in_memory()))
    assert table is not None
    headings = [column.name for column in table.columns]
    ends = {(row[0], row[2]): dict(zip(headings, row, strict=True)) for row in table.rows}
    kernel, ours = ends["router-to-router", "r1 6in4-1"], ends["host-to-host", "h2 6over4-1"]
    assert (kernel["slow share"], kernel["dropped"]) == ("–", "5 (<0.01 %)")
    assert kernel["dropped by reason"] == "rx_errors 5"
    assert ours["slow share"] == "<0.01 %"
    assert ours["dropped by reason"] == "no-mapping 10, ecn-invalid 5"
    assert ours["to the slow path by reason"] == "neighbour-unresolved 15"


# --- paths --------------------------------------------------------------------------------------------------------


def test_paths_say_where_they_are_installed_and_how_long_that_took() -> None:
    table = paths_table(path_descriptions(synthetic.transition(blocks=1).in_memory()))
    headings = [column.name for column in table.columns]
    paths = {row[0]: dict(zip(headings, row, strict=True)) for row in table.rows}
    tunnel = paths["router-to-router"]
    assert (tunnel["engine"], tunnel["headers"], tunnel["tunnel MTU"]) == ("kernel", "IPv6 in IPv4", "1480")
    assert (tunnel["installed in"], paths["ipv6"]["installed in"]) == ("61.0 ms", "")
    assert tunnel["tunnel ends"].replace("\u00a0", " ") == "r1 198.18.1.1, r2 198.18.1.2"
    assert paths["ipv6"]["role"] == "baseline"


def test_mtus_of_all_networks_are_named() -> None:
    items = {item.path.name: item for item in path_descriptions(synthetic.many_levels(blocks=1).in_memory())}
    assert items["router-to-router"].mtu_bytes == [1480, 8980]
    assert items["ipv4"].mtu_bytes == []


def test_the_addresses_behind_translation_are_both_named() -> None:
    run = synthetic.no_trials()
    path = NetworkPath(name="lite", mechanism="ds-lite", family=4, nodes=("r1", "r2"))
    experiment = replace(run.manifest.experiment, paths=(path,), baseline="lite")
    [row] = paths_table(path_descriptions(synthetic.replace_run(run, experiment=experiment).in_memory())).rows
    assert "192.168.1.1 (seen as 198.18.2.1) to 198.18.2.2" in row


def test_the_way_of_a_path_says_on_which_links_packets_are_in_which_tunnel() -> None:
    path = NetworkPath(name="vx", mechanism="vxlan", family=6, nodes=("r1", "r2"))
    route = route_of(path, synthetic.chain(), ("h1", "h2"))
    assert route is not None
    assert [(stretch.nodes, [tunnel.name for tunnel in stretch.tunnels]) for stretch in route.stretches] == [
        (("h1", "r1"), []),
        (("r1", "r2"), ["vxlan:r1-r2"]),
        (("r2", "h2"), []),
    ]
    assert route.deepest.headers == ("ipv4", "udp", "vxlan", "ethernet", "ipv6")
    assert route.nodes == ("h1", "r1", "r2", "h2")


@pytest.mark.parametrize(
    "path",
    [
        NetworkPath(name="a", mechanism="of-a-later-version", family=6),
        NetworkPath(name="b", mechanism="6in4", family=6, nodes=("r1", "gone")),
        NetworkPath(name="c", mechanism="6in4", family=6, nodes=("r1", "r1")),
    ],
)
def test_a_path_that_cannot_be_installed_has_no_way_and_still_a_report(path: NetworkPath) -> None:
    assert route_of(path, synthetic.chain(), ("h1", "h2")) is None


def test_a_trial_that_is_wrong_on_two_links_counts_once() -> None:
    run = synthetic.small(blocks=1)
    [first, *rest] = run.trials
    wrong = [f"{number} of 64 packets seen on r1-r2 at r{node} were ipv4" for number, node in ((3, 1), (64, 1), (3, 2))]
    spoilt = replace(first, status="invalid", reasons=[Reason(kind=ReasonKind.OTHER_PATH, text=text) for text in wrong])
    reasons = count_trials(replace(run, trials=[spoilt, *rest]).in_memory()).reasons
    assert [(reason.text, reason.count) for reason in reasons] == [(wrong[0], 1), (wrong[2], 1)]


def test_only_what_is_about_one_kind_of_evidence_names_it() -> None:
    """Sections of all formats, and their short forms for terminals, come from the kinds' own files."""
    report = Path(evidence.__file__).parents[1]
    kinds = re.compile("|".join([*(kind.__name__ for kind in evidence.SUMS), "emulation_table", "emulated_directions"]))
    naming = {
        str(file.relative_to(report)): {*kinds.findall(file.read_text())}
        for file in report.rglob("*.py")
        if file.parent.name != "evidence" and kinds.search(file.read_text())
    }
    assert naming == {
        "path_tables.py": {"PacketSum"},  # the headers of a path whose route is not known
        "html.py": {"PacketSum"},  # its section on headers
        "figures/headers.py": {"PacketSum"},
        "figures/fragments.py": {"FragmentSum"},
        "processors.py": {"ProcessorSum"},
    }
