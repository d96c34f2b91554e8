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


def places(built: Experiment) -> dict[str, list[tuple[str, int]]]:
    """The tests and frame sizes by traffic."""
    places: dict[str, list[tuple[str, int]]] = {}
    for combination in built.combinations:
        traffic = str(combination.levels.get("rfc_traffic", "plain"))
        places.setdefault(traffic, []).append(
            (str(combination.levels["rfc_test"]), int(combination.levels.get("frame_bytes", 0)))
        )
    return places


def a_run(built: Experiment, procedure: Procedure, trials: Iterable[TrialRecord] = ()) -> Run:
    manifest = replace(standard(1).manifest, experiment=built, procedure=procedure)
    return Run(directory=Path("none"), manifest=manifest, trials=list(trials))


def clauses(run: Run) -> Mapping[str, JudgedClause]:
    return {f"{item.section}: {item.asks}": item for item in judged(run)}


OF_NETWORKS = "section 12: one pair of networks, then 256"
OF_LATENCY = "section 26.2: latency also with each tagged frame to another network"
OF_EXTENSIONS = "sections 5.3 and 7: extension headers: none, each one, a chain"
OF_MIXES = "section 5.3: 100/0, 90/10, 50/50 and 10/90 of translated to native traffic"
OF_PORTS = "RFC 4814 section 4.5: pseudo-random ports"


def test_quick_repeats_the_throughput_at_the_least_frames_that_fit() -> None:
    experiment, procedure = designed("forwarding", "5180", tests=["latency"])
    assert procedure.traffics == (NETWORKS, *PREFIXES, *MIXES, *EXTENSIONS)
    assert procedure.is_partial
    actual_places = places(experiment)
    assert {size for test, size in actual_places["plain"]} == {84, 128, 256, 512, 1024, 1280, 1518}
    assert {test for test, size in actual_places["plain"]} == {"throughput", "latency"}
    for name in (NETWORKS, *PREFIXES, *MIXES):
        assert actual_places[name] == [("throughput", 84)]
    for name in EXTENSIONS:
        assert actual_places[name] == [("throughput", 128)], "84 bytes have no room for extension headers"


def test_in_full_length_every_test_with_frames_is_repeated_at_every_size_but_overload() -> None:
    experiment, procedure = designed("{mechanism: native6}", "8219", quick=False)
    actual_places = places(experiment)
    assert not procedure.is_partial
    assert set(procedure.traffics) == {NETWORKS, "random-ports", *MIXES}
    for name in procedure.traffics:
        assert actual_places[name] == [item for item in actual_places["plain"] if item[0] != "overload"]


def test_what_was_named_is_repeated_whole_even_with_quick() -> None:
    experiment, procedure = designed("forwarding", "2544", NETWORKS, tests=["latency"], sizes=[128, 512])
    assert not procedure.is_partial
    assert places(experiment)[NETWORKS] == places(experiment)["plain"]
    experiment, procedure = designed("forwarding", "2544", "plain")
    assert (procedure.traffics, procedure.is_partial, list(places(experiment))) == ((), False, ["plain"])


def test_frames_go_over_the_paths_that_can_have_them_and_the_tester_beside_them() -> None:
    experiment, _ = designed("forwarding", "5180", tests=["throughput"])
    over = {
        str(combination.levels.get("rfc_traffic")): set(combination.paths) for combination in experiment.combinations
    }
    assert over["None"] == set(), "plain frames go over all paths"
    assert over[NETWORKS] == {"ipv4", "ipv6", "tester-ipv4", "tester-ipv6"}
    assert over["chain"] == {"ipv6", "tester-ipv6"}
    assert {frozenset(over[f"prefix-{bits}"]) for bits in (48, 126, 128)} == {frozenset({"ipv6", "tester-ipv6"})}
    assert {node.network_bits for node in experiment.topologies[0].nodes.values()} == {(48, 126, 128), ()}
    assert over["native-10"] == {"ipv6", "tester-ipv6"}, "over ipv4 the same mixes go"
    [params] = [
        combination.workload.params
        for combination in experiment.combinations
        if combination.levels.get("rfc_traffic") == "native-10"
    ]
    assert params["native_ratio"] == 0.1


