"""A run against another one of the same experiment: what differs, what is worse, when the command ends with 1.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/unit/test_run_comparison.py` writes the golden file anew: read the difference.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from sixbench.analysis.blocks_needed import Unanswered, more_precise
from sixbench.analysis.run_comparison import compare_runs
from sixbench.model.errors import UsageError
from sixbench.model.run_comparison import ComparedMetric, RunComparison
from sixbench.model.trial import TrialRecord
from sixbench.report.run_comparison import document, render
from sixbench.stats import compare_unpaired
from sixbench.store import EmulatedMachine

pytestmark = pytest.mark.computes

GOLDEN = Path(__file__).parents[1] / "golden" / "report" / "compared.txt"
OLD = synthetic.small(blocks=6)
CLOCKED = EmulatedMachine(kernel="debian-6.1", emulator="QEMU 10.0.2", accelerator="tcg", instruction_ns=1, seed=1)


def changed(
    factors: dict[str, float], path: str = "ipv6", run: synthetic.Synthetic = OLD, **environment: Any
) -> synthetic.Synthetic:
    """A run like another one, with some columns of a path multiplied."""

    def change(trial: TrialRecord) -> TrialRecord:
        if trial.path != path:
            return trial
        return replace(trial, metrics={name: value * factors.get(name, 1.0) for name, value in trial.metrics.items()})

    trials = [change(trial) for trial in run.trials]
    return synthetic.replace_run(
        replace(run, trials=trials), run="changed", environment=replace(run.manifest.environment, **environment)
    )


def constant(run: synthetic.Synthetic, virtual: bool = True) -> synthetic.Synthetic:
    """A run in which all trials with the same settings gave the same, as on a virtual clock."""
    first: dict[tuple[str, str], TrialRecord] = {}
    for trial in run.trials:
        first.setdefault((trial.combination, trial.path), trial)
    trials = [replace(trial, metrics=first[trial.combination, trial.path].metrics) for trial in run.trials]
    environment = run.manifest.environment
    clock = replace(environment, clock="virtual", guest=CLOCKED) if virtual else environment
    return synthetic.replace_run(replace(run, trials=trials), environment=clock)


def compared(new: synthetic.Synthetic, old: synthetic.Synthetic = OLD, **options: Any) -> RunComparison:
    return compare_runs(old.in_memory(), new.in_memory(), **options)


def metrics_of(comparison: RunComparison, metric: str, path: str = "ipv6") -> list[ComparedMetric]:
    return [item for item in comparison.metrics if (item.metric, item.path) == (metric, path)]


def test_the_text_is_as_in_the_golden_file() -> None:
    new = changed({"goodput_bps": 0.97, "rtt_p50_ns": 0.9}, kernel="6.19.0")
    text = render(compared(new, limit=0.01))
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_an_identical_run_is_within_any_limit() -> None:
    comparison = compared(OLD, limit=0.0)
    assert not comparison.fails
    assert (comparison.settings, comparison.lacking, comparison.over) == ([], [], [])
    assert {item.change for item in comparison.metrics} == {"inconclusive"}
    assert {item.ratio for item in comparison.metrics} <= {1.0, None}
    assert len(comparison.judged) == sum(item.headline for item in comparison.metrics)


@pytest.mark.parametrize(
    ("column", "factor", "limit", "is_over"),
    [
        ("goodput_bps", 0.97, 0.01, True),
        ("goodput_bps", 0.97, 0.05, False),
        ("goodput_bps", 1.03, 0.01, False),
        ("rtt_p50_ns", 1.05, 0.01, True),
        ("rtt_p50_ns", 0.95, 0.01, False),
    ],
)
def test_the_direction_that_is_worse_is_the_metrics_own(
    column: str, factor: float, limit: float, is_over: bool
) -> None:
    comparison = compared(changed({column: factor}), limit=limit)
    metric = column.rpartition("_")[0]
    assert comparison.fails == is_over
    assert {item.is_over for item in metrics_of(comparison, metric)} == {is_over}
    assert {item.metric for item in comparison.over} == ({metric} if is_over else set())
    is_worse = (factor < 1) == (metric == "goodput")
    assert {item.change for item in metrics_of(comparison, metric)} == {"worse" if is_worse else "better"}


def test_what_differs_beside_the_results_is_named() -> None:
    faster = replace(OLD.manifest.experiment, seed=2)
    new = synthetic.replace_run(changed({}, kernel="6.19.0", cores=4), experiment=faster)
    comparison = compared(new)
    assert [(setting.name, setting.old, setting.new) for setting in comparison.settings] == [
        ("kernel", "6.18.0", "6.19.0"),
        ("cores", "2", "4"),
        ("experiment.seed", "1", "2"),
    ]


def test_without_any_spread_the_values_decide() -> None:
    old = constant(OLD)
    assert not compared(old, old, limit=0.0).fails
    slower = compared(constant(changed({"goodput_bps": 0.985})), old, limit=0.01)
    assert {item.metric for item in slower.over} == {"goodput"}
    assert [(item.ci_low, item.ci_high) for item in slower.over] == [(item.ratio, item.ratio) for item in slower.over]
    barely = compared(constant(changed({"goodput_bps": 0.995})), old, limit=0.01)
    assert not barely.fails
    assert {item.change for item in metrics_of(barely, "goodput")} == {"worse"}


def test_a_share_may_become_worse_by_so_many_percentage_points() -> None:
    def with_loss(loss_ratio: float) -> synthetic.Synthetic:
        trials = [replace(trial, metrics={**trial.metrics, "loss_ratio": loss_ratio}) for trial in OLD.trials]
        return replace(OLD, trials=trials)

    for loss_ratio, is_over in ((0.009, False), (0.011, True)):
        comparison = compared(with_loss(loss_ratio), with_loss(0.0), limit=0.01)
        assert {item.is_over for item in metrics_of(comparison, "loss_ratio")} >= {is_over}
        assert comparison.fails == is_over


def test_the_limit_is_for_the_metrics_that_are_named() -> None:
    new = changed({"goodput_bps": 0.9})
    assert compared(new, limit=0.01, metrics=["goodput"]).fails
    comparison = compared(new, limit=0.01, metrics=["rtt_p50"])
    assert not comparison.fails
    assert {item.metric for item in comparison.judged} == {"rtt_p50"}


def test_a_path_that_works_no_longer_is_over_the_limit_and_one_that_is_gone_is_told() -> None:
    reasons = {trial.key: ("failed", "agent h2 died") for trial in OLD.trials if trial.path == "ipv6"}
    broken = compared(synthetic.spoil(OLD, reasons), limit=0.01)  # type: ignore[arg-type]
    assert broken.fails
    assert {item.path for item in broken.lost} == {"ipv6"}
    assert "without a valid trial in the new run" in render(broken)
    experiment = replace(OLD.manifest.experiment, paths=synthetic.NATIVE[:2])
    trials = [trial for trial in OLD.trials if trial.path != "ipv6"]
    fewer = compared(synthetic.replace_run(replace(OLD, trials=trials), experiment=experiment), limit=0.01)
    assert not fewer.fails
    assert "Not in the new run (not in its experiment): ipv6: TCP bulk transfer" in render(fewer)


def test_runs_of_other_experiments_or_clocks_are_not_compared() -> None:
    other = synthetic.replace_run(OLD, experiment=replace(OLD.manifest.experiment, name="another"))
    with pytest.raises(UsageError, match="of the experiment small and runs/small of another: only runs of one"):
        compared(other)
    with pytest.raises(UsageError, match=r"by a real clock and runs/.* by a virtual clock of 1 ns an instruction"):
        compared(constant(OLD))
    slower = replace(OLD.manifest.environment, clock="virtual", guest=replace(CLOCKED, instruction_ns=2))
    with pytest.raises(UsageError, match=r"of 1 ns an instruction and .* of 2 ns an instruction: their times cannot"):
        compared(synthetic.replace_run(OLD, environment=slower), constant(OLD))


def test_one_trial_tells_no_spread_and_is_held_against_no_limit(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    run = synthetic.small(blocks=1)
    run.write(tmp_path / "one")
    done = sixbench("compare", tmp_path / "one", tmp_path / "one", "--fail-over", "1%")
    assert done.exit == 2
    assert "fewer than two valid trials" in done.stdout
    assert done.stderr.startswith("sixbench: --fail-over 1%: no metric could be tested against it")
    assert sixbench("compare", tmp_path / "one", tmp_path / "one").exit == 0


def test_the_command_ends_with_1_where_a_metric_is_worse(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    OLD.write(tmp_path / "old")
    changed({"goodput_bps": 0.97}).write(tmp_path / "new")
    assert sixbench("compare", tmp_path / "old", tmp_path / "new").exit == 0
    done = sixbench("compare", tmp_path / "old", tmp_path / "new", "--fail-over", "1%", "--json")
    assert (done.exit, done.stderr) == (1, "")
    actual_document = json.loads(done.stdout)
    assert actual_document == json.loads(json.dumps(document(compared(changed({"goodput_bps": 0.97}), limit=0.01))))
    assert (actual_document["schema"], actual_document["fails"]) == ("sixbench.run-comparison/2", True)
    over = {(item["metric"], item["path"]) for item in actual_document["metrics"] if item["is_over"]}
    assert over == {("goodput", "ipv6")}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fail-over", "1"), 'sixbench: --fail-over 1: "1" has no unit; a percentage takes one of %, such as 2%\n'),
        (("--fail-over", "100%"), "sixbench: --fail-over 100%: give a share from 0% to under 100%\n"),
        (("--metric", "godput"), 'sixbench: --metric godput: there is no such metric; did you mean "goodput"?\n'),
        (
            ("--metric", "share_ipv6"),
            "sixbench: --metric share_ipv6: neither direction of it is worse, so it cannot have a limit\n",
        ),
        ((), "sixbench: nowhere is not a run directory: it has no manifest.json\n"),
    ],
)
def test_a_command_line_that_is_wrong(arguments: tuple[str, ...], words: str, sixbench: Callable[..., Any]) -> None:
    done = sixbench("compare", "nowhere", "nowhere", *arguments)
    assert (done.exit, done.stdout, done.stderr) == (2, "", words)


def test_of_many_comparisons_only_those_that_changed_are_shown() -> None:
    old = synthetic.many_levels(blocks=3)
    text = render(compared(changed({"goodput_bps": 0.8}, run=old), old))
    assert text.count("worse") > 10
    assert "more comparisons without a certain change. Show them with --all." in text
    assert len(text.splitlines()) < 400


def test_the_answer_comes_first_and_the_settings_that_matter_least_are_folded() -> None:
    sysctls = {f"net.test{number}": "1" for number in range(30)}
    new = changed({"goodput_bps": 0.97}, kernel="6.19.0", sysctls=sysctls)
    comparison = compared(new)
    text = render(comparison)
    places = [text.index(words) for words in ("33 comparisons of headline metrics: 2 worse", "Goodput", "6.19.0")]
    assert places == sorted(places)
    folded = len(comparison.settings) - 6
    assert f"and {folded} more settings. Show them with --all." in text
    assert "more settings" not in render(comparison, everything=True)
    assert render(comparison, everything=True).count("net.test") == 30


def test_values_of_both_runs_give_the_printed_change() -> None:
    old = synthetic.small(blocks=5).in_memory()
    dice = random.Random(3)
    trials = [
        replace(trial, metrics={name: value * dice.choice([1.0, 1.1, 9.0]) for name, value in trial.metrics.items()})
        for trial in old.trials
    ]
    compared = compare_runs(old, replace(old, trials=trials))
    ratios = [item for item in compared.metrics if item.ratio is not None]
    assert ratios
    for item in ratios:
        assert item.ratio == pytest.approx(item.new.value / item.old.value, rel=1e-12)


def test_a_change_that_is_undecided_says_how_many_blocks_in_each_run_would_tell() -> None:
    dice = random.Random(3)
    trials = [
        replace(trial, metrics={name: value * dice.lognormvariate(0, 0.05) for name, value in trial.metrics.items()})
        for trial in OLD.trials
    ]
    comparison = compared(replace(OLD, trials=trials))
    undecided = [item for item in metrics_of(comparison, "goodput") if not item.is_equivalent]
    assert undecided
    for item in undecided:
        assert item.change == "inconclusive"
        assert item.blocks_needed is not None
        assert item.blocks_needed > max(item.old.n, item.new.n)
    assert "undecided (about" in render(comparison)
    assert {item["blocks_needed"] for item in document(comparison)["metrics"] if item["change"] == "better"} <= {None}


def test_a_change_within_the_margin_is_equivalent_and_not_undecided() -> None:
    compared_metrics = metrics_of(compared(OLD), "goodput")
    assert {(item.is_equivalent, item.blocks_needed) for item in compared_metrics} == {(True, None)}


def test_the_blocks_needed_give_an_interval_as_narrow_as_they_say() -> None:
    """Two runs of that size, simulated with the spread of the runs at hand, tell the change in the mean."""
    dice = random.Random(8)
    old, new = ([dice.lognormvariate(0, sigma) for _ in range(8)] for sigma in (0.03, 0.05))
    unpaired = compare_unpaired(old, new, "ratio")
    interval = unpaired.interval(0.95)
    assert interval is not None
    unanswered = Unanswered(
        n=8,
        ratio=unpaired.change,
        difference=None,
        low=interval[0],
        high=interval[1],
        spread=unpaired.spread,
        unit="bit/s",
        values=(1.0, 1.0),
    )
    needed = more_precise(unanswered, 0.01, 0.95)
    assert needed is not None
    assert needed.tells == 0.01
    sides = [[dice.lognormvariate(0, (unpaired.spread or 0) / 2**0.5) for _ in range(needed.blocks)] for _ in range(2)]
    narrow = compare_unpaired(sides[0], sides[1], "ratio").interval(0.95)
    assert narrow is not None
    assert (narrow[1] - narrow[0]) / 2 == pytest.approx(0.01, rel=0.2)
