"""Time that the rest of a run takes, by what is known so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model.experiment import Blocks, Combination, Experiment
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from .estimate import TRIAL_OVERHEAD_NS
from .parts import trial_expected_ns

UNKNOWN_NS = 10**9
"""Assumed length of a trial whose length is not known and of which none has ended."""

LATEST_SHARE = 0.2
"""The weight of the latest trial in the moving mean of what trials take beyond their measuring."""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """The rest of a run: the number of trials, and their time."""

    trials: int
    time_ns: int


def rest_of_run(
    blocks: Blocks, block: int, *, in_block: int, per_block: int, further: int, each_ns: float, elapsed_ns: int
) -> Rest:
    """The rest of a run: all trials that are foreseen, or those for which its time suffices.

    Args:
        block: the one that the run is in.
        in_block: the trials that are left in it.
        per_block: the trials of a whole block, by the combinations that go on.
        further: the trials that are foreseen in later blocks.
        each_ns: how long a trial takes.
        elapsed_ns: how long the run has measured.
    """
    foreseen = Rest(trials=in_block + further, time_ns=int((in_block + further) * each_ns))
    if blocks.time_ns is None:
        return foreseen
    within_ns = blocks.time_ns - elapsed_ns
    if blocks.until is not None and foreseen.time_ns <= within_ns:
        return foreseen
    # The minimum of blocks is run in any case.
    least = in_block + (blocks.minimum - block) * per_block if block <= blocks.minimum else 0
    time_ns = max(least * each_ns, within_ns)
    return Rest(trials=max(in_block, int(time_ns / each_ns)) if each_ns else in_block, time_ns=int(time_ns))


class Remaining:
    """The rest of a run, by the time of one block of the combinations that go on. It is brought up to date trial by
    trial, in a time that does not depend on their number."""

    def __init__(self, combinations: Iterable[Combination], done: Iterable[TrialRecord]) -> None:
        self._overhead_ns = float(TRIAL_OVERHEAD_NS)
        self._expected_ns = {
            combination.name: trial_expected_ns(WORKLOADS[combination.workload.kind], combination.workload.params)
            for combination in combinations
        }
        self._took_ns: dict[str, tuple[int, int]] = {}
        self._trials = self._repeats = 0
        self._open = set(self._expected_ns)
        self._timed = sum(expected_ns is not None for expected_ns in self._expected_ns.values())
        self._timed_ns = sum(expected_ns or 0 for expected_ns in self._expected_ns.values())
        self._untimed_ns = float(UNKNOWN_NS * (len(self._open) - self._timed))
        for record in done:
            self._count(record)

    @property
    def combinations(self) -> int:
        """Number of combinations that go on."""
        return len(self._open)

    @property
    def one_block_ns(self) -> float:
        """Length of a trial of each combination that goes on, on one path, with as many repeats as so far."""
        return self._attempts * (self._timed_ns + self._timed * self._overhead_ns + self._untimed_ns)

    def rest(
        self, experiment: Experiment, block: int, *, in_block: int, expected: Mapping[str, int], elapsed_ns: int
    ) -> Rest:
        """The rest of a run.

        Args:
            block: the one that the run is in.
            in_block: the trials that are left in it.
            expected: how many blocks each combination takes that may end early.
            elapsed_ns: how long the run has measured.
        """
        blocks = experiment.blocks
        per_block = self.trials_of_block(experiment)
        further = sum(
            paths * max(0, (expected[name] if blocks.may_end_early else blocks.maximum) - block)
            for name, paths in per_block.items()
        )
        return rest_of_run(
            blocks,
            block,
            in_block=in_block,
            per_block=sum(per_block.values()),
            further=further,
            each_ns=self.one_block_ns / max(1, self.combinations),
            elapsed_ns=elapsed_ns,
        )

    def trials_of_block(self, experiment: Experiment) -> dict[str, int]:
        """Number of trials that a block has of each combination that goes on."""
        return {
            combination.name: len(experiment.paths_of(combination))
            for combination in experiment.combinations
            if combination.name in self._open
        }

    def trial_ns(self, combination: str) -> float:
        """Length of a trial of this combination, with as many repeats as so far."""
        expected_ns = self._expected_ns[combination]
        once_ns = self._mean_ns(combination) if expected_ns is None else expected_ns + self._overhead_ns
        return self._attempts * once_ns

    def ended(self, record: TrialRecord, elapsed_ns: int | None) -> None:
        """A trial has ended. `elapsed_ns`: how long it kept the run; None where that says nothing of others."""
        self._count(record)
        expected_ns = self._expected_ns[record.combination]
        if expected_ns is not None and elapsed_ns is not None:
            self._overhead_ns += LATEST_SHARE * (elapsed_ns - expected_ns - self._overhead_ns)

    def leaves(self, combination: str) -> None:
        """A combination needs no more trials."""
        self._open.discard(combination)
        expected_ns = self._expected_ns[combination]
        if expected_ns is None:
            self._untimed_ns -= self._mean_ns(combination)
        else:
            self._timed -= 1
            self._timed_ns -= expected_ns

    @property
    def _attempts(self) -> float:
        """Mean number of attempts of a planned trial."""
        return 1 + self._repeats / max(1, self._trials)

    def _count(self, record: TrialRecord) -> None:
        name = record.combination
        if record.repeat is None:
            self._trials += 1
        else:
            self._repeats += 1
        before_ns = self._mean_ns(name)
        took_ns, number = self._took_ns.get(name, (0, 0))
        self._took_ns[name] = (took_ns + record.elapsed_ns, number + 1)
        if name in self._open and self._expected_ns[name] is None:
            self._untimed_ns += self._mean_ns(name) - before_ns

    def _mean_ns(self, combination: str) -> float:
        took_ns, number = self._took_ns.get(combination, (0, 0))
        return took_ns / number if number else float(UNKNOWN_NS)
