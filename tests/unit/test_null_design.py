"""Which comparisons `calibrate --null` makes."""

from __future__ import annotations

from collections import Counter

import pytest

from sixbench.calibration.null.design import BLOCKS, CHANGED_KINDS, KINDS, plan_comparisons
from sixbench.plan.schedule import all_trials

pytestmark = pytest.mark.computes


def test_all_kinds_and_numbers_of_blocks_are_equally_often() -> None:
    planned = plan_comparisons(10 * len(KINDS), 4 * len(CHANGED_KINDS))
    counts = Counter((one.kind, one.blocks) for one in planned)
    assert {counts[kind, blocks] for kind in KINDS for blocks in BLOCKS} == {5}
    assert {counts[kind, blocks] for kind in CHANGED_KINDS for blocks in BLOCKS} == {2}


def test_each_comparison_is_an_experiment_of_its_own() -> None:
    planned = plan_comparisons(16, 8)
    assert len({one.name for one in planned}) == 24
    for one in planned:
        trials = list(all_trials(one.experiment))
        assert len(trials) == one.trials == 2 * one.blocks
        assert {trial.path for trial in trials} == {path.name for path in one.experiment.paths}
    orders = {tuple(trial.path for trial in all_trials(one.experiment)) for one in planned if one.blocks == 5}
    assert len(orders) > 4, "the order of trials is drawn anew for each"


def test_the_first_comparisons_are_the_same_however_many_there_are() -> None:
    few = {one.name: one for one in plan_comparisons(8, 4)}
    many = {one.name: one for one in plan_comparisons(40, 10)}
    assert all(many[name] == one for name, one in few.items())


def test_the_two_paths_differ_in_nothing_but_their_names_or_families() -> None:
    for one in plan_comparisons(len(KINDS), 0):
        baseline, path = one.experiment.paths
        assert len(one.experiment.topologies) == 1
        if one.kind.between == "families":
            assert (baseline.family, path.family) == (4, 6)
        else:
            assert (path.aa_of, path.mechanism) == (baseline.name, baseline.mechanism)


def test_a_changed_path_has_the_slower_link_and_its_baseline_the_one_of_all_others() -> None:
    [usual] = plan_comparisons(1, 0)[0].experiment.topologies
    for one in plan_comparisons(0, len(CHANGED_KINDS)):
        [combination] = one.experiment.combinations
        baseline, path = one.experiment.paths
        assert one.experiment.topologies[combination.topology_of(baseline.name)] == usual
        slower = one.experiment.topologies[combination.topology_of(path.name)]
        for before, after, factor in zip(usual.links, slower.links, (None, 0.97), strict=True):
            for way, changed_way in zip(before.directions, after.directions, strict=True):
                expected = None if factor is None else pytest.approx(factor * (way.rate_bps or 0))
                assert changed_way.rate_bps == expected
        assert [link.mtu_bytes for link in slower.links] == [link.mtu_bytes for link in usual.links]
