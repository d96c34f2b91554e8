"""Reports of runs by a virtual clock: no value with a time in it stands there as if it were one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import synthetic

from sixbench.analysis import analyse
from sixbench.analysis.run_comparison import compare_runs
from sixbench.model.errors import StoreError
from sixbench.model.units import TIMED_UNITS, scale
from sixbench.plan.loading import load_paper
from sixbench.report import FORMATS, html
from sixbench.report.run_description import environment_properties
from sixbench.store import EmulatedMachine, Environment, Run

pytestmark = pytest.mark.computes

BANNER = "All times in this run come from a virtual clock"
TIMED = re.compile(r"[0-9(][ \u00a0]?(?:[kMG]?bit/s|[kM]?packets/s|[nmµ]s)\b(?! an instruction)")


def virtual(kernel: str = "debian-6.1", instruction_ns: int = 1) -> Environment:
    guest = EmulatedMachine(
        kernel=kernel, emulator="QEMU 10.0.2", accelerator="tcg", instruction_ns=instruction_ns, seed=7
    )
    return replace(synthetic.environment(), clock="virtual", guest=guest)


def run_by(environment: Environment) -> Run:
    return synthetic.replace_run(synthetic.small(), environment=environment).in_memory()


def plain(text: str) -> str:
    """A page without its markup and without what it draws."""
    for element in ("style", "script", "svg"):
        text = re.sub(rf"<{element}.*?</{element}>", "", text, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", text)


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "html"])
def test_every_value_with_a_time_in_it_says_that_it_is_virtual(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "drawings", lambda run, analysis: [])  # figures need a run that is on a disk
    run = run_by(virtual())
    text = " ".join(plain(FORMATS[form].render(run, analyse(run))).split())
    assert BANNER in text
    assert "virtual Mbit/s" in text
    network = text.find("Network and paths")
    assert TIMED.findall(text[: network if network > 0 else None]) == []


def test_a_real_clock_needs_no_word() -> None:
    run = run_by(synthetic.environment())
    text = FORMATS["terminal"].render(run, analyse(run))
    assert "virtual" not in text
    assert TIMED.search(text)


def test_nanoseconds_of_cpu_time_are_instructions() -> None:
    real, counted = (analyse(run_by(item)) for item in (synthetic.environment(), virtual(instruction_ns=2)))
    before = [estimate for estimate in real.estimates if estimate.metric == "cpu_per_byte"]
    after = [estimate for estimate in counted.estimates if estimate.metric == "instructions_per_byte"]
    assert before
    assert [item.value for item in after] == [item.value / 2 for item in before]
    assert [item.ci_low for item in after] == [None if item.ci_low is None else item.ci_low / 2 for item in before]
    assert {item.unit for item in after} == {"instructions"}
    assert not any(estimate.metric.startswith("cpu_per") for estimate in counted.estimates)
    ratios = [[finding.ratio for finding in item.findings] for item in (real, counted)]
    assert ratios[0] == ratios[1]


def test_comparisons_of_runs_are_told_likewise() -> None:
    run = run_by(virtual())
    metrics = {item.metric: item for item in compare_runs(run, run, 0.01, ["cpu_per_byte"]).metrics}
    assert (metrics["goodput"].unit, metrics["rtt_p50"].unit) == ("virtual bit/s", "virtual ns")
    assert (metrics["instructions_per_byte"].unit, metrics["instructions_per_byte"].is_over) == ("instructions", False)


def test_the_kernels_of_emulated_machines_stand_with_their_emulator() -> None:
    guests = {name: replace(virtual(name), kernel=f"{name[7:]}.0") for name in ("debian-5.10", "debian-6.12")}
    run = synthetic.replace_run(synthetic.small(), environment=guests["debian-5.10"], guests=guests).in_memory()
    by_name = dict(environment_properties(run))
    assert by_name["Clock"] == "virtual clock of 1 ns an instruction"
    assert by_name["Kernel debian-6.12"] == "6.12.0 (QEMU 10.0.2, tcg, seed 7)"
    assert "Kernel" not in by_name


def test_trials_by_several_clocks_are_in_no_report() -> None:
    guests = {"a": virtual("a"), "b": virtual("b", instruction_ns=2)}
    run = synthetic.replace_run(synthetic.small(), guests=guests).in_memory()
    words = "has trials by a virtual clock of 1 ns an instruction and a virtual clock of 2 ns an instruction:"
    with pytest.raises(StoreError, match=words):
        analyse(run)
    with pytest.raises(StoreError, match=words):
        compare_runs(run, run)


def test_virtual_units_have_the_prefix_that_reads_best() -> None:
    assert scale(94.1e6, "virtual bit/s") == (94.1, "virtual Mbit/s")
    assert scale(52_100, "virtual ns") == (52.1, "virtual µs")
    assert scale(3, "virtual donkeys") == (3, "virtual donkeys")


def test_ours_beside_a_papers_numbers_say_that_they_are_virtual() -> None:
    run = synthetic.replace_run(synthetic.transition(blocks=3), environment=virtual()).in_memory()
    analysis = analyse(run, load_paper("raicu-zeadally-transition"))
    timed = [item for item in analysis.published if item.unit in TIMED_UNITS]
    assert timed
    assert all(item.note.endswith("ours is measured by a virtual clock") for item in timed)
    assert analysis.claims
    assert all(claim.evidence[-1] == "our times are virtual" for claim in analysis.claims)
    assert all(table.note.endswith("Ours are measured by a virtual clock.") for table in analysis.tables)
