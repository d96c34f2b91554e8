"""From trials to findings, and from a paper's claims to verdicts.

Everything here is a pure function of a run that was read: no network, no agent, no clock; the same run gives the same
analysis on any machine. `report` renders what comes out; `bench` asks `stopping` whether a combination needs more
blocks. It may import `stats`, `store`, `theory`, `plan` and `model`; never `lab` or `agent`.

================  ===================================================================================
`clock`           what times are read from, and what is said of them where the clock is virtual
`estimates`       each path by itself: mean and interval of every metric
`findings`        each path against its baseline: ratio, interval, verdict
`candidates`      what can be compared, and the finding that each comparison becomes
`looks`           looks at what is not decided yet, and what they may spend of the error
`worker_effects`  what the machines of a run say, each by itself
`kernel_contrasts`  each kernel of a run against the first
`comparison_groups`  comparisons of the same two paths over a factor, such as servers, and their mean
`mixtures`        pairs that a robust mean leaves aside, and paths that do two things
`pooled`          the change in the mean of several levels, and whether they differ
`noise`           the A/A comparisons beside them
`blocks_needed`   about how many blocks would make an answer of what is undecided
`stopping`        when a combination has been measured often enough
`claims`          what became of a paper's claims and numbers
`run_comparison`  a run against another one of the same experiment; `run_settings`: what else differs
================  ===================================================================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..model.finding import Analysis

if TYPE_CHECKING:
    from ..store import Run


def analyse(run: Run, paper: Any = None) -> Analysis:
    """All that a report is made from, besides the run itself.

    Raises `StoreError` where a run has trials by several clocks.

    Args:
        run: as `store.read_run` gives it; it may be unfinished.
        paper: the paper that the experiment reproduces, whose claims are judged and whose numbers are set beside ours.
    """
    from .clock import beside_paper, clock_of, shown_estimates, shown_findings
    from .comparison_groups import comparison_groups
    from .estimates import estimates
    from .findings import findings
    from .fixed_mtu import fixed_mtu_remarks
    from .held_against import mechanism_remarks
    from .kernel_contrasts import kernel_contrasts
    from .noise import (
        awake_remarks,
        load_remarks,
        neighbour_remarks,
        noise_remarks,
        outlying_remarks,
        repeat_remarks,
        slowdown_remarks,
        steal_remarks,
        tester_remarks,
        watch_remarks,
    )
    from .worker_effects import worker_effects, worker_remarks

    clock = clock_of(run)
    is_planned = run.manifest.procedure is None  # the trials of a search are not repetitions
    measured = estimates(run) if is_planned else []
    results = findings(run, measured) if is_planned else []
    effects = worker_effects(run) if is_planned else []
    remarks = [
        *worker_remarks(effects, run),
        *neighbour_remarks(run.trials),
        *watch_remarks(run.trials),
        *load_remarks(run.trials),
        *steal_remarks(run.trials),
        *slowdown_remarks(run.trials),
        *awake_remarks(run.trials),
        *tester_remarks(run.trials),
        *noise_remarks(results, run.manifest.experiment),
        *fixed_mtu_remarks(run.manifest.experiment),
        *mechanism_remarks(run.manifest.experiment.paths),
    ]
    shown = shown_findings(results, clock)
    analysis = Analysis(
        estimates=shown_estimates(measured, clock),
        findings=shown,
        workers=effects,
        kernels=kernel_contrasts(run, clock) if is_planned else [],
        groups=comparison_groups(shown, run.manifest.experiment.statistics),
        remarks=remarks,
        notes=[*repeat_remarks(run.trials, run.manifest.experiment.repeats), *outlying_remarks(results)],
    )
    if paper is None:
        return analysis
    from .claims import in_own_columns, judge

    claims, published = judge(paper, run, results, measured)
    tables = in_own_columns(paper, run, results, measured)
    return beside_paper(replace(analysis, claims=claims, published=published, tables=tables), clock)
