"""How long the rest of a run takes, by what is known so far."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.experiment import Combination
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from .estimate import TRIAL_OVERHEAD_NS
from .parts import trial_expected_ns

UNKNOWN_NS = 10**9
"""What a trial is taken to last whose length is not known and of which none has ended."""

LATEST_SHARE = 0.2
"""The weight of the latest trial in the moving mean of what trials take beyond their measuring."""


class Remaining:
    """The time of one block of the combinations that go on. It is brought up to date trial by trial, in a time that
    does not depend on their number."""

    def __init__(self, combinations: Iterable[Combination], done: Iterable[TrialRecord]) -> None:
        self._overhead_ns = float(TRIAL_OVERHEAD_NS)
        self._expected_ns = {
            one.name: trial_expected_ns(WORKLOADS[one.workload.kind], one.workload.params) for one in combinations
        }
        self._took_ns: dict[str, tuple[int, int]] = {}
        self._open = set(self._expected_ns)
        self._timed = sum(expected_ns is not None for expected_ns in self._expected_ns.values())
        self._timed_ns = sum(expected_ns or 0 for expected_ns in self._expected_ns.values())
        self._untimed_ns = float(UNKNOWN_NS * (len(self._open) - self._timed))
        for record in done:
            self._count(record)

    @property
    def combinations(self) -> int:
        """How many go on."""
        return len(self._open)

    @property
    def one_block_ns(self) -> float:
        """How long a trial of each combination that goes on takes, on one path."""
        return self._timed_ns + self._timed * self._overhead_ns + self._untimed_ns

    def trial_ns(self, combination: str) -> float:
        """How long a trial of this combination takes."""
        expected_ns = self._expected_ns[combination]
        return self._mean_ns(combination) if expected_ns is None else expected_ns + self._overhead_ns

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

    def _count(self, record: TrialRecord) -> None:
        name = record.combination
        before_ns = self._mean_ns(name)
        took_ns, number = self._took_ns.get(name, (0, 0))
        self._took_ns[name] = (took_ns + record.elapsed_ns, number + 1)
        if name in self._open and self._expected_ns[name] is None:
            self._untimed_ns += self._mean_ns(name) - before_ns

    def _mean_ns(self, combination: str) -> float:
        took_ns, number = self._took_ns.get(combination, (0, 0))
        return took_ns / number if number else float(UNKNOWN_NS)
