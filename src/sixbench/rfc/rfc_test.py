"""Tests: the trials that each asks for at a place, and their results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..model.network import Network
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.trial import TrialRecord
from .lengths import Lengths
from .throughput import Throughput
from .traffic import PLAIN

Ask = Callable[[Mapping[str, Scalar]], TrialRecord]
"""Measures a trial with these parameters, by column, besides those that all trials of the test have. Never gives a
failed one: a failure ends the test at this place."""


@dataclass(frozen=True, kw_only=True)
class RfcPlace:
    """Place at which a test asks for trials: a path, with frames of a size.

    Attributes:
        is_tester: whether it has no device.
        frame_bytes: None: the test sends no frames.
        traffic: what the frames are like.
        line_pps: what the slowest line of the way carries. None: none has a rate, or there are no frames.
        tester_pps: the throughput of the tester without a device. None: it is not known.
        throughput: that of the path at this size, without loss. None: it was not measured.
        before: the trials there of the tests that this one needs, by test.
        without_device: the trials of this test without a device.
    """

    profile: str
    is_tester: bool = False
    frame_bytes: int | None
    traffic: str = PLAIN
    line_pps: float | None
    tester_pps: float | None
    throughput: Throughput | None
    lengths: Lengths
    before: Mapping[str, Sequence[TrialRecord]] = field(default_factory=dict)
    without_device: Sequence[TrialRecord] = ()

    @property
    def most_pps(self) -> float | None:
        """The highest rate, in frames/s in each direction: the line's, and no more than the tester can do."""
        return min((limit for limit in (self.line_pps, self.tester_pps) if limit is not None), default=None)

    @property
    def throughput_pps(self) -> int | None:
        """The highest rate without loss, in whole frames. None: none is known."""
        known = None if self.throughput is None else self.throughput.bounds.lower_pps
        return None if known is None else max(1, int(known))


@dataclass(frozen=True, kw_only=True)
class SelfTest:
    """The self-test of the tester for a result.

    Attributes:
        text: the remark on it.
    """

    is_passed: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class Value:
    """A result of a test at a place.

    Attributes:
        name: what it is, such as `typical latency`.
        unit: such as `ns`, `1` for a share, or `frames`.
        value: None: it is not known, or the device has none.
        low, high: the 1st and the 99th percentile of the repetitions. None: there is one value only.
        trials: of how many trials it is made.
        rate_pps: at how many frames/s in each direction. None: none was applied.
        remark: what has to be known of it, with the remark on the self-test.
        has_none: whether the device has no such value, such as a longest burst where none is too long.
        is_testers: whether the tester, rather than the device, set it.
        self_test: that of the tester. None: the test has none, or it was not reached.
        stamped: how many frames of each trial, at least, have the hardware time stamps that it is made of. None: it is
            of no hardware's.
    """

    name: str
    unit: str
    value: float | None
    low: float | None = None
    high: float | None = None
    trials: int = 1
    rate_pps: float | None = None
    remark: str = ""
    has_none: bool = False
    is_testers: bool = False
    self_test: SelfTest | None = None
    stamped: int | None = None


@dataclass(frozen=True, kw_only=True)
class RfcTest:
    """A test.

    Attributes:
        name: as `--test` has it.
        title: in headings.
        doc: what it measures, in a sentence.
        profiles: those that have it. It is run for them unless `--test` says so.
        lasts: how many trials it takes at a place, about, and how long they are in seconds.
        shortened: the repetitions and lengths of trials, in words. `--quick` breaks its clause by them.
        times: of how many trials or searches a value has to be.
        run: asks for the trials at a place. None: it reads those of another test.
        reads: that test. Empty: its own.
        values: what trials say.
        needs: the tests that come before it at each place.
        params: the parameters that all of its trials have, by column.
        workload: what the trials are.
        over_testers: whether it is run without a device as well, first.
        by_frame_size: whether it is run with frames of each size.
        over_traffics: whether it is repeated over frames that differ from plain ones.
        needs_search: whether it needs the search's library.
        unfit: why it says nothing of a path. None: it does.
    """

    name: str
    title: str
    doc: str
    profiles: frozenset[str]
    lasts: Callable[[Lengths], tuple[int, float]]
    shortened: Callable[[Lengths], str]
    run: Callable[[Ask, RfcPlace], None] | None
    values: Callable[[Sequence[TrialRecord], RfcPlace], list[Value]]
    times: Callable[[Lengths], int] = lambda _: 1
    reads: str = ""
    needs: tuple[str, ...] = ()
    params: Callable[[Lengths], dict[str, Scalar]] = lambda _: {}
    workload: str = "frames"
    over_testers: bool = False
    by_frame_size: bool = True
    over_traffics: bool = True
    needs_search: bool = False
    unfit: Callable[[Path, Network], str | None] = lambda path, network: None


ATTEMPTS = 3
"""Number of attempts at a trial that the tester could not carry out."""


def is_valid(record: TrialRecord) -> bool:
    """True if a trial counts."""
    return record.status == "ok"


def asked(ask: Ask, params: Mapping[str, Scalar], says: Callable[[TrialRecord], bool] = is_valid) -> TrialRecord | None:
    """A trial that says something of the device, tried anew where the tester could not carry it out. None: it never
    could."""
    for _ in range(ATTEMPTS):
        record = ask(params)
        if says(record):
            return record
    return None


def percentile(values: Sequence[float], share: float) -> float:
    """The least value that so large a share of the values is not above (RFC 2330 section 11.3)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(
    name: str, unit: str, values: Sequence[float], *, place: RfcPlace, rate_pps: float | None = None, remark: str = ""
) -> Value:
    """The value of several repetitions: the median with the 1st and the 99th percentile (RFC 8219 section 12), or the
    mean where the profile is RFC 2544's or RFC 5180's (RFC 2544 section 26.2)."""
    if not values:
        return Value(name=name, unit=unit, value=None, trials=0, rate_pps=rate_pps, remark=remark or "not measured")
    is_mean = place.profile in MEAN_PROFILES
    return Value(
        name=name,
        unit=unit,
        value=statistics.fmean(values) if is_mean else statistics.median(values),
        low=percentile(values, 0.01) if len(values) > 1 else None,
        high=percentile(values, 0.99) if len(values) > 1 else None,
        trials=len(values),
        rate_pps=rate_pps,
        remark=remark,
    )


MEAN_PROFILES = frozenset({"2544", "5180"})
"""Those that report the mean of repetitions. The others report their median."""
