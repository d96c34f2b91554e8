"""Values to ratios with intervals, and whether targets are met. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intervals import Verdict, error_of, judge

from sixbench.stats import Comparison as Result
from sixbench.stats import Pairs, compare

from .comparisons import COMPARISONS, MEMORY_LIMIT_BYTES, OURS, Comparison, Target
from .contender import FAMILIES

MOST_PAIRS = 20
"""Most pairs of two contenders with a target: rounds in which both have a value."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One measurement: either a value or why there is none."""

    comparison: str
    contender: str
    family: int
    round: int
    value: float | None = None
    failure: str | None = None
    tool_reports: dict[str, float] | None = None
    wire_pps: float | None = None
    memory_bytes: int | None = None
    gap_errors_ns: dict[str, float] | None = None

    @property
    def is_ours(self) -> bool:
        """True if it is one of ours."""
        return self.contender.startswith(OURS)


@dataclass(frozen=True, kw_only=True)
class Row:
    """Ours against a peer.

    Attributes:
        n: rounds in which both have a value.
        ours_mean, peer_mean: over these rounds.
        ratio: ours over the peer's, the biweight of its logarithms (of fewer than five, their mean); with its
            interval, absent for fewer than two rounds.
        target, verdict: absent where there is no target for these two.
    """

    comparison: str
    family: int
    ours: str
    peer: str
    n: int
    ours_mean: float
    peer_mean: float
    ratio: float
    low: float | None
    high: float | None
    target: Target | None
    verdict: Verdict | None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A value of ours, or the memory of our agents, against what it may be at most, in every round."""

    title: str
    family: int
    ours: str
    n: int
    most: float
    limit: float
    unit: str

    @property
    def verdict(self) -> Verdict:
        """It is a maximum, so that every round counts."""
        return "met" if self.most <= self.limit else "missed"


def rows(values: Sequence[Value], first_rounds: int, *, is_over: bool) -> list[Row]:
    """Each of ours against each peer of its comparison, by comparison and family; and against another of ours where a
    target says so.

    Args:
        first_rounds: of everything. From then on each row with a target is looked at after each round.
        is_over: whether there are no more rounds, so that what is open spends what is left of the error.
    """
    rows = []
    for comparison in COMPARISONS:
        if comparison.limit is not None:
            continue
        here = [value for value in values if value.comparison == comparison.key]
        names = list(dict.fromkeys(value.contender for value in here))
        for ours in (name for name in names if name.startswith(OURS)):
            named = {peer for target in comparison.targets if target.ours == ours for peer in target.peers}
            for peer in (name for name in names if not name.startswith(OURS) or name in named):
                for family in FAMILIES:
                    row = _row(comparison, here, ours, peer, family, first_rounds, is_over=is_over)
                    rows += [row] if row else []
    return rows


def limits(values: Sequence[Value]) -> list[Limit]:
    """Limits of figures that are judged by themselves: loss, and the agents' memory."""
    limits = []
    for comparison in COMPARISONS:
        for family in FAMILIES:
            here = [v for v in values if v.comparison == comparison.key and v.family == family and v.is_ours]
            for ours in dict.fromkeys(value.contender for value in here):
                known = [v.value for v in here if v.contender == ours and v.value is not None]
                if comparison.limit is not None and known:
                    limits.append(
                        Limit(
                            title=comparison.title,
                            family=family,
                            ours=ours,
                            n=len(known),
                            most=max(known),
                            limit=comparison.limit,
                            unit=comparison.unit,
                        )
                    )
    for family in FAMILIES:
        marks = [v.memory_bytes for v in values if v.is_ours and v.family == family and v.memory_bytes is not None]
        if marks:
            limits.append(
                Limit(
                    title="memory of an agent, in all of these",
                    family=family,
                    ours=OURS,
                    n=len(marks),
                    most=float(max(marks)),
                    limit=float(MEMORY_LIMIT_BYTES),
                    unit="B",
                )
            )
    return limits


def still_open(values: Sequence[Value], first_rounds: int) -> set[tuple[str, str, int]]:
    """Contenders of which more rounds would tell: the comparison, the name and the family of each."""
    return {
        (row.comparison, name, row.family)
        for row in rows(values, first_rounds, is_over=False)
        if row.verdict == "open" and row.n < MOST_PAIRS
        for name in (row.ours, row.peer)
    }


def _row(
    comparison: Comparison,
    values: Sequence[Value],
    ours: str,
    peer: str,
    family: int,
    first_rounds: int,
    *,
    is_over: bool,
) -> Row | None:
    by_round: dict[int, dict[str, float]] = {}
    for value in values:
        if value.family == family and value.contender in (ours, peer) and value.value is not None:
            by_round.setdefault(value.round, {})[value.contender] = value.value
    both = {round_: result for round_, result in sorted(by_round.items()) if len(result) == 2}
    if not both:
        return None
    pairs = Pairs(path=[result[ours] for result in both.values()], baseline=[result[peer] for result in both.values()])
    target = next((t for t in comparison.targets if t.ours == ours and peer in t.peers), None)
    looked = _looked([*both], first_rounds) if target else ()
    result = _compared(pairs, looked, is_over=False)
    if result.ratio is None:
        return None
    verdict = judge(target, result.low, result.high, target.near) if target else None
    if target and verdict == "open" and is_over:
        result = _compared(pairs, looked, is_over=True)
        verdict = judge(target, result.low, result.high, target.near)
    return Row(
        comparison=comparison.key,
        family=family,
        ours=ours,
        peer=peer,
        n=result.n,
        ours_mean=sum(pairs.path) / result.n,
        peer_mean=sum(pairs.baseline) / result.n,
        ratio=result.ratio,
        low=result.low,
        high=result.high,
        target=target,
        verdict=verdict,
    )


def _looked(rounds: Sequence[int], first_rounds: int) -> tuple[int, ...]:
    """Number of pairs at each look, which is after the first rounds and after each further one."""
    first = sum(round_ < first_rounds for round_ in rounds)
    return tuple(range(max(2, first), len(rounds) + 1))


def _compared(pairs: Pairs, looked: Sequence[int], *, is_over: bool) -> Result:
    error = error_of(looked, MOST_PAIRS, is_over=is_over)
    return compare(pairs, confidence=1 - error, margin=0.01, estimator="biweight")
