"""Which comparisons `calibrate --null` makes."""

from __future__ import annotations

from collections import Counter

import pytest

from sixbench.calibration.null.design import BLOCKS, CHANGED_KINDS, KINDS, plan_comparisons
from sixbench.plan.schedule import all_trials

pytestmark = pytest.mark.computes


def test_all_kinds_and_numbers_of_blocks_are_equally_often() -> None:
    planned = plan_comparisons(10 * len(KINDS), 4 * len(CHANGED_KINDS))
    counts = Counter((planned_pair.kind, planned_pair.blocks) for planned_pair in planned)
    assert {counts[kind, blocks] for kind in KINDS for blocks in BLOCKS} == {5}
    assert {counts[kind, blocks] for kind in CHANGED_KINDS for blocks in BLOCKS} == {2}


def test_each_comparison_is_an_experiment_of_its_own() -> None:
    planned = plan_comparisons(16, 8)
    assert len({planned_pair.name for planned_pair in planned}) == 24
    for planned_pair in planned:
        trials = list(all_trials(planned_pair.experiment))
        assert len(trials) == planned_pair.trials == 2 * planned_pair.blocks
        assert {trial.path for trial in trials} == {path.name for path in planned_pair.experiment.paths}
    orders = {
        tuple(trial.path for trial in all_trials(planned_pair.experiment))
        for planned_pair in planned
        if planned_pair.blocks == 5
    }
    assert len(orders) > 4, "the order of trials is drawn anew for each"


def test_the_first_comparisons_are_the_same_however_many_there_are() -> None:
    few = {plan_comparison.name: plan_comparison for plan_comparison in plan_comparisons(8, 4)}
    many = {plan_comparison.name: plan_comparison for plan_comparison in plan_comparisons(40, 10)}
    assert all(many[name] == value for name, value in few.items())


def test_the_two_paths_differ_in_nothing_but_their_names_or_families() -> None:
    for item in plan_comparisons(len(KINDS), 0):
        baseline, path = item.experiment.paths
        assert len(item.experiment.topologies) == 1
        if item.kind.between == "families":
            assert (baseline.family, path.family) == (4, 6)
        else:
            assert (path.aa_of, path.mechanism) == (baseline.name, baseline.mechanism)


def test_a_changed_path_has_the_slower_link_and_its_baseline_the_one_of_all_others() -> None:
    [usual] = plan_comparisons(1, 0)[0].experiment.topologies
    for item in plan_comparisons(0, len(CHANGED_KINDS)):
        [combination] = item.experiment.combinations
        baseline, path = item.experiment.paths
        assert item.experiment.topologies[combination.topology_of(baseline.name)] == usual
        slower = item.experiment.topologies[combination.topology_of(path.name)]
        for before, after, factor in zip(usual.links, slower.links, (None, 0.97), strict=True):
            for direction, changed in zip(before.directions, after.directions, strict=True):
                expected = None if factor is None else pytest.approx(factor * (direction.rate_bps or 0))
                assert changed.rate_bps == expected
        assert [link.mtu_bytes for link in slower.links] == [link.mtu_bytes for link in usual.links]
