"""The experiment `web-over-transition`: its pages, paths and links are those of the documents, and it ends in time."""

from __future__ import annotations

import pytest
from paper_runs import experiment

from sixbench.bench.estimate import estimate
from sixbench.plan.schedule import trial_counts
from sixbench.theory import expected

pytestmark = pytest.mark.computes

NAME = "web-over-transition"
QUICK_NS = 600 * 10**9


def test_a_quick_run_is_planned_for_under_ten_minutes() -> None:
    assert estimate(experiment(NAME, True)).most_ns < QUICK_NS


@pytest.mark.parametrize(("quick", "trials"), [(False, 432), (True, 144)])
def test_the_counts_in_the_files_comments(quick: bool, trials: int) -> None:
    assert trial_counts(experiment(NAME, quick)) == (trials, trials)


@pytest.mark.parametrize("quick", [False, True])
def test_a_page_of_60_objects_and_2_mb_goes_over_each_path_by_each_version(quick: bool) -> None:
    chosen = experiment(NAME, quick)
    assert {path.mechanism for path in chosen.paths} == {"native4", "native6", "464xlat", "nat64", "ds-lite", "map-t"}
    params = [combination.workload.params for combination in chosen.combinations]
    assert {(page["objects"], int(page["objects"]) * int(page["object_bytes"])) for page in params} == {(60, 1_980_000)}
    levels = [combination.levels for combination in chosen.combinations]
    assert {(level["version"], level["packet_loss_ratio"]) for level in levels} == {
        (version, loss) for version in ("1.1", "2", "3") for loss in (0, 0.01)
    }


def test_the_access_link_is_slower_upwards_and_has_a_round_trip_of_20_ms() -> None:
    for topology in experiment(NAME, False).topologies:
        down, up = (direction for link in topology.links if link.name == "access" for direction in link.directions)
        assert (down.rate_bps, up.rate_bps) == (50_000_000, 10_000_000)
        assert sum(direction.impairments.delay_ns for direction in (down, up)) == 20 * 10**6


def test_theory_has_each_page_of_it() -> None:
    chosen = experiment(NAME, True)
    for combination, path in chosen.path_combinations:
        topology = chosen.topologies[combination.topology_of(path.name)]
        values = expected("http", combination.workload.params, path, topology, chosen.between)
        # All the bytes but the bucket's come at 50 Mbit/s, after the round trips to the first of them.
        assert values["page_p50_ns"] >= values["first_byte_p50_ns"] + (1_980_000 - 12_600) * 160
        assert values["wire_received_bytes"] > 1_980_000


def test_theory_foretells_the_change_that_headers_make_of_the_time_of_a_page() -> None:
    chosen = experiment(NAME, False)
    changes: dict[tuple[str, str], float] = {}
    for combination, path in chosen.path_combinations:
        topology = chosen.topologies[combination.topology_of(path.name)]
        values = expected("http", combination.workload.params, path, topology, chosen.between)
        baseline = expected("http", combination.workload.params, chosen.path("ipv4"), topology, chosen.between)
        change = 100 * (values["page_p50_ns"] / baseline["page_p50_ns"] - 1)
        changes[str(combination.levels["version"]), path.name] = round(change, 1)
    translated = dict.fromkeys(("ipv6", "464xlat", "nat64", "map-t"))
    for version, (change, in_tunnel) in {"1.1": (1.4, 2.5), "2": (1.2, 2.4), "3": (1.2, 2.5)}.items():
        assert {changes[version, path] for path in translated} == {change}
        assert changes[version, "ds-lite"] == in_tunnel
