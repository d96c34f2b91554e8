"""The clock of a run's times, and how times are told if the clock is virtual.

A virtual clock counts the instructions that an emulated machine executes (QEMU, `-icount`). What it calls a nanosecond
is a fixed number of instructions, a property of the code and no duration: units say so (`virtual ns`), and CPU time a
packet or a byte is told as what it is, instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from ..model.errors import StoreError
from ..model.finding import Analysis, Estimate, Finding
from ..model.metric import METRICS
from ..model.quantity import Metric
from ..model.units import TIMED_UNITS, VIRTUAL

if TYPE_CHECKING:
    from ..store import Run
    from ..store.manifest import Clock, Environment

_Result = TypeVar("_Result", Estimate, Finding)

INSTRUCTIONS = {"cpu_per_packet": "instructions_per_packet", "cpu_per_byte": "instructions_per_byte"}
"""CPU time on a virtual clock."""


@dataclass(frozen=True, kw_only=True)
class RunClock:
    """A clock.

    Attributes:
        instruction_ns: how far an instruction moves a virtual clock. None if that is not known, and for a real clock.
    """

    kind: Clock
    instruction_ns: float | None = None

    def unit(self, unit: str) -> str:
        """A unit with a time in it, as this clock tells it."""
        return unit if self.kind == "real" else f"{VIRTUAL}{unit}"

    def __str__(self) -> str:
        return f"a {self.kind} clock{self.rate}"

    @property
    def rate(self) -> str:
        """Time of an instruction, such as ` of 4 ns an instruction`; empty where the clock has none."""
        return "" if self.instruction_ns is None else f" of {self.instruction_ns:g} ns an instruction"


def clock_of(run: Run) -> RunClock:
    """The clock of a run. Raises `StoreError` where its trials have different clocks, which one report cannot show."""
    manifest = run.manifest
    clocks = {_clock(guest) for guest in manifest.guests.values()} or {_clock(manifest.environment)}
    if len(clocks) > 1:
        raise StoreError(
            f"{run.directory} has trials by {' and '.join(sorted(map(str, clocks)))}: one report cannot show both "
            "kinds of times; run each clock in a directory of its own"
        )
    return clocks.pop()


def _clock(environment: Environment) -> RunClock:
    guest = environment.guest
    return RunClock(kind=environment.clock, instruction_ns=None if guest is None else guest.instruction_ns)


def shown_metric(metric: Metric, clock: RunClock) -> tuple[Metric, float]:
    """A metric as a clock tells it, and the number that its values are divided by for that."""
    if clock.kind == "real":
        return metric, 1.0
    if metric.name in INSTRUCTIONS and clock.instruction_ns:
        return METRICS[INSTRUCTIONS[metric.name]], clock.instruction_ns
    return (replace(metric, unit=clock.unit(metric.unit)), 1.0) if metric.unit in TIMED_UNITS else (metric, 1.0)


def shown_estimates(estimates: Sequence[Estimate], clock: RunClock) -> list[Estimate]:
    """Estimates as a clock tells them."""
    if clock.kind == "real":
        return list(estimates)
    return [_shown(estimate, clock, ("value", "ci_low", "ci_high", "theory")) for estimate in estimates]


def shown_findings(findings: Sequence[Finding], clock: RunClock) -> list[Finding]:
    """Findings as a clock tells them. Ratios stay the same."""
    if clock.kind == "real":
        return list(findings)
    values = ("value", "baseline_value", "estimate", "baseline_estimate", "difference", "theory", "theory_baseline")
    ends = ("ci_low", "ci_high", "noise_low", "noise_high", "spread")
    return [_shown(finding, clock, values if finding.ratio is not None else (*values, *ends)) for finding in findings]


def beside_paper(analysis: Analysis, clock: RunClock) -> Analysis:
    """The analysis with a note beside the paper's numbers if our clock is virtual. The paper's clock is real."""
    if clock.kind == "real":
        return analysis
    return replace(
        analysis,
        claims=[replace(claim, evidence=[*claim.evidence, "our times are virtual"]) for claim in analysis.claims],
        published=[
            replace(comparison, note="; ".join(filter(None, (comparison.note, "ours is measured by a virtual clock"))))
            if comparison.unit in TIMED_UNITS
            else comparison
            for comparison in analysis.published
        ],
        tables=[
            replace(table, note=" ".join(filter(None, (table.note, "Ours are measured by a virtual clock."))))
            for table in analysis.tables
        ],
    )


def _shown(item: _Result, clock: RunClock, values: tuple[str, ...]) -> _Result:
    metric, divisor = shown_metric(METRICS[item.metric], clock)
    answers = {name: value / divisor for name in values if (value := getattr(item, name)) is not None}
    return replace(item, metric=metric.name, unit=metric.unit, **answers)
