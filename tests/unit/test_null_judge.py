"""Number of declared differences, in comparisons whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sixbench.bench.record import TrialTask, blank_record
from sixbench.calibration.null import document, figure, page, table
from sixbench.calibration.null.design import CHANGED_KINDS, KINDS, PlannedComparison, plan_comparisons
from sixbench.calibration.null.judge import NullResult, Share, judge
from sixbench.model.metric import METRICS
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import all_trials
from sixbench.report.figures import svg
from sixbench.store import Environment, Manifest, Run

pytestmark = pytest.mark.computes

Values = Mapping[str, Sequence[float | None]]
"""Values by path, one value of the primary metric a block; None where the trial was invalid."""

STEADY = (1.0, 1.0002, 0.9999, 1.0001, 0.9998)


def _planned(workload: str, between: str = "ipv4", blocks: int = 5) -> PlannedComparison:
    every = plan_comparisons(2 * len(KINDS), 2 * len(CHANGED_KINDS))
    return next(
        item
        for item in every
        if (item.kind.workload, item.kind.between, item.blocks, item.kind.is_changed)
        == (workload, between, blocks, False)
    )


def _changed(workload: str = "tcp-stream") -> PlannedComparison:
    every = plan_comparisons(0, 2 * len(CHANGED_KINDS))
    return next(item for item in every if item.kind.workload == workload and item.blocks == 5)


def _run(item: PlannedComparison, values: Values, theory: Mapping[str, float] | None = None) -> Run:
    column = METRICS[item.primary].column
    [combination] = item.experiment.combinations
    trials: list[TrialRecord] = []
    for planned in all_trials(item.experiment):
        value = values[planned.path][planned.block - 1]
        trial = TrialTask(
            experiment=item.experiment, combination=combination, planned=planned, sequence=len(trials) + 1
        )
        trials.append(
            replace(
                blank_record(trial),
                status="invalid" if value is None else "ok",
                metrics={} if value is None else {column: value, "cpu_busy_cores": 1.0},
                theory={column: theory[planned.path]} if theory else {},
            )
        )
    environment = Environment(kernel="", machine="", cpu="", distribution="", cores=1, memory_bytes=1, versions={})
    manifest = Manifest(
        run=item.name, experiment=item.experiment, environment=environment, state="complete", started_realtime_ns=0
    )
    return Run(directory=Path(), manifest=manifest, trials=trials)


def _of_one(item: PlannedComparison, baseline: Sequence[float | None], path: Sequence[float | None]) -> NullResult:
    names = [path.name for path in item.experiment.paths]
    return judge([item], [_run(item, dict(zip(names, (baseline, path), strict=True)))])


def test_equal_paths_have_no_false_difference() -> None:
    result = _of_one(_planned("tcp-stream"), STEADY, STEADY[::-1])
    assert result.in_all.different == result.in_all.by_test == Share(number=0, of=1)


def test_a_false_difference_is_counted_once_in_all_and_with_its_metric() -> None:
    result = _of_one(_planned("tcp-stream"), STEADY, [1.05 * value for value in STEADY])
    assert result.in_all.different == result.in_all.by_test == result.any_metric == Share(number=1, of=1)
    shares = {item.metric: (item.different, item.is_primary) for item in result.by_metric}
    assert shares["goodput"] == (Share(number=1, of=1), True)
    assert shares["cpu_busy"] == (Share(number=0, of=1), False)


def test_what_the_margin_calls_equivalent_is_an_error_of_the_test_alone() -> None:
    """0.5 % with a noise of 0.01 %."""
    result = _of_one(_planned("tcp-stream"), STEADY, [1.005 * value for value in STEADY[::-1]])
    assert (result.in_all.different.number, result.in_all.by_test.number) == (0, 1)


def test_two_families_are_compared_by_their_share_of_what_theory_allows_and_by_goodput_alone() -> None:
    planned = _planned("tcp-stream", "families")
    theory = {"ipv4": 94.1e6, "ipv6": 92.8e6}
    values = {name: [allowed * value for value in STEADY] for name, allowed in theory.items()}
    result = judge([planned], [_run(planned, values, theory)])
    [judged] = result.judged
    assert judged.finding.metric == "goodput"
    assert judged.finding.ratio == pytest.approx(1)
    assert judged.finding.verdict == "equivalent"
    unequal = judge([planned], [_run(planned, {**values, "ipv6": values["ipv4"]}, theory)])
    assert unequal.in_all.different.number == 1


def test_a_comparison_without_enough_valid_trials_counts_in_no_share() -> None:
    result = _of_one(_planned("tcp-stream"), [1.0, None, None, None, None], STEADY)
    assert (result.in_all.different.of, result.in_all.undecided, result.invalid) == (0, 1, 4)
    assert "1 comparison had too few valid trials to be decided." in table.warnings(result)


@pytest.mark.parametrize(("factor", "results"), [(0.97, 1), (1.03, 0), (1.0, 0)])
def test_a_change_is_found_only_in_the_direction_that_it_has(factor: float, results: int) -> None:
    result = _of_one(_changed(), STEADY, [factor * value for value in STEADY[::-1]])
    assert result.power == Share(number=results, of=1)
    assert not result.judged, "a changed comparison is no null comparison"


def test_a_change_that_could_not_be_measured_was_not_found() -> None:
    assert _of_one(_changed(), [1.0, None, None, None, None], STEADY).power == Share(number=0, of=1)


def test_the_smallest_change_found_is_the_margin_where_there_is_no_noise() -> None:
    result = _of_one(_planned("tcp-stream"), STEADY, STEADY)
    [goodput] = [item for item in result.detectable if item.metric == "goodput"]
    assert goodput.change is not None
    assert 0.01 < goodput.change < 0.0115
    assert (goodput.blocks, goodput.comparisons) == (5, 1)


def test_noise_makes_the_smallest_change_larger_and_no_change_at_all_may_be_found() -> None:
    noisy = _of_one(_planned("tcp-stream"), STEADY, [1.0, 1.1, 0.9, 1.06, 0.95])
    wild = _of_one(_planned("tcp-stream"), STEADY, [0.01, 100.0, 0.1, 10.0, 1.0])
    [some] = [item.change for item in noisy.detectable if item.metric == "goodput"]
    assert some is not None
    assert 0.05 < some < 0.2
    assert [item.change for item in wild.detectable if item.metric == "goodput"] == [None]


@pytest.mark.parametrize(("noise", "results"), [(0.01, 1), (2.0, 0)])
def test_a_null_comparison_says_whether_it_would_show_the_change(noise: float, results: int) -> None:
    values = [1 + noise * deviation for deviation in (0.1, -0.2, 0.15, -0.05, 0.12)]
    result = _of_one(_planned("tcp-connect"), STEADY, values)
    assert result.power_at_change == Share(number=results, of=1)
    [time] = [item for item in result.detectable if item.is_primary]
    assert (time.metric, time.at_change) == ("connect_p50", Share(number=results, of=1))
    [row] = [row for row in table.shown(result).rows if row[1].endswith("*")]
    assert row[:4] == ["TCP connections", "Connection time, median *", "1", str(results)]
    would = document.to_json(result)["changed_values_found"]
    assert (would["found"], would["of"]) == (results, 1)
    text = " ".join(table.sentences(result))
    assert f"If one path's values were larger by 3 %, {results} of 1 null comparisons would show it" in text


def _many(comparisons: int, changed: int, deviation: float) -> NullResult:
    """Result for normal noise that all trials have by themselves."""
    planned = plan_comparisons(comparisons, changed)
    generator = np.random.default_rng(1)
    runs = []
    for planned_pair in planned:
        baseline, path = (path.name for path in planned_pair.experiment.paths)
        factor = 0.97 if planned_pair.kind.is_changed else 1.0
        draw = generator.normal(1.0, deviation, size=(2, planned_pair.blocks))
        runs.append(_run(planned_pair, {baseline: draw[0].tolist(), path: (factor * draw[1]).tolist()}))
    return judge(planned, runs)


def test_normal_noise_gives_about_five_false_tests_in_a_hundred_and_the_report_says_how_many() -> None:
    result = _many(400, 40, deviation=0.005)
    share = result.in_all.by_test
    assert share.of == 400
    assert 8 <= share.number <= 32, "20 in the mean; outside of this once in 200 seeds"
    assert result.power.number >= 36
    assert table.warnings(result) == []
    assert table.sentences(result)[0].startswith("400 null comparisons by the primary metric of each workload gave ")
    titles = [each_table.title for each_table in table.tables(result)]
    assert titles == [
        "False differences",
        "A link slower by 3 %",
        "Null comparisons that would show a change of 3 %",
        "Smallest change that 90 % of null comparisons would show",
    ]
    for each_table in table.tables(result):
        assert {len(row) for row in each_table.rows} == {len(each_table.columns)}


def test_a_machine_on_which_paths_differ_by_themselves_is_told_of() -> None:
    planned = [plan_comparison for plan_comparison in plan_comparisons(40, 0) if plan_comparison.blocks == 5]
    runs = [
        _run(
            planned_pair,
            {
                path.name: [(1 + 0.05 * index) * value for value in STEADY]
                for index, path in enumerate(planned_pair.experiment.paths)
            },
        )
        for planned_pair in planned
    ]
    assert "There are more false differences than 5 %" in table.warnings(judge(planned, runs))[0]


def test_the_figure_and_the_document_are_made_of_few_comparisons_and_of_many() -> None:
    for result in (_many(1, 0, 0.01), _many(0, 1, 0.01), _many(12, 4, 0.01)):
        drawing = figure.drawing(result)
        assert drawing is not None
        picture = svg(drawing)
        assert picture.count("data-tip") == len(result.primary) + len(result.changed)
        actual_document = json.loads(json.dumps(document.to_json(result), allow_nan=False))
        assert len(actual_document["comparisons"]) == len(result.primary) + len(result.changed)
        assert actual_document["false_differences"]["of"] == len(result.primary)


def test_nothing_decided_is_no_figure() -> None:
    assert figure.drawing(_of_one(_planned("tcp-stream"), [None] * 5, STEADY)) is None


def test_the_page_and_the_text_say_what_was_found_and_what_is_to_be_known_of_it() -> None:
    result = _of_one(_planned("tcp-stream"), [None, *STEADY[1:]], STEADY)
    run = _run(_planned("tcp-stream"), {"ipv4": STEADY, "ipv4-aa": STEADY})
    for text in (page.text(result), page.html(result, run)):
        actual_text = " ".join(text.split())
        assert "1 null comparison by the primary metric of each workload gave 0 false differences" in actual_text
        assert "1 of 10 trials were not valid" in actual_text
        assert "Goodput *" in actual_text
