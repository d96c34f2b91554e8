"""Paths that do two things, and values that never change."""

from __future__ import annotations

import random
from dataclasses import replace
from math import comb

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.finding import Finding
from sixbench.report.figures.changes import changes, limits
from sixbench.report.figures.data import Context
from sixbench.report.formats import FORMATS
from sixbench.stats import Pairs, compare, more_often_p_value
from sixbench.store import Run

pytestmark = pytest.mark.computes

COLLAPSED = 0.1


def run_with(blocks: int, collapses: int, *, of: str = "ipv6", marked: bool = False, margin: float = 0.03) -> Run:
    """Bulk transfers over equal paths, one of which collapses in so many blocks."""
    small_run = synthetic.small(blocks=blocks)
    dice = random.Random(4)
    trials = []
    for trial in small_run.trials:
        if trial.combination != "c0001":
            continue
        goodput = 18.8e6 * (1 + dice.gauss(0, 0.0005))
        slow = trial.path == of and trial.block <= collapses
        metrics = {"goodput_bps": goodput * COLLAPSED if slow else goodput}
        if slow and marked:
            metrics["core_slowdown_ratio"] = 0.4
        trials.append(replace(trial, metrics=metrics, status="ok", reasons=[], theory={}))
    experiment = small_run.manifest.experiment
    experiment = replace(experiment, statistics=replace(experiment.statistics, margin=margin))
    return replace(small_run, trials=trials, manifest=replace(small_run.manifest, experiment=experiment)).in_memory()


def goodput(run: Run, path: str = "ipv6") -> Finding:
    [finding] = [
        each_finding
        for each_finding in analyse(run).findings
        if each_finding.metric == "goodput" and each_finding.path == path
    ]
    return finding


def test_a_path_that_collapses_in_some_blocks_is_no_bare_equivalent() -> None:
    actual_goodput = goodput(run_with(10, 2))
    assert (actual_goodput.verdict, actual_goodput.apart) == ("equivalent", 2)
    assert actual_goodput.apart_high == pytest.approx(COLLAPSED, rel=0.01)


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "json", "csv"])
def test_every_format_says_in_how_many_blocks(form: str) -> None:
    run = run_with(10, 2)
    text = FORMATS[form].render(run, analyse(run)).replace("\u00a0", " ").replace("\\%", "%").replace("~", " ")
    if form in ("json", "csv"):
        assert "apart" in text
    else:
        assert "8 of 10" in " ".join(text.split())
        assert "90 % less in" in " ".join(text.split())


def test_figures_show_the_blocks_that_say_otherwise() -> None:
    run = run_with(10, 2)
    shown = changes(Context.of(run.manifest.experiment, run.trials), [goodput(run)])
    assert len(shown[0].pairs) == 10
    low, high = limits(shown, 3.0)
    assert all(low < pair < high for pair in shown[0].pairs)


def test_a_path_that_collapses_more_often_than_others_is_mixed() -> None:
    actual_goodput = goodput(run_with(30, 3))
    assert (actual_goodput.mark, actual_goodput.mixed) == ("mixed", "ipv6")
    assert goodput(run_with(30, 6, of="ipv4")).mixed == "ipv4"


def test_disturbed_trials_make_no_path_mixed() -> None:
    assert goodput(run_with(30, 3, marked=True)).mixed is None


def test_two_paths_are_enough_to_find_three_collapses_of_thirty() -> None:
    run = run_with(30, 3)
    [path, baseline] = [path for path in run.manifest.experiment.paths if path.aa_of is None]
    alone = replace(run.manifest.experiment, paths=(baseline, path) if path.name == "ipv6" else (path, baseline))
    trials = tuple(trial for trial in run.trials if trial.path in (path.name, baseline.name))
    actual_goodput = goodput(replace(run, trials=trials, manifest=replace(run.manifest, experiment=alone)))
    assert (actual_goodput.mark, actual_goodput.mixed) == ("mixed", "ipv6")


@pytest.mark.parametrize(("n", "others"), [(30, 30), (12, 36), (7, 7)])
def test_paths_that_are_alike_seldom_differ_whatever_the_share_of_their_outlying_trials(n: int, others: int) -> None:
    """All tables that are called different at 5 % have at most that chance together, summed exactly."""
    called = [
        (count, other)
        for count in range(n + 1)
        for other in range(others + 1)
        if more_often_p_value(count, n, other, others) < 0.05
    ]
    largest = 0.0
    for share in [0.002, 0.01, 0.03, 0.064, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9]:
        of_path, of_others = (
            [comb(m, k) * share**k * (1 - share) ** (m - k) for k in range(m + 1)] for m in (n, others)
        )
        largest = max(largest, sum(of_path[count] * of_others[other] for count, other in called))
    assert 0.03 < largest < 0.05


def test_the_test_of_shares_is_exact_and_one_sided() -> None:
    # Three or more of thirty against none, and what has a larger likelihood ratio, where each is outlying with 6.4 %.
    assert more_often_p_value(3, 30, 0, 30) == pytest.approx(0.0445, abs=1e-4)
    assert more_often_p_value(0, 30, 5, 60) == 1
    assert more_often_p_value(5, 30, 10, 60) == 1
    assert more_often_p_value(3, 30, 0, 0) == 1
    with pytest.raises(ValueError, match="no counts"):
        more_often_p_value(4, 3, 0, 3)


def test_path_mtus_that_never_change_differ_for_certain() -> None:
    pairs = Pairs(path=[1480.0] * 3, baseline=[1500.0] * 3, is_exact=True)
    compared = compare(pairs, confidence=0.95, margin=0.01)
    assert (compared.direction, compared.constant) == ("lower", True)
    assert compared.p_value is not None
    assert compared.p_value < 1e-6
    assert (compared.value, compared.baseline) == (1480, 1500)
    by_chance = compare(replace(pairs, is_exact=False), confidence=0.95, margin=0.01)
    assert by_chance.p_value == pytest.approx(1 / 16)
