"""Answers of a run: a row for each comparison of a workload's primary metric, complete in itself.

A row has both values, the change with its interval, what theory expects, what the baseline differs from itself (A/A),
and a mark that takes all of that into account. Where there are too many rows for a first screen, the levels of a
workload and path share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

from ..analysis.pooled import pooled_change
from ..model.change_words import PrintedChange, PrintedInterval, change_of, noise_of, printed_change
from ..model.comparison_group import ComparisonGroup
from ..model.experiment import Statistics
from ..model.finding import Analysis, Finding, is_too_variable
from ..model.trial import TrialRecord
from . import bars, group_words, marks, rows, words
from .agreeing import value_cells
from .bars import Bar
from .group_words import by_place
from .tables import ColumnOf
from .typed_cells import NumberCell

NO_AA = "This experiment has no A/A path, so its noise floor is not known."

MOST = 12
"""Rows of a first screen: of more comparisons, the levels of each workload and path share a row."""

_NBSP = "\u00a0"


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """One row.

    Attributes:
        title: what is compared: metric, workload and levels.
        values: both values, as `IPv4 94.15 → IPv6 92.86 Mbit/s`.
        changed: the change, with its interval; of several levels, that of their mean. None where nothing can be told.
        about_change: whether several levels differ, as it stands behind the interval.
        theory: what theory expects, as `−1.38 %`, or the change between its lower bounds, as `lower bounds +1.20 %`;
            empty where it is silent.
        noise: the A/A interval, as `−1.84 .. +0.80`; empty where there is none.
        mark: `decided: worse`, `within A/A`, `undecided`, and so on.
        hint: what would make an answer of it, or which level stands out; may be empty.
        bars: one for each comparison that has an interval; several where levels share the row.
        colon: what stands between mark and hint, as in both.
    """

    title: str
    values: str
    changed: PrintedChange | None
    theory: str
    noise: str
    mark: str
    hint: str
    tone: rows.Tone
    about_change: str = ""
    bars: list[Bar] = field(default_factory=list)
    colon: str = marks.COLON

    @property
    def change(self) -> str:
        """The change and all about it, as `−1.38 % [−1.53, −1.22]`; empty where nothing can be told."""
        return "" if self.changed is None else f"{self.changed.text}{self.beside_change}"

    @property
    def beside_change(self) -> str:
        """All that stands behind the change: ` [−1.53, −1.22] on average`."""
        interval = None if self.changed is None else self.changed.printed_interval
        return f"{'' if interval is None else _in_brackets(interval)}{self.about_change}"

    @property
    def numbers(self) -> str:
        """Everything but title and mark, as a phrase."""
        named = [("theory", self.theory), ("A/A", self.noise)]
        names = [f"{name}{_NBSP}{value}" for name, value in named if value]
        return ", ".join(part for part in (self.values, self.change, *names) if part)

    @property
    def verdict(self) -> str:
        """The mark with its hint: `undecided: about 40 blocks would tell 5 %`."""
        return f"{self.mark}{self.colon}{self.hint}" if self.hint else self.mark


CHANGE: ColumnOf[AnswerRow] = ColumnOf(name="change", align="right", text=lambda answer: answer.change or words.MISSING)

COLUMNS: tuple[ColumnOf[AnswerRow], ...] = (
    ColumnOf(name="what", align="left", text=lambda answer: answer.title),
    ColumnOf(name="values", align="left", text=lambda answer: answer.values),
    CHANGE,
    ColumnOf(name="theory", align="right", text=lambda answer: answer.theory),
    ColumnOf(name="A/A", align="right", text=lambda answer: answer.noise),
)
"""Those of numbers; each format has the mark, and draws the interval, in its own form."""


def drawn(answer: AnswerRow, width: int) -> str:
    """A single interval beside no difference, as text; empty where there are several."""
    return bars.text(answer.bars[0], width, bars.BLOCKS).replace(" ", "·") if len(answer.bars) == 1 else ""


def answer_rows(
    analysis: Analysis, statistics: Statistics, trials: Sequence[TrialRecord] = (), colon: str = marks.COLON
) -> list[AnswerRow]:
    """The rows, in order of the findings. Empty where nothing was compared.

    Args:
        analysis: whose findings of primary metrics are told, without the A/A comparison.
        statistics: the margin within which differences count as none.
        trials: those of the run: they say what would help where results scatter.
        colon: what stands between a mark and what it says: a comma, where a format has the mark behind a colon.
    """
    every = rows.primary(rows.headline(analysis))
    drawn = dict(zip(map(id, every), bars.bars(every, statistics), strict=True))
    by_group = _grouped(analysis, every)
    members = {id(finding) for _, of_group in by_group for finding in of_group}
    findings = [finding for finding in every if id(finding) not in members]
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.workload, finding.metric, finding.path), []).append(finding)
    names_path = len({finding.path for finding in every}) > 1
    message = _AnswerRows(statistics=statistics, trials=trials, bars=drawn, names_path=names_path, colon=colon)
    answered = [message.of_group(group, of_group) for group, of_group in by_group]
    for group in groups.values():
        share_a_row = len(findings) > MOST and len(group) > 1
        answered += [message.of_findings(group)] if share_a_row else [message.of_finding(finding) for finding in group]
    return answered


def _grouped(analysis: Analysis, findings: Sequence[Finding]) -> list[tuple[ComparisonGroup, list[Finding]]]:
    """The groups of comparisons over a factor whose findings are among these."""
    known = by_place(findings)
    return [
        (group, group_words.findings_of(group, known))
        for group in analysis.groups
        if all((member.combination, group.path, group.metric) in known for member in group.members)
    ]


def lacks_aa(analysis: Analysis) -> bool:
    """True if nothing says what the baseline differs from itself."""
    return not any(finding.is_aa for finding in analysis.findings)


@dataclass(frozen=True, kw_only=True)
class _AnswerRows:
    statistics: Statistics
    trials: Sequence[TrialRecord]
    bars: Mapping[int, Bar | None]
    names_path: bool
    colon: str

    def of_finding(self, finding: Finding) -> AnswerRow:
        at = words.levels(finding.levels)
        return AnswerRow(
            title=_capital(f"{self._subject(finding)}{f', {at}' if at else ''}"),
            values=_values(finding),
            changed=_change(finding),
            theory=_theory(finding),
            noise=_noise(finding),
            mark=marks.mark(finding, self.statistics, self.colon),
            hint=marks.hint(finding, self.trials, self.colon),
            tone=rows.tone(finding),
            bars=self._bars([finding]),
            colon=self.colon,
        )

    def of_findings(self, findings: Sequence[Finding]) -> AnswerRow:
        """The levels of one workload and path: how often each mark, and the one level that stands out, if one does."""
        swept = rows.varying(findings)
        places = f"levels of {words.factor(swept[0])}" if len(swept) == 1 else "combinations of levels"
        first = findings[0]
        tones = {rows.tone(finding) for finding in findings}
        apart = largest(findings)
        changed, about_change = _pooled(findings, self.statistics)
        stands_out = "" if apart is None else f"largest at {words.levels(apart.levels, swept)}, {_with_brackets(apart)}"
        return AnswerRow(
            title=_capital(f"{self._subject(first)}, {len(findings)} {places}"),
            values=f"{words.protocol(first.baseline)} → {words.protocol(first.path)}",
            changed=changed,
            about_change=about_change,
            theory="",
            noise="",
            mark=marks.count_marks(findings, self.statistics, self.colon),
            hint=stands_out,
            tone=tones.pop() if len(tones) == 1 else "changed",
            bars=self._bars(findings),
            colon=self.colon,
        )

    def of_group(self, group: ComparisonGroup, findings: Sequence[Finding]) -> AnswerRow:
        """The comparisons over a factor: their mean, and how many levels are slower, faster or neither."""
        at = words.levels(group.levels)
        pooled, tones = group.pooled, {rows.tone(finding) for finding in findings}
        noun, many = group_words.nouns(group)
        differing = pooled is not None and group_words.differ(pooled)
        return AnswerRow(
            title=_capital(f"{self._subject(findings[0])}{f', {at}' if at else ''}"),
            values=f"{words.protocol(group.baseline)} → {words.protocol(group.path)}",
            changed=group_words.mean_change(group),
            about_change=f" for the mean {noun}",
            theory="",
            noise="",
            mark=group_words.counts_phrase(group),
            hint=f"{many} differ" if differing else "",
            tone=tones.pop() if len(tones) == 1 else "changed",
            bars=self._bars(findings),
            colon=self.colon,
        )

    def _subject(self, finding: Finding) -> str:
        what = f"{words.metric_in_sentence(finding.metric)} of {words.workload_in_sentence(finding.workload)}"
        return f"{what} over {words.protocol(finding.path)}" if self.names_path else what

    def _bars(self, findings: Sequence[Finding]) -> list[Bar]:
        return [bar for finding in findings if (bar := self.bars[id(finding)]) is not None]


def largest(findings: Sequence[Finding]) -> Finding | None:
    """The finding with the largest change, where its interval lies apart from those of all others.

    None where another one may be as large: where intervals overlap, or one is not known; and where it is not decided.
    """
    known = [(finding, _reach(finding)) for finding in findings]
    if len(known) < 2 or any(reach is None for _, reach in known) or len({f.ratio is None for f in findings}) > 1:
        return None
    ordered = sorted(((reach, index) for index, (_, reach) in enumerate(known) if reach is not None), reverse=True)
    (least_of_first, _), index = ordered[0]
    others = max(most for (_, most), _ in ordered[1:])
    return findings[index] if findings[index].mark == "decided" and least_of_first > others else None


def _reach(finding: Finding) -> tuple[float, float] | None:
    """The least and the largest that the change may be, whatever its direction: of logarithms, or of differences."""
    low, high = words.finite(finding.ci_low), words.finite(finding.ci_high)
    if low is None or high is None or (finding.ratio is not None and low <= 0):
        return None
    ends = sorted((abs(low), abs(high)) if finding.ratio is None else (abs(log(low)), abs(log(high))))
    none = 0.0 if finding.ratio is None else 1.0
    return (0.0 if low <= none <= high else ends[0]), ends[1]


def _values(finding: Finding) -> str:
    """Both values in one unit, the baseline's first."""
    names = words.protocol(finding.baseline), words.protocol(finding.path)
    known = [value for value in map(words.finite, finding.values) if value is not None]
    if len(known) < 2:
        return f"{names[0]} → {names[1]}"
    scale = words.common_scale(known, finding.unit)
    after, before = (cell.within(scale[1]) for cell in value_cells(finding, scale))
    return f"{names[0]} {before} → {names[1]} {after} {scale[1]}"


