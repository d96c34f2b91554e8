"""A paper's claims between systems, judged on the kernels that stand for them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from paper_runs import GOODPUT, HEAD, claim, paper_of, read, run_of, same

from sixbench.analysis.claims import judge
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.analysis.system_kernels import system_kernels
from sixbench.model.errors import ExperimentError
from sixbench.model.finding import ClaimResult, PublishedComparison
from sixbench.model.paper import (
    SYSTEM,
    ClaimTest,
    Contrast,
    DirectionTest,
    Formula,
    OurMeasurement,
    Paper,
    PublishedValue,
)
from sixbench.store import Run

pytestmark = pytest.mark.computes

NEWER_IS_HIGHER = Contrast(selector=GOODPUT, of="value", factor=SYSTEM, at="old", then="new", expect="rises")


def of_systems(*tests: ClaimTest, values: tuple[PublishedValue, ...] = ()) -> Paper:
    return replace(
        paper_of(*tests, values=values), systems={"old": "Old Linux", "new": "New Linux"}, generations=("old", "new")
    )


def on_kernels(value: dict[str, float], releases: dict[str, str] | None = None) -> Run:
    """IPv4 has `value` of the kernel, IPv6 a tenth less, at every length."""
    run = run_of(same)
    before = run.manifest.experiment
    combinations = tuple(
        replace(c, name=f"{c.name}-{kernel}", levels=c.levels | {"kernel": kernel})
        for kernel in value
        for c in before.combinations
    )
    trials = [
        replace(
            trial,
            key=f"{trial.key}-{kernel}",
            combination=f"{trial.combination}-{kernel}",
            levels=trial.levels | {"kernel": kernel},
            metrics={
                "goodput_bps": trial.metrics["goodput_bps"] / 1e8 * value[kernel] * (0.9 if trial.path == "ipv6" else 1)
            },
        )
        for kernel in value
        for trial in run.trials
    ]
    environment = run.manifest.environment
    known = releases or {kernel: f"{kernel}.0-1-amd64" for kernel in value}
    guests = {kernel: replace(environment, kernel=known[kernel]) for kernel in value}
    experiment = replace(before, combinations=combinations, kernels=tuple(value))
    return replace(run, manifest=replace(run.manifest, experiment=experiment, guests=guests), trials=trials)


def verdict(test: ClaimTest, run: Run) -> ClaimResult:
    actual_estimates = estimates(run)
    [result], _ = judge(of_systems(test), run, findings(run, actual_estimates), actual_estimates)
    return result


def beside(run: Run, ours: OurMeasurement, system: str | None = None) -> PublishedComparison:
    published = PublishedValue(source="Table 1", what="w", system=system, value=1, unit="%", ours=ours)
    actual_estimates = estimates(run)
    _, [comparison] = judge(of_systems(values=(published,)), run, findings(run, actual_estimates), actual_estimates)
    return comparison


def test_the_oldest_and_the_newest_kernel_stand_for_the_older_and_the_newer_system() -> None:
    result = verdict(NEWER_IS_HIGHER, on_kernels({"6.12": 1.2e9, "5.10": 1.0e9, "6.1": 0.5e9}))
    assert result.verdict == "reproduced"
    assert "higher on 6.12 than on 5.10" in result.reason
    assert "5.10 stands for Old Linux, 6.12 stands for New Linux" in result.reason
    assert "+20.0 %" in result.evidence[0]
    assert "from 5.10 to 6.12, n = 6" in result.evidence[0]


def test_kernels_may_show_the_contrary_or_nothing() -> None:
    assert verdict(NEWER_IS_HIGHER, on_kernels({"5.10": 1.2e9, "6.12": 1.0e9})).verdict == "opposite"
    assert verdict(NEWER_IS_HIGHER, on_kernels({"5.10": 1e9, "6.12": 1e9})).verdict == "not reproduced"
    unchanged = replace(NEWER_IS_HIGHER, expect="same")
    assert verdict(unchanged, on_kernels({"5.10": 1e9, "6.12": 1e9})).verdict == "reproduced"


@pytest.mark.parametrize(
    "run",
    [
        run_of(same),
        on_kernels({"6.1": 1e9}),
        on_kernels({"a": 1e9, "b": 1e9}, {"a": "6.1.0-50-amd64", "b": "6.1.0-49-amd64"}),
    ],
    ids=["this machine", "one kernel", "one release twice"],
)
def test_one_kernel_is_told_to_be_too_few(run: Run) -> None:
    result = verdict(NEWER_IS_HIGHER, run)
    assert result.verdict == "not testable here"
    assert "--kernels" in result.reason


def test_a_claim_on_one_system_is_judged_on_the_kernel_that_stands_for_it() -> None:
    of_old = DirectionTest(selector=replace(GOODPUT, levels={SYSTEM: ("old",)}), expect="lower", quantifier="all")
    several = verdict(of_old, on_kernels({"5.10": 1e9, "6.12": 1e9}))
    assert len(several.evidence) == 3
    assert all("kernel 5.10" in sentence for sentence in several.evidence)
    alone = verdict(of_old, run_of(lambda path, length: 0.9e8 if path == "ipv6" else 1e8))
    assert (alone.verdict, len(alone.evidence)) == ("reproduced", 3)


def test_numbers_stand_beside_those_of_the_kernel_that_stands_for_their_system() -> None:
    run = on_kernels({"5.10": 1.0e9, "6.1": 5e9, "6.12": 2.0e9})
    at_128 = replace(GOODPUT, paths=("ipv4",), levels={"length_bytes": (128,)})
    number_beside = beside(run, OurMeasurement(selector=replace(at_128, metric="goodput"), formula="value"), "new")
    assert number_beside.ours == pytest.approx(2.0e9, rel=0.01)
    assert "ours is of 6.12" in number_beside.note


@pytest.mark.parametrize(("formula", "percent"), [("of-baseline", -50), ("of-mean", -66.7), ("of-larger", -50)])
def test_numbers_between_systems_have_ours_between_kernels(formula: Formula, percent: float) -> None:
    selector = replace(GOODPUT, levels={"length_bytes": (128,), SYSTEM: ("old",)})
    ours = OurMeasurement(selector=selector, formula=formula, against={SYSTEM: "new"})
    number_beside = beside(on_kernels({"5.10": 1.0e9, "6.12": 2.0e9}), ours)
    assert number_beside.ours == pytest.approx(percent, rel=0.01)
    assert number_beside.ours_low is not None
    assert "ours is of 5.10 against 6.12" in number_beside.note
    assert beside(run_of(same), ours).ours is None


def test_releases_are_ordered_as_numbers() -> None:
    run = on_kernels({"debian": 1e9, "own": 1e9}, {"debian": "6.9.1", "own": "6.18.0-rc1 #1 SMP"})
    assert system_kernels(of_systems(), run).kernels == {"old": "debian", "new": "own"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("generations: [old]", "generations are two systems, the older and the newer"),
        ("generations: [old, old]", "generations are two systems"),
        ("generations: [old, newest]", 'generations.1: "newest" is not a system'),
    ],
)
def test_generations_are_two_of_the_systems(written: str, expected: str) -> None:
    with pytest.raises(ExperimentError) as failure:
        read(f"{HEAD}{written}\nclaims: []\n")
    assert expected in str(failure.value)


def test_a_system_that_is_no_generation_cannot_be_asked_for() -> None:
    selected = "workload: tcp-stream, metric: goodput, path: ipv6"
    with pytest.raises(ExperimentError, match='"old" is not a generation'):
        read(claim(f"test: {{contrast: {{{selected}, factor: system, at: old, then: old, expect: rises}}}}"))
