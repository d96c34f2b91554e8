"""The load of a page that a trial of `http` has kept, and the trials whose loads are drawn over each other."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.experiment import Experiment
from ..model.trial import TrialRecord
from ..model.workloads import http
from ..store import Run

MOST_OBJECTS = 120
"""Objects of a page that are drawn: more have no room, and would make a page of the report long."""
_FAMILIES = ("native4", "native6")


@dataclass(frozen=True, kw_only=True)
class LoadedPage:
    """The times of a page's objects from the start of the page, of the first `MOST_OBJECTS` of them.

    Attributes:
        objects: number of objects of the page.
        page_ns: the end of the last object.
    """

    objects: int
    page_ns: int
    begun_ns: list[int]
    first_byte_ns: list[int]
    ended_ns: list[int]


def page_load(trial: TrialRecord) -> LoadedPage | None:
    """The last page that a trial loaded; None if its client has kept none, such as somebody else's program."""
    times = trial.client.get("last_page")
    if not times or not times["ended_ns"]:
        return None
    first = {name: times[name][:MOST_OBJECTS] for name in ("begun_ns", "first_byte_ns", "ended_ns")}
    return LoadedPage(objects=len(times["ended_ns"]), page_ns=max(times["ended_ns"]), **first)


def compared_paths(experiment: Experiment) -> list[str]:
    """The two paths that are drawn over each other: native IPv4 and native IPv6, or else the baseline and the first
    other path."""
    real = [path for path in experiment.paths if path.aa_of is None]
    natives = [next((path.name for path in real if path.mechanism == mechanism), None) for mechanism in _FAMILIES]
    both = [name for name in natives if name is not None]
    if len(both) == len(_FAMILIES):
        return both
    return [experiment.baseline, *(path.name for path in real if path.name != experiment.baseline)][:2]


def median_trial(run: Run, combination: str, path: str) -> TrialRecord | None:
    """The valid trial whose page time is the median, the lower one of two; None if none has one."""
    column = f"{http.KIND.primary}_ns"
    trials = [
        trial
        for trial in run.trials
        if (trial.combination, trial.path, trial.status) == (combination, path, "ok") and column in trial.metrics
    ]
    trials.sort(key=lambda trial: trial.metrics[column])
    return trials[(len(trials) - 1) // 2] if trials else None
