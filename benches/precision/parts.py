"""The parts of `make bench-precision`: a new one is a line here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import careful, ours, shipped
from .differences import DELAY, HEADER, HOP, RATE, Differences

SHIPPED = "shipped"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Known differences and the time for them.

    Attributes:
        ours_s, tools_s: what sixbench and the tool beside it get.
    """

    differences: Differences
    ours_s: float
    tools_s: float


PARTS = {
    "rate": Part(differences=RATE, ours_s=160, tools_s=160),
    "delay": Part(differences=DELAY, ours_s=160, tools_s=160),
    "header": Part(differences=HEADER, ours_s=96, tools_s=70),
    "hop": Part(differences=HOP, ours_s=96, tools_s=90),
}
"""Enough for one comparison of a minute, two of half a minute, and so on: see `curve.SECONDS`."""
NAMES = (*PARTS, SHIPPED)


def measure(
    name: str, scratch: Path, share: float, minutes: float | None, experiments: Sequence[str]
) -> dict[str, Any]:
    """Measures a part, and returns the content of its JSON file.

    Args:
        scratch: a folder for the run directories.
        share: of the part's time.
        minutes: instead of the part's own time, for sixbench and the tool together; None: that of the part.
        experiments: what the part `shipped` runs, whose time is theirs.
    """
    if name == SHIPPED:
        return {"experiments": shipped.measure(experiments, scratch)}
    part = PARTS[name]
    if minutes is not None:
        share *= minutes * 60 / (part.ours_s + part.tools_s)
    run = ours.measure(part.differences, share * part.ours_s, scratch / name)
    summary = ours.summary(part.differences, run)
    theory = {title: difference["theory"] for title, difference in summary["differences"].items()}
    rounds = careful.measure(part.differences, share * part.tools_s)
    [combination] = run.manifest.experiment.combinations
    return {
        "workload": part.differences.workload,
        "metric": part.differences.metric,
        "duration_ms": combination.workload.params["duration_ns"] / 1e6,
        "warmup_ms": combination.workload.params["warmup_ns"] / 1e6,
        "ours": summary,
        "careful": careful.summary(part.differences, rounds, theory),
    }