def test_the_hosts_have_their_networks_in_all_tests() -> None:
    """RFC 2544 section 7: the device's configuration is the same in all tests."""
    experiment, _ = designed("forwarding", "2544")
    for topology in experiment.topologies:
        assert [topology.nodes[host].networks for host in ("left", "right")] == [256, 256]
    experiment, _ = designed("forwarding", "2544", "plain")
    assert {node.networks for topology in experiment.topologies for node in topology.nodes.values()} == {1}


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
    experiment, procedure = designed(equipment, "2544")
    assert (procedure.traffics, set(places(experiment))) == ((), {"plain"})
    clause = clauses(a_run(experiment, procedure))[OF_NETWORKS]
    assert clause.state == "not met"
    assert "--traffic networks-256" in clause.reason
    assert designed(equipment, "2544", NETWORKS)[1].traffics == (NETWORKS,)


def test_the_clauses_say_what_quick_left_out_and_how_to_have_it() -> None:
    actual_clauses = clauses(a_run(*designed("forwarding", "2544")))
    words = "--quick: only the throughput is repeated, at one frame size; all of it with --traffic networks-256"
    assert (actual_clauses[OF_NETWORKS].state, actual_clauses[OF_NETWORKS].reason) == ("not met", words)
    assert actual_clauses[OF_LATENCY].reason == "--quick: not repeated; all of it with --traffic networks-256"
    actual_clauses = clauses(a_run(*designed("forwarding", "2544", "plain")))
    assert actual_clauses[OF_NETWORKS].reason == "not asked for: --traffic networks-256"


def test_the_clauses_say_why_a_path_cannot_have_such_frames() -> None:
    actual_clauses = clauses(a_run(*designed("{mechanism: nat64}", "8219", quick=False)))
    assert (actual_clauses[OF_MIXES].state, actual_clauses[OF_PORTS].state) == ("not met", "not met")
    assert "no route for native IPv4" in actual_clauses[OF_MIXES].reason
    actual_clauses = clauses(a_run(*designed("{mechanism: native4}", "5180", quick=False)))
    assert actual_clauses[OF_EXTENSIONS].state == "not applicable"


