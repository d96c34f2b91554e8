"""The clauses of a profile, and whether a run meets them.

`profiles` has the clauses, one file a profile. A clause names what decides it, which is one of the functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from ..model.procedure import Procedure
from ..store import Run
from .lengths import Lengths, lengths
from .results import AtSize, results_of
from .sizes import LEAST_OVER_IPV6, sizes_of

State = Literal["met", "not met", "not applicable"]


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A run of a test, as clauses look at it."""

    run: Run
    procedure: Procedure
    own: Lengths
    results: Sequence[AtSize]

    @property
    def devices(self) -> list[AtSize]:
        """The results of paths with a device."""
        return [result for result in self.results if not result.is_tester]


Judge = Callable[[Tested], tuple[State, str]]


@dataclass(frozen=True, kw_only=True)
class Clause:
    """What an RFC asks for.

    Attributes:
        section: where, such as `RFC 2544 section 24`.
        asks: what, in a few words.
        judge: decides whether a run meets it, and why.
    """

    section: str
    asks: str
    judge: Judge


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A clause with its decision."""

    section: str
    asks: str
    state: State
    reason: str


def judged(run: Run) -> list[Judged]:
    """The clauses of the run's profile, decided. Empty for a run that is no such test."""
    procedure = run.manifest.procedure
    if procedure is None:
        return []
    tested = Tested(run=run, procedure=procedure, own=lengths(procedure.quick), results=results_of(run))
    clauses: Sequence[Clause] = import_module(f".profiles.rfc{procedure.profile}", __package__).CLAUSES
    found = []
    for clause in clauses:
        state, reason = clause.judge(tested)
        found.append(Judged(section=clause.section, asks=clause.asks, state=state, reason=reason))
    return found


def always(state: State, reason: str) -> Judge:
    """What does not depend on the run."""
    return lambda tested: (state, reason)


def sizes(tested: Tested) -> tuple[State, str]:
    """Whether every frame size of the profile was tested."""
    with_ipv6 = any(path.family == 6 or path.server_family == 6 for path in tested.run.manifest.experiment.paths)
    done = {result.frame_bytes for result in tested.devices}
    wanted = sizes_of(tested.procedure.profile, with_ipv6 or LEAST_OVER_IPV6 in done)
    left_out = tested.procedure.left_out or {}
    missing = [size for size in wanted if size not in done]
    if not missing:
        return "met", f"all {len(wanted)} sizes"
    why = next((left_out[size] for size in missing if size in left_out), "they were not asked for")
    return "not met", f"without {', '.join(map(str, missing))}: {why}"


def length(tested: Tested) -> tuple[State, str]:
    """Whether the final trials of searches last 60 s."""
    goal = tested.own.goals[0]
    if goal.final_s >= 60:
        return "met", f"shorter trials search; those that decide last {goal.final_s:g} s"
    return "not met", f"--quick: trials that decide last {goal.final_s:g} s"


def residual(tested: Tested) -> tuple[State, str]:
    """Whether late frames are waited for."""
    if tested.own.residual_s >= 2:
        return "met", "frames count for 2 s after the last one was sent; later ones are told as late"
    return "not met", f"--quick: frames count for {tested.own.residual_s:g} s after the last one was sent"


def throughput(tested: Tested) -> tuple[State, str]:
    """Whether each throughput is known."""
    unknown = [one for one in tested.devices if one.goals[0].bounds.lower_pps is None]
    if unknown:
        places = ", ".join(f"{one.path} at {one.frame_bytes} bytes" for one in unknown[:3])
        return "not met", f"no rate without loss was found for {len(unknown)} of {len(tested.devices)}: {places}"
    return "met", "the highest rate without loss, by MLRsearch (RFC 9971)"


def tester(tested: Tested) -> tuple[State, str]:
    """Whether the tester was faster than what it tested (RFC 2544 section 6)."""
    if all(one.tester_pps is None for one in tested.devices):
        return "not met", "the tester's own limit is not known"
    limited = [one for one in tested.devices if one.goals[0].is_testers or _is_at_tester(one)]
    if limited:
        return "not met", f"the tester was the limit of {len(limited)} of {len(tested.devices)} results, which say so"
    return "met", "without a device the tester carried more than every result, or the line was the limit"


def _is_at_tester(one: AtSize) -> bool:
    own = one.goals[0].bounds
    return (
        own.upper_pps is None
        and own.lower_pps is not None
        and (one.line_pps is None or own.lower_pps < 0.99 * one.line_pps)
    )


def line(tested: Tested) -> tuple[State, str]:
    """Whether the results can be held against a line's rate."""
    if any(one.line_pps is not None for one in tested.devices):
        return "met", "beside each result, less the overhead of the mechanism"
    return "not applicable", "no link of the paths has a rate"
