"""Observers of a run while it goes on: the progress line, the log of run events, tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import isfunction
from typing import Literal

from .experiment import Combination, Experiment, PlannedTrial
from .trial import TrialRecord

StopRule = Literal["blocks", "precision", "deviation", "decided", "time", "refused"]
"""`blocks`: their greatest number. The others are named as in the experiment: `decided` is `until: decided`, and `time`
is the time of the run. `refused`: a server asked to be left alone."""


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """Data that arrived at a receiver in an interval of a trial that is being measured.

    Attributes:
        key: of the trial.
        flow: the name of the flow in its workload; empty where there is one only.
        direction: `forward` or `reverse`.
        from_ns, to_ns: by the receiver's clock, since the first byte of the measured window arrived.
        datagrams: those that came, each once. None: the flow has none.
        lost_middle: how many more are missing below the largest number that came; negative where late ones came.
        jitter_rfc3550_ns: the interarrival jitter (RFC 3550 section 6.4.1) after the interval's last datagram. None:
            none came in it, or only the first of all.
    """

    key: str
    flow: str
    direction: str
    from_ns: int
    to_ns: int
    received_bytes: int
    datagrams: int | None = None
    lost_middle: int | None = None
    jitter_rfc3550_ns: float | None = None

    @property
    def rate_bps(self) -> float:
        """The rate of payload in the interval."""
        return 8e9 * self.received_bytes / (self.to_ns - self.from_ns)


@dataclass(frozen=True, kw_only=True)
class SenderSample:
    """State of the senders of TCP at a moment of a trial that is being measured. What the kernel does not tell is None.

    Attributes:
        key: of the trial.
        flow, direction: as in `Arrived`.
        t_ns: by the sender's clock, since the measured window opened.
        rtt_ns: the smoothed round-trip time, a mean over the streams.
        cwnd_packets: the congestion window, a mean over the streams.
        retransmits: of all streams, since the window opened.
    """

    key: str
    flow: str
    direction: str
    t_ns: int
    rtt_ns: int | None
    cwnd_packets: float | None
    retransmits: int | None


class Observer:
    """An object that is told about the progress of a run. What it does not define does not interest it.

    Attributes:
        wants_values: whether `arrived` and `sampled` are to be called. Then both ends of flows are asked during
            trials, which they are not otherwise.
    """

    wants_values: bool = False

    def planned(self, experiment: Experiment, directory: str, done: int) -> None:
        """The run begins, or goes on after `done` trials."""

    def built(self, path: str, topology: int, elapsed_ns: int) -> None:
        """A network was built, because a trial on that path needed it first."""

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        """`done` of `expected` trials have ended; the others take `remaining_ns`.

        `decided`: how many combinations need no more blocks, where blocks go on until answers are decided.
        """

    def trial_begins(self, experiment: Experiment, combination: Combination, planned: PlannedTrial) -> None:
        """This trial is next; `progress` was called before."""

    def blocks_out(self, blocks: Sequence[int], workers: int) -> None:
        """So many workers measure these blocks; `progress` was called before."""

    def arrived(self, seen: Arrived) -> None:
        """A receiver's report during a trial. Threads call it, one at a time of each flow and direction."""

    def sampled(self, seen: SenderSample) -> None:
        """The senders' report during a trial. Threads call it, one at a time of each flow and direction."""

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial was recorded."""

    def block_ended(self, block: int) -> None:
        """Each combination that takes part in the block has all its trials."""

    def stopped(self, combination: str, rules: Sequence[StopRule], blocks: int) -> None:
        """A combination needs no more blocks after so many, by these rules (`analysis.stopping.rules_met`)."""

    def ended(self, state: str, trials: int) -> None:
        """The run is over. `state`: as in the manifest."""

    def report_written(self, file: str) -> None:
        """The report of the run is there."""


class Observers(Observer):
    """Several that are told the same."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self.wants_values = any(observer.wants_values for observer in observers)


def _method_of_all(name: str) -> Callable[..., None]:
    """The method of that name: tells all, and values only those that want them."""
    is_of_values = name in ("arrived", "sampled")

    def call_all(self: Observers, *what: object, **named: object) -> None:
        for observer in self._observers:
            if observer.wants_values or not is_of_values:
                getattr(observer, name)(*what, **named)

    return call_all


for _name in [name for name, item in vars(Observer).items() if isfunction(item)]:
    setattr(Observers, _name, _method_of_all(_name))