def measured(built: Experiment, rates: Mapping[str, int]) -> list[TrialRecord]:
    """A throughput of each traffic on every path, with loss at 0.1 % more."""
    collected = []
    for combination in built.combinations:
        if combination.levels["rfc_test"] != "throughput":
            continue
        pps = rates[str(combination.levels.get("rfc_traffic", "plain"))]
        for path in built.paths:
            if combination.goes_over(path.name):
                actual_trial = trial(pps), trial(pps + 1 + pps // 1000, lost=50)
                collected += [replace(record, combination=combination.name, path=path.name) for record in actual_trial]
    return collected


def test_in_full_length_the_clause_is_met_once_all_throughputs_are_known() -> None:
    experiment, procedure = designed("{mechanism: native6}", "5180", tests=["throughput"], sizes=[84, 128], quick=False)
    rates = {"plain": 10_000} | dict.fromkeys(procedure.traffics, 5000)
    records = measured(experiment, rates)
    actual_clauses = clauses(a_run(experiment, procedure, records))
    assert actual_clauses[OF_EXTENSIONS].state == "met"
    assert actual_clauses[OF_EXTENSIONS].reason == (
        "throughput over hop-by-hop, destination-options, routing, fragment, chain; hop-by-hop without frames of 84 "
        "bytes, where they do not fit"
    )
    lacking = [record for record in records if record.combination != experiment.combinations[-1].name]
    actual_clauses = clauses(a_run(experiment, procedure, lacking))
    assert (actual_clauses[OF_EXTENSIONS].state, actual_clauses[OF_EXTENSIONS].reason) == (
        "not met",
        "no result for throughput over chain: native6 at 128 bytes",
    )
    assert actual_clauses["section 7.1: throughput"].state == "met", "which is of plain frames"


def test_a_throughput_stands_beside_that_of_plain_frames_and_of_the_tester_with_such_frames() -> None:
    experiment, procedure = designed("{mechanism: native6}", "5180", tests=["throughput"], sizes=[128])
    run = a_run(
        experiment, procedure, measured(experiment, {"plain": 10_000} | dict.fromkeys(procedure.traffics, 5000))
    )
    table = report.traffic_table(run)
    assert table is not None
    at = {column.name: index for index, column in enumerate(table.columns)}
    assert list(at)[:5] == ["path", "frame", "traffic", "frames/s", "of plain"]
    assert [row[at["traffic"]] for row in table.rows] == list(procedure.traffics)
    rows = {(row[at["path"]], row[at["frames/s"]], row[at["of plain"]], row[at["tester"]]) for row in table.rows}
    assert rows == {("native6", whole(5_000), "50 %", whole(5_000))}
    assert {result.tester_pps for result in results_of(run) if result.traffic == "chain"} == {5_000}
    throughputs = report.throughput_table(run)
    assert throughputs is not None
    assert [row[:3] for row in throughputs.rows] == [
        [path, "128 B", whole(10_000)] for path in ("native6", "tester-ipv6")
    ]
    document = report.document(run)
    assert document is not None
    assert document["traffics"] == ["plain", *procedure.traffics]
    assert {item["traffic"] for item in document["throughput"]} == {"plain", *procedure.traffics}


def test_tables_of_plain_frames_have_no_column_of_traffic() -> None:
    experiment, procedure = designed("{mechanism: native6}", "5180", "plain", tests=["throughput"], sizes=[128])
    run = a_run(experiment, procedure, measured(experiment, {"plain": 10_000}))
    assert report.traffic_table(run) is None, "there is nothing beside plain frames"
    experiment, procedure = designed("{mechanism: native6}", "2544", "plain", tests=["latency"], sizes=[128])
    [latency] = report.result_tables(a_run(experiment, procedure, measured(experiment, {"plain": 10_000})))
    assert "traffic" not in [column.name for column in latency.columns]


def test_latency_over_other_frames_is_at_their_own_throughput() -> None:
    experiment, procedure = designed("{mechanism: native6}", "2544", NETWORKS, tests=["latency"], sizes=[128])
    run = a_run(experiment, procedure, measured(experiment, {"plain": 10_000, NETWORKS: 5_000}))
    rates = {each_value.traffic: {value.rate_pps for value in each_value.values} for each_value in values_of(run)}
    assert rates == {"plain": {10_000}, NETWORKS: {5_000}}


def test_native_frames_take_their_own_share_of_a_line() -> None:
    """IPv6 frames are 20 bytes longer, and have no tunnel header on its line."""
    experiment, _ = designed("{mechanism: {4in6: [dut1, dut2]}, rate: 10Mbit}", "8219", sizes=[512])
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    on_the_way, natively = 512 + 40 + 20, 512 + 20 + 20
    assert line_pps(network, 512) == pytest.approx(10e6 / (8 * on_the_way))
    assert line_pps(network, 512, 0.5) == pytest.approx(10e6 / (8 * (0.5 * on_the_way + 0.5 * natively)))


def test_a_tester_is_not_the_limit_only_of_throughputs_that_are_known() -> None:
    experiment, procedure = designed("{mechanism: native6}", "2544", "plain", tests=["throughput"], sizes=[128])
    records = measured(experiment, {"plain": 10_000})
    clause = "section 6: the tester is not the limit"
    without_device = [record for record in records if record.path == "tester-ipv6"]
    actual_clause = clauses(a_run(experiment, procedure, without_device))[clause]
    assert (actual_clause.state, actual_clause.reason) == (
        "not met",
        "no throughput is known to compare with the tester's own limit",
    )
    slower = [item for item in measured(experiment, {"plain": 9_000}) if item.path == "native6"]
    assert clauses(a_run(experiment, procedure, [*without_device, *slower]))[clause].state == "met"
