"""The table of a bench: its lines, and which of them get more rounds.

Every line gets its first rounds, in the order of the parts. One that they decide is printed at once: its target is met
or missed, or it is at its target (`intervals.judge`). The others are looked at again each time that they have more
rounds, in turn, while there is time. So time goes where it tells something. Each look has the level that keeps the
error of all looks (`intervals.error_of`). A line that is still open when the time is over spends what is left of the
error.

Lines get their rounds in turn, and not by how near they are to their target: what a line has shown so far must not
decide which look is its last one for want of time.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from intervals import NEAR, Aim, Estimate, Verdict, error_of, geometric, judge

MOST_ROUNDS = 60
"""Most rounds of a line. Each round may spend as much of the error."""


class Line(Protocol):
    """A line of the table, whose rounds somebody else measures."""

    @property
    def name(self) -> str:
        """Quantity that the line shows."""

    def look(self) -> bool:
        """Looks at what was measured so far; whether the line is done: decided, or without a use for more rounds."""

    def show(self, *, is_over: bool) -> None:
        """Prints it.

        Args:
            is_over: whether the time is over, and not what was seen ends it.
        """


class Figure:
    """A line with the middle of its values (`intervals.geometric`), its interval, and a verdict on its target.

    Args:
        target: `< 0.4`, `>= 0.9`, or nothing.
        most: how many values it has at most.
    """

    def __init__(self, name: str, target: str = "", most: int = MOST_ROUNDS) -> None:
        self.name = name
        self.values: list[float] = []
        self._target = target
        self._aim = aim_of(target)
        self._most = most
        self._looked: list[int] = []

    def look(self) -> bool:
        """True if it is decided, has all of its values, or has nothing to decide."""
        n = len(self.values)
        if self._aim is None or n == 0 or min(self.values) <= 0:
            return True
        if n > max([1, *self._looked]):
            self._looked.append(n)
        return n >= self._most or self._judged(is_over=False)[1] != "open"

    def show(self, *, is_over: bool) -> None:
        """Prints it. Values of which one is zero or less have no logarithms: then the line has the middle one without
        an interval. Without values there is no line."""
        if not self.values:
            return
        if min(self.values) <= 0:
            show(self.name, _number(sorted(self.values)[len(self.values) // 2]), "", "", self._target)
            return
        result, verdict = self._judged(is_over=False)
        if is_over and verdict == "open":
            result, verdict = self._judged(is_over=True)
        ends = ["" if end is None else _number(end) for end in (result.low, result.high)]
        judged = verdict if self._aim is not None and result.n > 1 else ""
        show(self.name, _number(result.value), *ends, self._target, str(result.n), judged)

    def _judged(self, *, is_over: bool) -> tuple[Estimate, Verdict]:
        interval = geometric(self.values, error_of(self._looked, self._most, is_over=is_over))
        return interval, "open" if self._aim is None else judge(self._aim, interval.low, interval.high, NEAR)


@dataclass(kw_only=True)
class _Open:
    """Lines that are measured together, of which one is open."""

    part: str
    lines: Sequence[Line]
    measure: Callable[[], None]
    took_s: float


class Table:
    """The lines of a bench.

    Args:
        until_s: when no rounds are to begin any more, by the clock.
        prepare: what has to be done before rounds of a part are measured, given its name.
        clock: seconds.
    """

    def __init__(
        self,
        until_s: float,
        prepare: Callable[[str], None] = lambda part: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.took_s: dict[str, float] = {}
        self.more_s = 0.0
        self._until_s = until_s
        self._prepare = prepare
        self._clock = clock
        self._part = ""
        self._open: list[_Open] = []

    def measure_part(self, name: str, work: Callable[[], object]) -> None:
        """The first rounds of a part: all that `work` hands to `measure`."""
        self._part = name
        self._prepare(name)
        self.took_s[name] = self._timed(work)

    def measure(self, lines: Sequence[Line], measure: Callable[[], None], first: int = 1) -> None:
        """Measures the first rounds of lines, and prints these unless one of them is open.

        Args:
            lines: what is measured together.
            measure: gives each line one value or more.
            first: how often that is done now.
        """
        took_s = 0.0
        for _ in range(first):
            took_s = self._timed(measure)
        if _are_done(lines):
            _show(lines, is_over=False)
            return
        self._open.append(_Open(part=self._part, lines=lines, measure=measure, took_s=took_s))
        print(f"{lines[0].name}: open so far", file=sys.stderr)

    def go_on(self) -> None:
        """Measures more rounds of the open lines, in turn, while there is time, and prints what they have come to."""
        began_s = self._clock()
        while turn := [item for item in self._open if self._has_time_for(item)]:
            for item in turn:
                if self._has_time_for(item):
                    self._measure_again(item)
        for item in self._open:
            _show(item.lines, is_over=True)
        self._open.clear()
        self.more_s = self._clock() - began_s

    def _measure_again(self, item: _Open) -> None:
        self._prepare(item.part)
        item.took_s = self._timed(item.measure)
        self.took_s[item.part] = self.took_s.get(item.part, 0.0) + item.took_s
        if _are_done(item.lines):
            _show(item.lines, is_over=False)
            self._open.remove(item)

    def _has_time_for(self, item: _Open) -> bool:
        return self._clock() + item.took_s <= self._until_s

    def _timed(self, work: Callable[[], object]) -> float:
        began_s = self._clock()
        work()
        return self._clock() - began_s


def _are_done(lines: Sequence[Line]) -> bool:
    """Looks at each, whatever the others say."""
    done = [line.look() for line in lines]
    return all(done)


def _show(lines: Sequence[Line], *, is_over: bool) -> None:
    for line in lines:
        line.show(is_over=is_over)


def show_figures(name: str, values: Sequence[float], target: str) -> None:
    """A line whose values are all there are."""
    figure = Figure(name, target)
    figure.values += values
    figure.show(is_over=True)


def aim_of(target: str) -> Aim | None:
    """Aim in the target's text; None where the text is empty."""
    match_ = re.fullmatch(r"([<>])=? ?([0-9.]+)", target)
    return Aim(bound=float(match_[2]), lower_is_better=match_[1] == "<") if match_ else None


def show(name: str, value: str, low: str, high: str, target: str, n: str = "", verdict: str = "") -> None:
    """One line of the table."""
    print(f"{name:<63} {value:>8} {low:>8} {high:>8} {n:>3}  {target:<8} {verdict}".rstrip(), flush=True)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.0f}"
