"""Fragments on every link, beside theory, over the trials of a path. A figure has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...model.evidence.fragments import FragmentLink
from ...model.trial import TrialRecord
from ...model.workloads import udp_stream
from .evidence_sum import EvidenceSum


@dataclass(frozen=True, kw_only=True)
class CountedFragments:
    """Packets that crossed the links in a trial, beside theory.

    Attributes:
        datagrams: those that were sent.
        links: all of them have counts.
    """

    datagrams: int
    links: tuple[FragmentLink, ...]

    @property
    def is_different(self) -> bool:
        """True if any link's counts differ from theory."""
        return any(link.agrees is False for link in self.links)


@dataclass(kw_only=True)
class FragmentsOnLink:
    """Packets and bytes on a link, over several trials.

    Attributes:
        expected: the least and the most by theory.
        different: the number of trials in which counts differ from theory.
    """

    datagrams: int = 0
    expected: dict[str, list[int]] = field(default_factory=lambda: {"packets": [0, 0], "bytes": [0, 0]})
    counted: dict[str, int] = field(default_factory=lambda: {"packets": 0, "bytes": 0})
    different: int = 0

    def add(self, datagrams: int, link: FragmentLink) -> None:
        """Adds the link's part of a trial in which so many datagrams were sent."""
        self.datagrams += datagrams
        self.different += link.agrees is False
        for what, bounds in (("packets", link.expected_packets), ("bytes", link.expected_bytes)):
            for at, value in enumerate(bounds):
                self.expected[what][at] += value
        self.counted["packets"] += link.counted_packets or 0
        self.counted["bytes"] += link.counted_bytes or 0


class FragmentSum(EvidenceSum):
    """The fragments of datagrams in each combination of levels.

    Attributes:
        by_combination: the valid trials whose evidence has both theory and counts.
    """

    def __init__(self) -> None:
        """No trial was seen so far."""
        self.by_combination: dict[str, list[CountedFragments]] = {}

    def add(self, trial: TrialRecord) -> None:
        is_datagrams = trial.status == "ok" and trial.workload == udp_stream.KIND.name
        fragments = trial.evidence.fragments if is_datagrams else None
        if fragments is None or not fragments.datagrams or not fragments.links:
            return
        if all(link.counted_packets is not None for link in fragments.links):
            counted = CountedFragments(datagrams=fragments.datagrams, links=fragments.links)
            self.by_combination.setdefault(trial.combination, []).append(counted)


def on_links(trials: Sequence[CountedFragments]) -> dict[str, FragmentsOnLink]:
    """The sums of these trials by the link's name."""
    sums: dict[str, FragmentsOnLink] = {}
    for trial in trials:
        for link in trial.links:
            sums.setdefault(link.link, FragmentsOnLink()).add(trial.datagrams, link)
    return sums
