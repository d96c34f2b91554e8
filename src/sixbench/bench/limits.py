"""The limit of a trial's traffic: the path, the tester, or the machine's processors."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.reason import Reason, ReasonKind
from ..model.workload import TrialMeasurements

PATH_LIMITED_SHARE = 0.97
"""The share of the theoretical goodput from which on the path was the limit."""


def limit_of_goodput(measured: TrialMeasurements, expected: Mapping[str, float], otherwise: str | None) -> str | None:
    """The limit of a trial that measured a goodput: `path` where theory allows no more, else what witnesses saw. None:
    it is not known.

    Args:
        expected: the values by theory, by column.
        otherwise: the limit that witnesses saw, such as `cpu`.
    """
    goodput, limit = measured.metrics.get("goodput_bps"), expected.get("goodput_bps")
    if goodput is None:
        return None
    if limit is not None and goodput >= PATH_LIMITED_SHARE * limit:
        return "path"
    return otherwise


def not_the_path(limited_by: str, measured: TrialMeasurements, expected: Mapping[str, float]) -> Reason:
    """The reason why a trial is invalid whose path was to be the limit."""
    if limited_by == "cpu":
        kind, limit = ReasonKind.CPU_LIMITED, "the machine's CPU"
    else:
        kind, limit = ReasonKind.TESTER_LIMITED, "the tester"
    return Reason(kind=kind, text=f"{limit} rather than the path was the limit: {_goodput_words(measured, expected)}")


def _goodput_words(measured: TrialMeasurements, expected: Mapping[str, float]) -> str:
    goodput, limit = measured.metrics.get("goodput_bps", 0.0), expected.get("goodput_bps")
    words = f"{goodput / 1e6:.1f} Mbit/s"
    return words + (f", where the path allows {limit / 1e6:.1f} Mbit/s" if limit else "")
