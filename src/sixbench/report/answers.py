"""What the run answers, in sentences: one a workload and path, from the primary metric."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.finding import Analysis, Finding, Verdict
from ..model.units import VIRTUAL
from . import rows, words

_ADJECTIVES = {"ns": ("longer", "shorter")}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One sentence, and the tone of the comparison it is about."""

    text: str
    tone: rows.Tone


def answers(analysis: Analysis, *, confidence: float, margin: float) -> list[Answer]:
    """Sentences on the primary metrics, in order of the findings. Empty where nothing was compared.

    Args:
        confidence: of the intervals.
        margin: within which differences count as none.
    """
    found: dict[tuple[str, str], list[Finding]] = {}
    for finding in rows.primary(rows.headline(analysis)):
        found.setdefault((finding.workload, finding.path), []).append(finding)
    phrase = _Phrase(confidence=confidence, margin=margin)
    return [phrase.one(group[0]) if len(group) == 1 else phrase.several(group) for group in found.values()]


@dataclass(frozen=True, kw_only=True)
class _Phrase:
    confidence: float
    margin: float

    def one(self, finding: Finding) -> Answer:
        at = words.levels(finding.levels)
        return Answer(
            text=_capital(
                f"{_subject(finding)} {self._statement(finding)}{f', at {at}' if at else ''}{_theory(finding)}."
            ),
            tone=rows.tone(finding),
        )

    def several(self, findings: list[Finding]) -> Answer:
        """How often each verdict, and the largest difference of those that are decided."""
        swept = rows.varying(findings)
        places = f"levels of {words.factor(swept[0])}" if len(swept) == 1 else "combinations of levels"
        if all(finding.n < 2 for finding in findings):
            why = (
                "one pair of valid trials gives no interval"
                if any(finding.n for finding in findings)
                else "no valid trials"
            )
            where = f"at any of {len(findings)} {places}"
            text = f"{_subject(findings[0])} cannot be compared with that over {findings[0].baseline} {where}: {why}."
            return Answer(text=_capital(text), tone="open")
        counts: dict[Verdict, int] = {}
        for finding in findings:
            counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
        total = len(findings)
        said = {
            "higher": f"{_direction(findings[0], up=True)} than over {findings[0].baseline}",
            "lower": f"{_direction(findings[0], up=False)} than over {findings[0].baseline}",
            "equivalent": f"equivalent to that over {findings[0].baseline} within {self._margin}",
            "inconclusive": "undecided",
        }
        order = sorted(counts, key=lambda verdict: (verdict == "inconclusive", -counts[verdict]))
        parts = [f"{said[verdict]} at {_of(counts[verdict], total, places)}" for verdict in order[:1]]
        parts += [f"{said[verdict]} at {counts[verdict]}" for verdict in order[1:]]
        text = f"{_subject(findings[0])} is {words.listing(parts)}"
        decided = [finding for finding in findings if finding.verdict != "inconclusive"]
        extreme = max(decided, key=_distance, default=None)
        if extreme is not None and _distance(extreme) > 0:
            at = words.levels(extreme.levels, swept)
            text += (
                f"; the difference is largest at {at}: {rows.row(extreme).change}{self._ci(extreme)}{_theory(extreme)}"
            )
        tones = {rows.tone(finding) for finding in findings}
        return Answer(text=_capital(text + "."), tone=tones.pop() if len(tones) == 1 else "changed")

    @property
    def _margin(self) -> str:
        return f"{100 * self.margin:g} %"

    def _statement(self, finding: Finding) -> str:
        change, ci = rows.row(finding).change, self._ci(finding)
        than = f"than over {finding.baseline}"
        match finding.verdict:
            case "higher" | "lower":
                direction = _direction(finding, up=finding.verdict == "higher")
                return f"is {change.lstrip('+' + words.MINUS)} {direction} {than}{ci}"
            case "equivalent":
                return f"is equivalent to that over {finding.baseline} within {self._margin}: {change}{ci}"
        if finding.n < 2:
            return f"cannot be compared with that over {finding.baseline}: {_too_few(finding)}"
        if _excludes_none(finding):
            doubt = "which is not certain among so many comparisons"
            return f"may differ from that over {finding.baseline}: {change}{ci}, {doubt}"
        return f"may or may not differ from that over {finding.baseline}: {change}{ci} excludes neither"

    def _ci(self, finding: Finding) -> str:
        interval = rows.row(finding).interval
        return (
            ""
            if interval == words.MISSING
            else f" ({100 * self.confidence:g} % CI {interval} {rows.row(finding).change.split()[-1]})"
        )


def _subject(finding: Finding) -> str:
    return f"{words.metric_in_sentence(finding.metric)} of {words.workload_title(finding.workload)} over {finding.path}"


def _direction(finding: Finding, *, up: bool) -> str:
    longer, shorter = _ADJECTIVES.get(finding.unit.removeprefix(VIRTUAL), ("higher", "lower"))
    return longer if up else shorter


def _excludes_none(finding: Finding) -> bool:
    """Whether the interval by itself leaves no difference out: only the adjustment made the verdict inconclusive."""
    low, high = words.finite(finding.ci_low), words.finite(finding.ci_high)
    none = 0.0 if finding.ratio is None else 1.0
    return low is not None and high is not None and (low > none or high < none)


def _theory(finding: Finding) -> str:
    theory = rows.row(finding).theory
    if theory == words.MISSING:
        return ""
    outside = ", which is outside the interval" if rows.contradicts_theory(finding) else ""
    return f"; theory says {theory.removeprefix(f'{rows.UNLIKE} ')}{outside}"


def _too_few(finding: Finding) -> str:
    if finding.n == 0:
        return "no pair of valid trials"
    return f"one pair of valid trials gives no interval ({rows.row(finding).change})"


def _distance(finding: Finding) -> float:
    value = finding.difference if finding.ratio is None else finding.ratio - 1
    return abs(words.finite(value) or 0.0)


def _of(part: int, total: int, places: str) -> str:
    if part < total:
        return f"{part} of {total} {places}"
    return f"both {places}" if total == 2 else f"all {total} {places}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
