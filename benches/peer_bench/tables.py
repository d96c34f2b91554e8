"""A run as tables: for the terminal and as Markdown, the same cells. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sixbench.model.aligned import aligned_lines, left_first
from sixbench.report import words

from .comparisons import COMPARISONS, Comparison
from .contender import FAMILIES
from .results import Results
from .verdicts import Limit, Row, Value, limits

HEADS = ("", "sixbench", "peer", "IP", "ours", "theirs", "ratio", "95 % interval", "n", "target", "")
_TITLES = {comparison.key: comparison for comparison in COMPARISONS}
_LEFT = 3


def ratio_cells(results: Results) -> list[list[str]]:
    """A line for each comparison of ours with a peer, then for each limit."""
    cells = [_row_cells(row) for row in results.rows()]
    return cells + [_limit_cells(limit) for limit in limits(results.values)]


def value_cells(results: Results) -> list[list[str]]:
    """A line for each contender and family: its values, what its processes took, and failures."""
    value_cells = []
    for comparison in COMPARISONS:
        here = [value for value in results.values if value.comparison == comparison.key]
        for name in dict.fromkeys(value.contender for value in here):
            for family in FAMILIES:
                mine = [value for value in here if value.contender == name and value.family == family]
                value_cells += [_value_cells(comparison, name, family, mine)] if mine else []
    return value_cells


VALUE_HEADS = ("", "contender", "IP", "least", "mean", "most", "n", "packets/s on the wire", "memory", "failures")


def text(heads: Sequence[str], cells: Sequence[Sequence[str]], left: int = _LEFT) -> str:
    """Columns as wide as their widest cell."""
    return "\n".join(aligned_lines([heads, *cells], left_first(left, len(heads))))


def markdown(results: Results) -> str:
    """The whole run as a page."""
    there = results.environment
    lines = [
        "# sixbench beside its peers",
        "",
        f"{results.started}; {there.cores} cores of {there.cpu}, Linux {there.kernel}. {_rounds(results)}, "
        f"{results.seconds} s a measurement, placement {results.placement}"
        f"{': client on processor 0, server on 1' if results.placement == 'pinned' else ''}.",
        "",
        "![ratios](ratios.svg)",
        "",
        *_table(HEADS, ratio_cells(results)),
        "",
        "`met`: the whole interval is on the right side of the target; `missed`: the whole interval is on the wrong "
        "one; `open`: more rounds would tell.",
        "",
        "## Values",
        "",
        *_table(VALUE_HEADS, value_cells(results)),
        "",
        *[f"- {comparison.title}: {comparison.about}." for comparison in COMPARISONS],
        "",
        "## Versions",
        "",
        *_table(("tool", "version"), [[name, version] for name, version in results.tools.items()]),
        "",
        *[f"- {what}: {why}" for what, why in results.absent.items()],
        "",
        "## Command lines",
        "",
        *_commands(results),
    ]
    return "\n".join(lines) + "\n"


def _row_cells(row: Row) -> list[str]:
    comparison = _TITLES[row.comparison]
    interval = words.MISSING
    if row.low is not None and row.high is not None:
        interval = f"{words.number(row.low, 3)} to {words.number(row.high, 3)}"
    return [
        comparison.title,
        row.ours,
        row.peer,
        str(row.family),
        words.quantity(row.ours_mean, comparison.unit),
        words.quantity(row.peer_mean, comparison.unit),
        words.number(row.ratio, 3),
        interval,
        str(row.n),
        str(row.target) if row.target else "",
        row.verdict or "",
    ]


def _limit_cells(limit: Limit) -> list[str]:
    most = words.quantity(limit.most, limit.unit)
    target = f"≤ {words.quantity(limit.limit, limit.unit)}"
    return [limit.title, limit.ours, "", str(limit.family), most, "", "", "", str(limit.n), target, limit.verdict]


def _value_cells(comparison: Comparison, name: str, family: int, values: Sequence[Value]) -> list[str]:
    known = [value.value for value in values if value.value is not None]
    wire = [value.wire_pps for value in values if value.wire_pps is not None]
    memory = [value.memory_bytes for value in values if value.memory_bytes is not None]
    failures = list(dict.fromkeys(value.failure for value in values if value.failure is not None))
    shown = [min(known), sum(known) / len(known), max(known)] if known else [None] * 3
    return [
        comparison.title,
        name,
        str(family),
        *[words.quantity(value, comparison.unit) for value in shown],
        str(len(known)),
        words.number(sum(wire) / len(wire)) if wire else words.MISSING,
        words.quantity(float(max(memory)), "B") if memory else words.MISSING,
        "; ".join(failures),
    ]


def _commands(results: Results) -> list[str]:
    lines = []
    for (key, contender, family), run in results.commands.items():
        if family == 4:
            lines.append(f"- {_TITLES[key].title}, {contender}: {', '.join(f'`{line}`' for line in run)}")
    return lines


def _rounds(results: Results) -> str:
    done = {value.round for value in results.values}
    more = sum(round_ >= results.rounds for round_ in done)
    of_everything = f"{len(done) - more} of {results.rounds} rounds of everything"
    return f"{of_everything} and up to {more} more of what was open" if more else of_everything


def _table(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in cells]
    return [f"| {' | '.join(row)} |" for row in [list(heads), ["---"] * len(heads), *escaped]]
