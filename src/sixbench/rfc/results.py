"""The results of the trials of a run, test by test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.procedure import TEST_LEVEL
from ..store import Run
from .places import SIZE_LEVEL, Places, by_place, traffic_of
from .procedures import TESTS
from .rfc_test import Value
from .throughput import Throughput, is_refused, read


@dataclass(frozen=True, kw_only=True)
class AtSize:
    """The throughput of a path at one frame size.

    Attributes:
        traffic: what the frames are like.
        is_tester: whether the path has no device.
        line_pps: what the slowest line of the way carries. None: none has a rate.
        tester_pps: the throughput of the tester without a device. None: it is not known.
        goals: the results by goal, RFC 2544's first.
    """

    path: str
    frame_bytes: int
    traffic: str
    is_tester: bool
    line_pps: float | None
    tester_pps: float | None
    goals: Sequence[Throughput]


@dataclass(frozen=True, kw_only=True)
class RfcTestResults:
    """The results of a test at a place.

    Attributes:
        frame_bytes: None: the test sends no frames.
        traffic: what the frames are like.
        refused: how many trials say nothing of the device.
        failed: why it ended early. None: it did not.
    """

    test: str
    path: str
    frame_bytes: int | None
    traffic: str
    values: Sequence[Value]
    refused: int
    failed: str | None


def is_at_tester(at_size: AtSize) -> bool:
    """True if the tester, rather than the device or the line, set a throughput."""
    bounds = at_size.goals[0].bounds
    if at_size.line_pps is not None and (bounds.lower_pps or 0.0) >= 0.99 * at_size.line_pps:
        return False
    return at_size.goals[0].is_testers or (bounds.upper_pps is None and bounds.lower_pps is not None)


def places_of(run: Run) -> Places | None:
    """The places of a run. None for a run that is no such test."""
    procedure = run.manifest.procedure
    if procedure is None:
        return None
    return Places(experiment=run.manifest.experiment, procedure=procedure, records=by_place(run.trials))


def results_of(run: Run) -> list[AtSize]:
    """The throughputs in the order of the experiment, those of the tester last. Empty for a run that is no such
    test."""
    places = places_of(run)
    if places is None:
        return []
    testers = places.procedure.testers
    at_sizes = []
    for path in sorted(places.experiment.paths, key=lambda path: path.name in testers):
        for combination in places.experiment.combinations:
            if combination.levels.get(TEST_LEVEL) != "throughput" or not combination.goes_over(path.name):
                continue
            place = places.place(combination, path)
            goals = read(places.records.get((combination.name, path.name), []), places.lengths.goals)
            at_sizes.append(
                AtSize(
                    path=path.name,
                    frame_bytes=int(combination.levels[SIZE_LEVEL]),
                    traffic=traffic_of(combination),
                    is_tester=path.name in testers,
                    line_pps=place.line_pps,
                    tester_pps=goals[0].bounds.lower_pps if path.name in testers else place.tester_pps,
                    goals=goals,
                )
            )
    return at_sizes


def values_of(run: Run) -> list[RfcTestResults]:
    """The results of the tests but for throughputs, test by test and path by path. Empty for a run that is no such
    test."""
    places = places_of(run)
    if places is None:
        return []
    results = []
    for name in places.procedure.tests:
        test = TESTS.get(name)
        if test is None:
            continue
        read_from = test.reads or test.name
        pairs = [(combination, path) for rfc_test, combination, path in places.each() if rfc_test.name == read_from]
        order = {path.name: number for number, path in enumerate(places.experiment.paths)}
        for combination, path in sorted(pairs, key=lambda pair: order[pair[1].name]):
            records = places.records.get((combination.name, path.name), [])
            place = places.place(combination, path)
            values = test.values(records, place)
            if values:
                failed = (record.reasons[0].text for record in records if record.status == "failed" and record.reasons)
                results.append(
                    RfcTestResults(
                        test=name,
                        path=path.name,
                        frame_bytes=place.frame_bytes,
                        traffic=place.traffic,
                        values=values,
                        refused=sum(map(is_refused, records)),
                        failed=next(failed, None),
                    )
                )
    return results
