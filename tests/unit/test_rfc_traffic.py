"""Tests of RFCs over frames that differ from plain ones: which are asked for, over which paths, and what is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from frames_trials import trial
from synthetic import standard

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.errors import UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.procedure import Procedure
from sixbench.model.trial import TrialRecord
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report import rfc as report
from sixbench.report.words import whole
from sixbench.rfc.conformance import JudgedClause, judged
from sixbench.rfc.design import design
from sixbench.rfc.results import results_of, values_of
from sixbench.rfc.sizes import line_pps
from sixbench.store import Run

pytestmark = pytest.mark.computes

NETWORKS, MIXES = "networks-256", ("native-10", "native-50", "native-90")
PREFIXES = ("prefix-48", "prefix-126", "prefix-128")
EXTENSIONS = ("hop-by-hop", "destination-options", "routing", "fragment", "chain")


def designed(
    dut: str, profile: str, *traffics: str, tests: Sequence[str] = (), sizes: Sequence[int] = (), quick: bool = True
) -> tuple[Experiment, Procedure]:
    read = read_experiment(parse_yaml(f"dut: {dut}\nworkloads: [ping]\n", "x.yaml"), MECHANISMS)
    return design(read, profile, tests, sizes, traffics, quick=quick)


def places(made: Experiment) -> dict[str, list[tuple[str, int]]]:
    """The tests and frame sizes by traffic."""
    found: dict[str, list[tuple[str, int]]] = {}
    for one in made.combinations:
        traffic = str(one.levels.get("rfc_traffic", "plain"))
        found.setdefault(traffic, []).append((str(one.levels["rfc_test"]), int(one.levels.get("frame_bytes", 0))))
    return found


def a_run(made: Experiment, procedure: Procedure, trials: Iterable[TrialRecord] = ()) -> Run:
    manifest = replace(standard(1).manifest, experiment=made, procedure=procedure)
    return Run(directory=Path("none"), manifest=manifest, trials=list(trials))


def clauses(run: Run) -> Mapping[str, JudgedClause]:
    return {f"{one.section}: {one.asks}": one for one in judged(run)}


OF_NETWORKS = "section 12: one pair of networks, then 256"
OF_LATENCY = "section 26.2: latency also with each tagged frame to another network"
OF_EXTENSIONS = "sections 5.3 and 7: extension headers: none, each one, a chain"
OF_MIXES = "section 5.3: 100/0, 90/10, 50/50 and 10/90 of translated to native traffic"
OF_PORTS = "RFC 4814 section 4.5: pseudo-random ports"


def test_quick_repeats_the_throughput_at_the_least_frames_that_fit() -> None:
    made, procedure = designed("forwarding", "5180", tests=["latency"])
    assert procedure.traffics == (NETWORKS, *PREFIXES, *MIXES, *EXTENSIONS)
    assert procedure.is_partial
    found = places(made)
    assert {size for test, size in found["plain"]} == {84, 128, 256, 512, 1024, 1280, 1518}
    assert {test for test, size in found["plain"]} == {"throughput", "latency"}
    for name in (NETWORKS, *PREFIXES, *MIXES):
        assert found[name] == [("throughput", 84)]
    for name in EXTENSIONS:
        assert found[name] == [("throughput", 128)], "84 bytes have no room for extension headers"


def test_in_full_length_every_test_with_frames_is_repeated_at_every_size_but_overload() -> None:
    made, procedure = designed("{mechanism: native6}", "8219", quick=False)
    found = places(made)
    assert not procedure.is_partial
    assert set(procedure.traffics) == {NETWORKS, "random-ports", *MIXES}
    for name in procedure.traffics:
        assert found[name] == [one for one in found["plain"] if one[0] != "overload"]


def test_what_was_named_is_repeated_whole_even_with_quick() -> None:
    made, procedure = designed("forwarding", "2544", NETWORKS, tests=["latency"], sizes=[128, 512])
    assert not procedure.is_partial
    assert places(made)[NETWORKS] == places(made)["plain"]
    made, procedure = designed("forwarding", "2544", "plain")
    assert (procedure.traffics, procedure.is_partial, list(places(made))) == ((), False, ["plain"])


def test_frames_go_over_the_paths_that_can_have_them_and_the_tester_beside_them() -> None:
    made, _ = designed("forwarding", "5180", tests=["throughput"])
    over = {str(one.levels.get("rfc_traffic")): set(one.paths) for one in made.combinations}
    assert over["None"] == set(), "plain frames go over all paths"
    assert over[NETWORKS] == {"ipv4", "ipv6", "tester-ipv4", "tester-ipv6"}
    assert over["chain"] == {"ipv6", "tester-ipv6"}
    assert {frozenset(over[f"prefix-{bits}"]) for bits in (48, 126, 128)} == {frozenset({"ipv6", "tester-ipv6"})}
    assert {node.network_bits for node in made.topologies[0].nodes.values()} == {(48, 126, 128), ()}
    assert over["native-10"] == {"ipv6", "tester-ipv6"}, "over ipv4 the same mixes go"
    [params] = [one.workload.params for one in made.combinations if one.levels.get("rfc_traffic") == "native-10"]
    assert params["native_ratio"] == 0.1


def test_the_hosts_have_their_networks_in_all_tests() -> None:
    """RFC 2544 section 7: the device's configuration is the same in all tests."""
    made, _ = designed("forwarding", "2544")
    for topology in made.topologies:
        assert [topology.nodes[host].networks for host in ("left", "right")] == [256, 256]
    made, _ = designed("forwarding", "2544", "plain")
    assert {node.networks for topology in made.topologies for node in topology.nodes.values()} == {1}


