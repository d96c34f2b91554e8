"""What the trials of a run say, test by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..mechanisms import install
from ..model.experiment import Experiment
from ..model.procedure import TEST_LEVEL, Procedure
from ..model.topology import Family
from ..model.trial import TrialRecord
from ..store import Run
from .lengths import lengths
from .sizes import line_pps
from .throughput import Throughput, read


@dataclass(frozen=True, kw_only=True)
class AtSize:
    """The throughput of a path at one frame size.

    Attributes:
        is_tester: whether the path has no device.
        line_pps: what the slowest line of the way carries. None: none has a rate.
        tester_pps: the throughput of the tester without a device. None: it is not known.
        goals: the results by goal, RFC 2544's first.
    """

    path: str
    frame_bytes: int
    is_tester: bool
    line_pps: float | None
    tester_pps: float | None
    goals: Sequence[Throughput]


def results_of(run: Run) -> list[AtSize]:
    """The results in the order of the experiment, those of the tester last. Empty for a run that is no such test."""
    procedure = run.manifest.procedure
    if procedure is None:
        return []
    experiment = run.manifest.experiment
    goals = lengths(procedure.quick).goals
    by_place: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in run.trials:
        by_place.setdefault((record.path, record.combination), []).append(record)
    found = []
    for path in sorted(experiment.paths, key=lambda path: path.name in procedure.testers):
        for combination in experiment.combinations:
            if combination.levels.get(TEST_LEVEL) != "throughput":
                continue
            size = int(combination.levels["frame_bytes"])
            network = install(path, experiment.topologies[combination.topology_of(path.name)], experiment.between)
            tester = tester_of(experiment, procedure, path.family)
            own = read(by_place.get((str(tester), combination.name), []), goals[:1])
            found.append(
                AtSize(
                    path=path.name,
                    frame_bytes=size,
                    is_tester=path.name in procedure.testers,
                    line_pps=line_pps(network, size),
                    tester_pps=own[0].bounds.lower_pps,
                    goals=read(by_place.get((path.name, combination.name), []), goals),
                )
            )
    return found


def tester_of(experiment: Experiment, procedure: Procedure, family: Family) -> str | None:
    """The path without a device whose hosts send what a path of that family sends."""
    return next((name for name in procedure.testers if experiment.path(name).family == family), None)
