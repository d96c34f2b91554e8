"""The places of a run's tests: paths, and frames of a size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..mechanisms import install
from ..model.experiment import Combination, Experiment
from ..model.network import Network
from ..model.path import Path
from ..model.procedure import TEST_LEVEL, TRAFFIC_LEVEL, Procedure
from ..model.topology import Family
from ..model.trial import TrialRecord
from . import throughput
from .lengths import Lengths, lengths
from .procedures import TESTS
from .rfc_test import RfcPlace, RfcTest
from .sizes import line_pps
from .traffic import PLAIN, TRAFFICS

SIZE_LEVEL = "frame_bytes"
"""The level of a combination that says its frame size."""

Records = Mapping[tuple[str, str], Sequence[TrialRecord]]
"""Those of each combination and path, in the order in which they were measured."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """The places of a run.

    Attributes:
        records: those that there are. They may become more.
    """

    experiment: Experiment
    procedure: Procedure
    records: Records
    _networks: dict[tuple[str, int], Network] = field(default_factory=dict)

    @property
    def lengths(self) -> Lengths:
        """The lengths of its trials."""
        return lengths(self.procedure.quick)

    def each(self) -> Iterator[tuple[RfcTest, Combination, Path]]:
        """The places at which trials are asked for: test by test, size by size, without devices first; and the same for
        each kind of frames that differ from plain ones."""
        testers = self.procedure.testers
        paths = sorted(self.experiment.paths, key=lambda path: path.name not in testers)
        for combination in self.experiment.combinations:
            test = TESTS.get(str(combination.levels.get(TEST_LEVEL)))
            if test is None:
                continue
            for path in paths:
                if not combination.goes_over(path.name) or (path.name in testers and not test.over_testers):
                    continue
                if path.name in testers or test.unfit(path, self.network(combination, path)) is None:
                    yield test, combination, path

    def unfit(self, test: RfcTest, path: Path) -> str | None:
        """The reason why a test says nothing of a path. None: it does."""
        return test.unfit(path, install(path, self.experiment.topologies[0], self.experiment.between))

    def network(self, combination: Combination, path: Path) -> Network:
        """The path's network."""
        key = path.name, combination.topology_of(path.name)
        if key not in self._networks:
            topology = self.experiment.topologies[key[1]]
            self._networks[key] = install(path, topology, self.experiment.between)
        return self._networks[key]

    def place(self, combination: Combination, path: Path) -> RfcPlace:
        """A test's knowledge of a place."""
        size = combination.levels.get(SIZE_LEVEL)
        frame_bytes = None if size is None else int(size)
        traffic = traffic_of(combination)
        at_size = self._of_test("throughput", frame_bytes, traffic)
        tester, no_loss, tester_pps = tester_of(self.experiment, self.procedure, path.family), None, None
        if at_size is not None:
            no_loss = self._no_loss(at_size, path.name)
            if tester is not None and not (tester == path.name and combination is at_size):
                tester_pps = self._no_loss(at_size, tester).bounds.lower_pps
        needed = TESTS[str(combination.levels[TEST_LEVEL])].needs
        before = {name: item for name in needed if (item := self._of_test(name, frame_bytes, traffic)) is not None}
        return RfcPlace(
            profile=self.procedure.profile,
            is_tester=path.name in self.procedure.testers,
            frame_bytes=frame_bytes,
            traffic=traffic,
            line_pps=self._line_pps(combination, path, frame_bytes),
            tester_pps=tester_pps,
            throughput=no_loss,
            lengths=self.lengths,
            before={name: self.records.get((element.name, path.name), []) for name, element in before.items()},
            without_device=self.records.get((combination.name, str(tester)), []),
        )

    def _no_loss(self, combination: Combination, path: str) -> throughput.Throughput:
        return throughput.read(self.records.get((combination.name, path), []), self.lengths.goals[:1])[0]

    def _line_pps(self, combination: Combination, path: Path, frame_bytes: int | None) -> float | None:
        if frame_bytes is None:
            return None
        traffic = TRAFFICS.get(traffic_of(combination))
        native_ratio = 0.0 if traffic is None else traffic.native_ratio
        return line_pps(self.network(combination, path), frame_bytes, native_ratio)

    def _of_test(self, name: str, frame_bytes: int | None, traffic: str) -> Combination | None:
        """The combination of a test with such frames of that size, or without frames."""
        wanted = name, frame_bytes, traffic
        for combination in self.experiment.combinations:
            if (
                combination.levels.get(TEST_LEVEL),
                combination.levels.get(SIZE_LEVEL),
                traffic_of(combination),
            ) == wanted:
                return combination
        return None


def traffic_of(combination: Combination) -> str:
    """The traits of its frames."""
    return str(combination.levels.get(TRAFFIC_LEVEL, PLAIN))


def tester_of(experiment: Experiment, procedure: Procedure, family: Family) -> str | None:
    """The path without a device whose hosts send what a path of that family sends."""
    return next((name for name in procedure.testers if experiment.path(name).family == family), None)


def by_place(records: Sequence[TrialRecord]) -> dict[tuple[str, str], list[TrialRecord]]:
    """The records of each combination and path."""
    results: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in records:
        results.setdefault((record.combination, record.path), []).append(record)
    return results