@pytest.mark.parametrize(
    ("dut", "traffic", "words"),
    [
        ("{mechanism: siit}", NETWORKS, "no path can have the frames networks-256: frames over siit can go to one"),
        ("{mechanism: siit}", "native-50", "siit has no route for native IPv4 from host to host"),
        (
            "{mechanism: nat64}",
            "random-ports",
            "a device that keeps state on nat64 takes frames from the server only to ports",
        ),
        ("{mechanism: native4}", "chain", "extension headers are IPv6's, and native4 has IPv4 addresses on the way"),
        ("forwarding", "jumbo", 'there is no traffic "jumbo"; there are plain, networks-256'),
    ],
)
def test_what_cannot_be_repeated_is_refused_by_name(dut: str, traffic: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        designed(dut, "8219", traffic)


def test_equipment_needs_routes_that_only_its_owner_can_give_it() -> None:
    equipment = "{ports: [eth1, eth2], description: x}"
    made, procedure = designed(equipment, "2544")
    assert (procedure.traffics, set(places(made))) == ((), {"plain"})
    found = clauses(a_run(made, procedure))[OF_NETWORKS]
    assert found.state == "not met"
    assert "--traffic networks-256" in found.reason
    assert designed(equipment, "2544", NETWORKS)[1].traffics == (NETWORKS,)


def test_the_clauses_say_what_quick_left_out_and_how_to_have_it() -> None:
    found = clauses(a_run(*designed("forwarding", "2544")))
    words = "--quick: only the throughput is repeated, at one frame size; all of it with --traffic networks-256"
    assert (found[OF_NETWORKS].state, found[OF_NETWORKS].reason) == ("not met", words)
    assert found[OF_LATENCY].reason == "--quick: not repeated; all of it with --traffic networks-256"
    found = clauses(a_run(*designed("forwarding", "2544", "plain")))
    assert found[OF_NETWORKS].reason == "not asked for: --traffic networks-256"


def test_the_clauses_say_why_a_path_cannot_have_such_frames() -> None:
    found = clauses(a_run(*designed("{mechanism: nat64}", "8219", quick=False)))
    assert (found[OF_MIXES].state, found[OF_PORTS].state) == ("not met", "not met")
    assert "no route for native IPv4" in found[OF_MIXES].reason
    found = clauses(a_run(*designed("{mechanism: native4}", "5180", quick=False)))
    assert found[OF_EXTENSIONS].state == "not applicable"


def measured(made: Experiment, rates: Mapping[str, int]) -> list[TrialRecord]:
    """A throughput of each traffic on every path, with loss at 0.1 % more."""
    found = []
    for one in made.combinations:
        if one.levels["rfc_test"] != "throughput":
            continue
        pps = rates[str(one.levels.get("rfc_traffic", "plain"))]
        for path in made.paths:
            if one.goes_over(path.name):
                own = trial(pps), trial(pps + 1 + pps // 1000, lost=50)
                found += [replace(record, combination=one.name, path=path.name) for record in own]
    return found


def test_in_full_length_the_clause_is_met_once_all_throughputs_are_known() -> None:
    made, procedure = designed("{mechanism: native6}", "5180", tests=["throughput"], sizes=[84, 128], quick=False)
    rates = {"plain": 10_000} | dict.fromkeys(procedure.traffics, 5000)
    records = measured(made, rates)
    found = clauses(a_run(made, procedure, records))
    assert found[OF_EXTENSIONS].state == "met"
    assert found[OF_EXTENSIONS].reason == (
        "throughput over hop-by-hop, destination-options, routing, fragment, chain; hop-by-hop without frames of 84 "
        "bytes, where they do not fit"
    )
    lacking = [one for one in records if one.combination != made.combinations[-1].name]
    found = clauses(a_run(made, procedure, lacking))
    assert (found[OF_EXTENSIONS].state, found[OF_EXTENSIONS].reason) == (
        "not met",
        "no result for throughput over chain: native6 at 128 bytes",
    )
    assert found["section 7.1: throughput"].state == "met", "which is of plain frames"


def test_a_throughput_stands_beside_that_of_plain_frames_and_of_the_tester_with_such_frames() -> None:
    made, procedure = designed("{mechanism: native6}", "5180", tests=["throughput"], sizes=[128])
    run = a_run(made, procedure, measured(made, {"plain": 10_000} | dict.fromkeys(procedure.traffics, 5000)))
    table = report.traffic_table(run)
    assert table is not None
    at = {column.name: index for index, column in enumerate(table.columns)}
    assert list(at)[:5] == ["path", "frame", "traffic", "frames/s", "of plain"]
    assert [row[at["traffic"]] for row in table.rows] == list(procedure.traffics)
    own = {(row[at["path"]], row[at["frames/s"]], row[at["of plain"]], row[at["tester"]]) for row in table.rows}
    assert own == {("native6", whole(5_000), "50 %", whole(5_000))}
    assert {one.tester_pps for one in results_of(run) if one.traffic == "chain"} == {5_000}
    throughputs = report.throughput_table(run)
    assert throughputs is not None
    assert [row[:3] for row in throughputs.rows] == [
        [path, "128 B", whole(10_000)] for path in ("native6", "tester-ipv6")
    ]
    told = report.document(run)
    assert told is not None
    assert told["traffics"] == ["plain", *procedure.traffics]
    assert {one["traffic"] for one in told["throughput"]} == {"plain", *procedure.traffics}


def test_tables_of_plain_frames_have_no_column_of_traffic() -> None:
    made, procedure = designed("{mechanism: native6}", "5180", "plain", tests=["throughput"], sizes=[128])
    run = a_run(made, procedure, measured(made, {"plain": 10_000}))
    assert report.traffic_table(run) is None, "there is nothing beside plain frames"
    made, procedure = designed("{mechanism: native6}", "2544", "plain", tests=["latency"], sizes=[128])
    [latency] = report.result_tables(a_run(made, procedure, measured(made, {"plain": 10_000})))
    assert "traffic" not in [column.name for column in latency.columns]


def test_latency_over_other_frames_is_at_their_own_throughput() -> None:
    made, procedure = designed("{mechanism: native6}", "2544", NETWORKS, tests=["latency"], sizes=[128])
    run = a_run(made, procedure, measured(made, {"plain": 10_000, NETWORKS: 5_000}))
    rates = {one.traffic: {value.rate_pps for value in one.values} for one in values_of(run)}
    assert rates == {"plain": {10_000}, NETWORKS: {5_000}}


def test_native_frames_take_their_own_share_of_a_line() -> None:
    """IPv6 frames are 20 bytes longer, and have no tunnel header on its line."""
    made, _ = designed("{mechanism: {4in6: [dut1, dut2]}, rate: 10Mbit}", "8219", sizes=[512])
    network = install(made.paths[0], made.topologies[0], made.between)
    on_the_way, natively = 512 + 40 + 20, 512 + 20 + 20
    assert line_pps(network, 512) == pytest.approx(10e6 / (8 * on_the_way))
    assert line_pps(network, 512, 0.5) == pytest.approx(10e6 / (8 * (0.5 * on_the_way + 0.5 * natively)))


def test_a_tester_is_not_the_limit_only_of_throughputs_that_are_known() -> None:
    made, procedure = designed("{mechanism: native6}", "2544", "plain", tests=["throughput"], sizes=[128])
    records = measured(made, {"plain": 10_000})
    clause = "section 6: the tester is not the limit"
    without_device = [one for one in records if one.path == "tester-ipv6"]
    found = clauses(a_run(made, procedure, without_device))[clause]
    assert (found.state, found.reason) == (
        "not met",
        "no throughput is known to compare with the tester's own limit",
    )
    slower = [one for one in measured(made, {"plain": 9_000}) if one.path == "native6"]
    assert clauses(a_run(made, procedure, [*without_device, *slower]))[clause].state == "met"
