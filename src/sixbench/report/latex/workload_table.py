"""The table of a workload: every headline metric with its changes, under a heading a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...model.experiment import Experiment
from ...model.finding import Finding, Mark
from .. import marks, rows, words
from ..rows import FindingRow
from ..tables import Cells, Column, cells, left, right
from .floats import Block, Float

MOST_ROWS = 120
"""Rows that a paper may have of a workload, on three floats or four; of more, only the primary metric is shown."""

_ARROWS = {"higher": "↑", "lower": "↓"}
_SLIGHT_ARROWS = {"higher": "↗", "lower": "↘"}
_SIGNS: dict[Mark, str] = {"within A/A": "†", "equivalent": "≈", "mixed": "‡", "too variable": "?"}


def workload_tables(findings: Sequence[Finding], experiment: Experiment, run: str, prefix: str) -> list[Float]:
    """A table a workload.

    Args:
        findings: what is to be shown, in order.
        run: a sentence on where the numbers are from, for the captions.
        prefix: of labels.
    """
    return [
        _Maker(workload=workload, findings=shown, left_out=left_out, experiment=experiment).table(run, prefix)
        for workload, of_workload in rows.by_workload(findings).items()
        for shown, left_out in [_shown(of_workload)]
    ]


def _shown(findings: Sequence[Finding]) -> tuple[Sequence[Finding], Sequence[Finding]]:
    """Content of the table, and the rows that it leaves out."""
    primary = rows.primary(findings)
    if len(findings) <= MOST_ROWS or not primary:
        return findings, []
    return primary, [finding for finding in findings if finding.metric != primary[0].metric]


@dataclass(frozen=True, kw_only=True)
class _Maker:
    workload: str
    findings: Sequence[Finding]
    left_out: Sequence[Finding]
    experiment: Experiment

    def table(self, run: str, prefix: str) -> Float:
        levels, groups = rows.varying(self.findings), rows.grouped(self.findings)
        results = [cells(group, levels) for group in groups]
        keep = self._kept(results, len(levels))
        names = self._columns(levels)
        return Float(
            label=f"{prefix}-{self.workload}",
            title=self._title(levels),
            caption=f"{self._caption(levels)} {run}",
            columns=[names[at] for at in keep],
            blocks=[
                Block(
                    heading=self._heading(result),
                    rows=[[row[at] for at in keep] for row in map(self._row, result.rows, result.group.rows)],
                )
                for result in results
            ],
            remark=self._remark(),
        )

    def _remark(self) -> str:
        if not self.left_out:
            return ""
        metrics = words.listing(dict.fromkeys(words.metric_label(finding.metric) for finding in self.left_out))
        return (
            f"Left out of this table, which would have {len(self.findings) + len(self.left_out)} rows with them: "
            f"{metrics}. They are in the report with --format csv."
        )

    @property
    def paths(self) -> list[str]:
        """Those that are compared."""
        return list(dict.fromkeys(finding.path for finding in self.findings))

    @property
    def baselines(self) -> list[str]:
        """Their baselines."""
        return list(dict.fromkeys(finding.baseline for finding in self.findings))

    def _columns(self, levels: Sequence[str]) -> list[Column]:
        one_path, one_baseline = len(self.paths) == 1, len(self.baselines) == 1
        confidence = f"{100 * self.experiment.statistics.confidence:g} % CI"
        return [
            *right(*(words.factor(column) for column in levels)),
            *left("path"),
            *right(self.paths[0] if one_path else "value", self.baselines[0] if one_baseline else "baseline", "change"),
            *left(""),
            *right(confidence, "n", "A/A", "theory", "invalid"),
            *left("blocks"),
        ]

    def _row(self, texts: list[str], row: FindingRow) -> list[str]:
        """The cells of `tables.cells` in the order of `_columns`."""
        *levels, path, value, baseline, change, interval, _verdict, n, noise, theory, invalid = texts
        if len(self.baselines) > 1:
            path = f"{path} vs {row.finding.baseline}"
        return [*levels, path, value, baseline, change, _sign(row.finding), _bracketed(interval), n, noise,
                theory, invalid, marks.blocks(row.finding)]  # fmt: skip

    def _kept(self, results: Sequence[Cells], levels: int) -> list[int]:
        """Columns that say something, and differ where the caption could say it once."""
        every = [row for result in results for row in map(self._row, result.rows, result.group.rows)]
        once = set()
        if len(self.paths) == 1 and len(self.baselines) == 1:
            once.add(levels)
        if len({finding.n for finding in self.findings}) == 1:
            once.add(levels + 6)
        return [
            at
            for at in range(len(every[0]))
            if at not in once and any(row[at] not in ("", words.MISSING) for row in every)
        ]

    @property
    def _units(self) -> set[str]:
        return {item.change_unit for item in (cells(group, []) for group in rows.grouped(self.findings))}

    @property
    def _mixed(self) -> bool:
        return len(self._units) > 1 or not self._unit

    @property
    def _unit(self) -> str:
        return min(self._units)

    def _heading(self, result: Cells) -> str:
        group = result.group
        unit = f" ({result.unit})" if result.unit else ""
        change = f", change in {result.change_unit}" if self._mixed and result.change_unit else ""
        better = words.better(group.metric)
        return f"{words.metric_label(group.metric)}{unit}{change}{f'; {better}' if better else ''}"

    def _title(self, levels: Sequence[str]) -> str:
        against = words.listing(self.baselines)
        who = f"{self.paths[0]} against {against}" if len(self.paths) == 1 else f"paths against {against}"
        if len(self.baselines) > 1:
            who = "paths against their baselines"
        return f"{words.workload_title(self.workload)}, {who}"

    def _caption(self, levels: Sequence[str]) -> str:
        statistics = self.experiment.statistics
        at = words.levels(rows.constant(self.findings))
        pairs = sorted({finding.n for finding in self.findings})
        n = f"n = {pairs[0]}" if len(pairs) == 1 else f"n = {pairs[0]} to {pairs[-1]}"
        unit = "" if self._mixed else f" in {self._unit}"
        parts = [
            f"{self._title(levels)}{f', {at}' if at else ''}.",
            f"Both values are those of the pairs of a comparison, and the change{unit} is theirs, with its "
            f"{100 * statistics.confidence:g} % confidence interval, paired by block ({n} pairs).",
            self._marks(),
        ]
        if any(finding.noise_low is not None for finding in self.findings):
            parts.append("A/A: the difference of the baseline from itself.")
        if any(rows.contradicts_theory(finding) for finding in self.findings):
            parts.append("≠: theory is outside the interval.")
        return " ".join(part for part in parts if part)

    def _marks(self) -> str:
        """Meaning of the marks beside changes, of those that there are."""
        names = {finding.mark for finding in self.findings}
        verdicts = {finding.verdict for finding in self.findings if finding.mark == "decided"}
        arrows = [arrow for verdict, arrow in _ARROWS.items() if verdict in verdicts]
        slight = {finding.direction for finding in self.findings if finding.mark == "small"}
        slight_arrows = [arrow for direction, arrow in _SLIGHT_ARROWS.items() if direction in slight]
        margins = words.margins_of(self.experiment.statistics, self.findings)
        texts = [
            *([f"{' '.join(arrows)}: different (Holm-adjusted)"] if arrows else []),
            *([f"{' '.join(slight_arrows)}: different, and by less than {margins}"] if slight_arrows else []),
            *(["‡: mixed, not all blocks say the same"] if "mixed" in names else []),
            *(["†: within A/A"] if "within A/A" in names else []),
            *([f"≈: equivalent within {margins}"] if "equivalent" in names else []),
            *(["?: too variable to tell"] if "too variable" in names else []),
        ]
        if "undecided" in names:
            texts.append("no mark: undecided" if texts else "All of these are undecided")
        return f"{'; '.join(texts)}." if texts else ""


def _sign(finding: Finding) -> str:
    """The mark beside a change; none where more blocks may tell."""
    if finding.mark == "small":
        return _SLIGHT_ARROWS.get(finding.direction or "", "")
    return _ARROWS.get(finding.verdict, "") if finding.mark == "decided" else _SIGNS.get(finding.mark, "")


def _bracketed(interval: str) -> str:
    """`[−1.45, −1.33]` for `−1.45 to −1.33`; anything else as it is."""
    low, to, high = interval.partition(" to ")
    return f"[{low}, {high}]" if to else interval