def _change(finding: Finding) -> PrintedChange | None:
    """None where there is none, or where it says nothing."""
    return None if finding.mark == "too variable" else change_of(finding)


def _with_brackets(finding: Finding) -> str:
    change = change_of(finding)
    interval = None if change is None else change.printed_interval
    return "" if change is None else f"{change.text}{'' if interval is None else _in_brackets(interval)}"


def _in_brackets(interval: PrintedInterval) -> str:
    return f" [{f',{_NBSP}'.join(interval.texts)}]"


def _pooled(findings: Sequence[Finding], statistics: Statistics) -> tuple[PrintedChange | None, str]:
    """The average change of the levels with its interval, and whether they differ: `−5.20 % [−5.41, −5.05]`, and
    ` on average, and the levels differ`. None where none is known, or where it says nothing."""
    pooled = pooled_change(findings, statistics.confidence)
    values = [value for finding in findings for value in finding.values]
    if pooled is None or is_too_variable(pooled.low, pooled.high, pooled.ratio, values):
        return None, ""
    change = printed_change(pooled.ratio, pooled.difference, (pooled.low, pooled.high), findings[0].unit)
    left_out = "" if pooled.levels == len(findings) else f" of {pooled.levels}"
    differ = {True: ", and the levels differ", False: ", and no level differs for certain", None: ""}[pooled.differ]
    return change, "" if change is None else f" on average{left_out}{differ}"


def _theory(finding: Finding) -> str:
    theory = rows.theory_cell(finding)
    if not isinstance(theory, NumberCell):
        return ""
    contradicts, number = rows.contradicts_theory(finding), replace(theory, prefix="").text
    if not rows.has_lower_bounds(finding.metric):
        return f"{number} outside the interval" if contradicts else number
    bounds = f"≥ {number}" if rows.expected_ratio(finding) is None else f"lower bounds {number}"
    return f"{bounds}, a value below its own" if contradicts else bounds


def _noise(finding: Finding) -> str:
    """The A/A interval without its unit."""
    noise = noise_of(finding)
    if noise is None:
        return ""
    if rows.is_noise_too_variable(finding):
        return marks.TOO_VARIABLE
    return f"{_NBSP}..{_NBSP}".join(noise.texts)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
