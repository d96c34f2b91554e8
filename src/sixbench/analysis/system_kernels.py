"""Kernels of a run that stand for the two systems of a paper's comparison.

The oldest kernel stands for the older system, and the newest kernel for the newer one. They are not the kernels of the
paper. A claim is therefore judged by the difference between ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..model.kernels import COLUMN
from ..model.paper import SYSTEM, Contrast, Selector

if TYPE_CHECKING:
    from ..model.paper import Paper
    from ..store import Run

NEEDS_KERNELS = (
    "not judged: it compares two systems. Run with two kernels in their place, an older and a newer one: --kernels "
    "debian-5.10,debian-6.12"
)


@dataclass(frozen=True, kw_only=True)
class SystemKernels:
    """The kernel of each system.

    Attributes:
        kernels: those of the run by the paper's name for the system; empty where the run has fewer than two releases,
            or the paper no generations.
        words: the same in words.
    """

    kernels: dict[str, str] = field(default_factory=dict)
    words: str = ""

    def select(self, selector: Selector) -> Selector:
        """The selector with kernels in place of the systems that it names, or without both if one kernel stands for
        all."""
        levels = {column: values for column, values in selector.levels.items() if column != SYSTEM}
        if self.kernels and SYSTEM in selector.levels:
            levels[COLUMN] = tuple(self.kernels[str(name)] for name in selector.levels[SYSTEM])
        return replace(selector, levels=levels)

    def between(self, test: Contrast) -> Contrast | None:
        """A contrast of systems as a contrast of kernels; None if no kernels stand for the systems."""
        if not self.kernels:
            return None
        return replace(test, factor=COLUMN, at=self.kernels[str(test.at)], then=self.kernels[str(test.then)])


def system_kernels(paper: Paper, run: Run) -> SystemKernels:
    """The stand-ins, chosen by the releases of the kernels that the run has trials on."""
    guests = run.manifest.guests
    by_age = sorted(guests, key=lambda name: _version(guests[name].kernel))
    if not paper.generations or not by_age or _version(guests[by_age[0]].kernel) == _version(guests[by_age[-1]].kernel):
        return SystemKernels()
    kernels = dict(zip(paper.generations, (by_age[0], by_age[-1]), strict=True))
    words = ", ".join(f"{kernel} stands for {paper.systems[name]}" for name, kernel in kernels.items())
    return SystemKernels(kernels=kernels, words=words)


def _version(kernel: str) -> tuple[int, ...]:
    """The numbers at the front of a release such as `6.1.0-50-cloud-amd64`."""
    match = re.match(r"\d+(\.\d+)*", kernel)
    return tuple(map(int, match.group().split("."))) if match else ()
