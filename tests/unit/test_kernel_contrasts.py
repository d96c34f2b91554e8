"""Kernel against kernel: each path against itself on the first kernel, paired by block."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import re
from dataclasses import replace

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.model.finding import KernelContrast
from sixbench.report import FORMATS
from sixbench.store import Run

pytestmark = pytest.mark.computes

KERNELS = ("debian-5.10", "debian-6.1", "debian-6.12")


def on_kernels(factors: dict[str, float], blocks: int = 8, column: str = "goodput_bps") -> Run:
    """A run whose trials are those of one kernel on each of several, with a column multiplied."""
    run = synthetic.small(blocks=blocks)
    experiment = run.manifest.experiment
    combinations, trials = [], []
    for kernel, factor in factors.items():
        for combination in experiment.combinations:
            name = f"{combination.name}-{kernel}"
            combinations.append(replace(combination, name=name, levels=combination.levels | {"kernel": kernel}))
        for trial in run.trials:
            value = {column: trial.metrics[column] * factor} if column in trial.metrics else {}
            trials.append(
                replace(
                    trial,
                    key=f"{trial.key}-{kernel}",
                    combination=f"{trial.combination}-{kernel}",
                    levels=trial.levels | {"kernel": kernel},
                    metrics={**trial.metrics, **value},
                )
            )
    several = replace(experiment, combinations=tuple(combinations), kernels=tuple(factors))
    return synthetic.replace_run(replace(run, trials=trials), experiment=several).in_memory()


def contrasts(run: Run, metric: str) -> list[KernelContrast]:
    return [kernel for kernel in analyse(run).kernels if kernel.metric == metric]


def test_each_kernel_is_compared_with_the_first_on_every_path() -> None:
    run = on_kernels(dict(zip(KERNELS, (1.0, 1.1, 0.9), strict=True)))
    actual_contrasts = contrasts(run, "goodput")
    paths = [path.name for path in run.manifest.experiment.paths if path.aa_of is None]
    sizes = {actual_contrast.levels["message_bytes"] for actual_contrast in actual_contrasts}
    assert {
        (actual_contrast.path, actual_contrast.kernel, actual_contrast.levels["message_bytes"])
        for actual_contrast in actual_contrasts
    } == {(path, kernel, size) for path in paths for kernel in KERNELS[1:] for size in sizes}
    assert {actual_contrast.reference for actual_contrast in actual_contrasts} == {KERNELS[0]}
    assert all("kernel" not in actual_contrast.levels for actual_contrast in actual_contrasts)
    for actual_contrast in actual_contrasts:
        assert actual_contrast.ratio == pytest.approx({KERNELS[1]: 1.1, KERNELS[2]: 0.9}[actual_contrast.kernel])
        assert actual_contrast.verdict == {KERNELS[1]: "higher", KERNELS[2]: "lower"}[actual_contrast.kernel]
        assert actual_contrast.value is not None
        assert actual_contrast.reference_value is not None
        assert math.isclose(actual_contrast.value / actual_contrast.reference_value, actual_contrast.ratio)


def test_kernels_that_do_not_differ_are_equivalent() -> None:
    actual_contrasts = contrasts(on_kernels(dict.fromkeys(KERNELS[:2], 1.0)), "goodput")
    assert {actual_contrast.verdict for actual_contrast in actual_contrasts} == {"equivalent"}


def test_only_blocks_that_both_kernels_have_are_pairs() -> None:
    run = on_kernels(dict.fromkeys(KERNELS[:2], 1.0))
    gone = {(trial.block, trial.combination) for trial in run.trials if trial.block == 3 and "6.1" in trial.combination}
    fewer = replace(run, trials=tuple(trial for trial in run.trials if (trial.block, trial.combination) not in gone))
    full, actual_contrasts = contrasts(run, "goodput"), contrasts(fewer, "goodput")
    assert {before.n - after.n for before, after in zip(full, actual_contrasts, strict=True)} <= {0, 1}
    assert sum(actual_contrast.n for actual_contrast in actual_contrasts) < sum(item.n for item in full)


def test_a_run_on_one_kernel_has_no_contrast() -> None:
    assert analyse(synthetic.small().in_memory()).kernels == []
    assert analyse(on_kernels({KERNELS[0]: 1.0})).kernels == []


def scattered(run: Run, kernel: str) -> Run:
    """The run, with values on a kernel that scatter by more than kernels differ."""
    dice = random.Random(5)
    trials = [
        replace(trial, metrics={name: value * dice.lognormvariate(0, 0.08) for name, value in trial.metrics.items()})
        if trial.levels["kernel"] == kernel
        else trial
        for trial in run.trials
    ]
    return replace(run, trials=tuple(trials))


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "html", "json", "csv"])
def test_every_format_has_the_contrast_and_the_blocks_that_an_undecided_one_needs(form: str) -> None:
    run = scattered(on_kernels(dict(zip(KERNELS, (1.0, 1.1, 1.0), strict=True))), KERNELS[2])
    analysis = analyse(run)
    compared = [kernel for kernel in analysis.kernels if kernel.metric == "goodput"]
    needed = [comparison.blocks_needed for comparison in compared if comparison.mark == "undecided"]
    assert needed
    assert all(blocks is not None and blocks > 8 for blocks in needed)
    text = FORMATS[form].render(run, analysis)
    if form == "json":
        kernels = [kernel for kernel in json.loads(text)["kernels"] if kernel["metric"] == "goodput"]
        assert {kernel["kernel"] for kernel in kernels} == set(KERNELS[1:])
        assert [kernel["blocks_needed"] for kernel in kernels if kernel["mark"] == "undecided"] == needed
    elif form == "csv":
        rows = [item for item in csv.DictReader(io.StringIO(text)) if item["reference_kernel"]]
        rows = [row for row in rows if row["metric"] == "goodput"]
        assert {(row["reference_kernel"], row["baseline"] == row["path"]) for row in rows} == {(KERNELS[0], True)}
        assert [int(row["blocks_needed"]) for row in rows if row["mark"] == "undecided"] == needed
        assert [float(row["value"]) for row in rows] == [comparison.value for comparison in compared]
    else:
        plain = " ".join(text.replace("\u00a0", " ").replace("~", " ").split())
        assert "Goodput, kernels against debian-5.10, Mbit/s" in plain
        assert "better" in plain
        assert "undecided" in plain
        assert re.search(r"\(about \d+", plain)  # A terminal's narrow cells continue on the next line.


def test_blocks_that_say_otherwise_are_in_the_row() -> None:
    run = on_kernels({"debian-5.10": 1.0, "debian-6.12": 1.0}, blocks=10)
    trials = []
    for trial in run.trials:
        noise = 1 + random.Random(trial.key).gauss(0, 1e-4)
        metrics = {name: value * noise for name, value in trial.metrics.items()}
        if trial.block == 3 and "goodput_bps" in metrics and trial.levels["kernel"] == "debian-6.12":
            metrics["goodput_bps"] *= 0.1
        trials.append(replace(trial, metrics=metrics))
    disturbed = replace(run, trials=trials)
    assert "in 9 of 10; 90 % less in 1" in FORMATS["md"].render(disturbed, analyse(disturbed))
