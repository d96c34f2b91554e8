"""The shipped experiments as users run them: what of them is decided, how wide the intervals are, and what it took."""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sixbench
from sixbench.model.finding import Analysis, Finding

QUICK = "--quick"
DECIDED = ("reproduced", "not reproduced", "opposite")
"""Verdicts on a claim that need no more blocks."""
CHOSEN = ("quickstart", f"quickstart {QUICK}", f"soorty-sarkar-kernels {QUICK}")
"""Experiments that are run unless others are named: about six minutes."""


def measure(named: Sequence[str], directory: Path) -> dict[str, Any]:
    """Runs each, and says what came of it, by name.

    Args:
        named: names of shipped experiments, with `--quick` behind those that are to be short.
        directory: gets the run directories.
    """
    collected = {}
    for name in named:
        experiment, _, option = name.partition(" ")
        started = time.monotonic()
        run = sixbench.run(experiment, quick=option == QUICK, out=directory / name.replace(" ", ""), quiet=True)
        minutes = (time.monotonic() - started) / 60
        valid = sum(status == "ok" for status in run.trials["status"])
        collected[name] = {"minutes": minutes, "trials": len(run.trials), "valid": valid, **summary(run.analysis)}
    return collected


def summary(analysis: Analysis) -> dict[str, Any]:
    """Headlines by metric and claims by verdict."""
    groups: dict[str, list[Finding]] = defaultdict(list)
    for finding in analysis.findings:
        if finding.headline and not finding.is_aa:
            groups[f"{finding.workload} {finding.metric}"].append(finding)
    verdicts = Counter(claim.verdict for claim in analysis.claims)
    return {
        "headlines": {name: _headline(findings) for name, findings in groups.items()},
        "claims": {
            "decided": sum(verdicts[verdict] for verdict in DECIDED),
            "undecided": verdicts["undecided"],
            "not testable here": verdicts["not testable here"],
        }
        if analysis.claims
        else None,
    }


def _headline(findings: Sequence[Finding]) -> dict[str, Any]:
    """Number of findings, their marks, and the median of their half widths, as a share of the ratio. Those that are
    compared by difference, such as losses, have no half width."""
    widths = [
        (finding.ci_high - finding.ci_low) / 2 / finding.ratio
        for finding in findings
        if finding.ratio and finding.ci_low is not None and finding.ci_high is not None
    ]
    return {
        "findings": len(findings),
        "marks": dict(Counter(finding.mark for finding in findings)),
        "half_width": statistics.median(widths) if widths else None,
        "widest": max(widths, default=None),
    }
