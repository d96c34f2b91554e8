"""A measurement between two machines as text, for people who know iperf3: intervals, a summary, the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model.aligned import aligned, left_first
from ..model.experiment import Experiment
from ..model.finding import Analysis
from ..model.metric import COLUMNS, METRICS
from ..model.reason import sentences
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..model.workloads.common import rate
from . import words
from .path_mtu_table import PATH_MTU
from .result_text import ResultText

Series = Mapping[str, Mapping[str, Sequence[float | None]]]
"""The interval series of a trial: by source, then by quantity; `t_ns` is among them."""

NOT_PROVED = "Not proved: the sockets use this family, but no packets were captured, so their route is not known."

TEXTS: Mapping[str, ResultText] = {text.workload: text for text in (PATH_MTU,)}
"""Text in place of the metrics of workloads whose results a list of metrics does not show."""

ONE_WAY = "one_way_delay_p50"

_DIRECTIONS = {"forward": "client to server", "reverse": "server to client"}


def header(experiment: Experiment, addresses: Mapping[str, tuple[str, str]], port: int) -> str:
    """Announcement of a measurement, with its addresses (client and server, by path)."""
    [combination] = experiment.combinations
    params = combination.workload.params
    kind = WORKLOADS[combination.workload.kind]
    names = [
        f"{parameter.name} {parameter.format(value)}"
        for column, value in params.items()
        if (parameter := kind.by_column(column)) is not None
    ]
    lines = [f"{experiment.title}, control port {port}", *([f"  {', '.join(names)}"] if names else [])]
    lines += [f"  [{path}] local {client}, remote {server}" for path, (client, server) in addresses.items()]
    return "\n".join(lines) + "\n"


def intervals(record: TrialRecord, series: Series) -> str:
    """The interval lines of a trial, direction by direction; empty where it has none."""
    parts = []
    counting = {source for source, columns in series.items() if columns.keys() & _COUNTED}
    samples = next((columns for source, columns in series.items() if counting and source not in counting), None)
    for source, columns in series.items():
        if source.endswith("sender") or not columns.get("t_ns") or columns is samples:
            continue
        direction = next((name for name in _DIRECTIONS if source.startswith(name)), None)
        sender = series.get(f"{direction}_sender") if direction is not None else samples
        several = sum(not name.endswith("sender") for name in series) > 1
        title = f"[{record.path}] {_DIRECTIONS[direction]}\n" if several and direction is not None else ""
        parts.append(title + _intervals(columns, sender or {}))
    return "".join(parts)


def arriving(path: str, direction: str, from_ns: int, to_ns: int, rate_bps: float) -> str:
    """Arriving data while a trial goes on, on one line; the trial's own intervals are exact, and have more."""
    back = " back" if direction == "reverse" else ""
    return f"[{path}]{back} {from_ns / 1e9:.1f} to {to_ns / 1e9:.1f} s  {words.quantity(rate_bps, 'bit/s')}"


def summary(record: TrialRecord) -> str:
    """Results of a trial, metric by metric, and its remarks."""
    kind, workload_text = WORKLOADS[record.workload], TEXTS.get(record.workload)
    if workload_text is not None and record.status != "failed":
        text, in_table = workload_text.table([record]), workload_text.notes_in_table(record)
        record = replace(record, notes=[note for note in record.notes if note not in in_table])
    else:
        order = [*kind.headline, *(name for name in kind.metrics if name not in kind.headline)]
        known = [COLUMNS[column] for column in record.metrics if column in COLUMNS]
        known.sort(key=lambda metric: order.index(metric.name) if metric.name in order else len(order))
        rows = [(metric.label, words.quantity(record.metrics[metric.column], metric.unit)) for metric in known]
        text = aligned([("", "value"), *rows], ["left", "right"]) if rows else ""
    return f"[{record.path}] {record.status}\n{text}{remarks(record)}"


def one_line(record: TrialRecord, number: int, total: int) -> str:
    """A trial of several, on one line."""
    if record.status != "ok":
        what = f"{record.status}: {sentences(record.reasons)}"
    elif record.workload in TEXTS:
        what = "; ".join(record.notes)
    else:
        metrics = [METRICS[name] for name in WORKLOADS[record.workload].headline]
        what = ", ".join(
            f"{words.metric_in_sentence(metric.name)} {words.quantity(record.metrics[metric.column], metric.unit)}"
            for metric in metrics
            if metric.column in record.metrics
        )
    return f"[{number:>{len(str(total))}}/{total}] {record.path}  {words.one_line(what)}\n"


def remarks(record: TrialRecord) -> str:
    """The reason why a trial is not valid, and its notes."""
    lines = [f"{record.status}: {reason}" for reason in record.reasons] + record.notes
    if record.limited_by == "cpu":
        lines.append("a core of one machine was saturated, so the path may carry more")
    return "".join(f"  {words.one_line(line)}\n" for line in lines)


def conclusion(
    experiment: Experiment, trials: Sequence[TrialRecord], analysis: Analysis, *, width: int = 80, colour: bool = False
) -> str:
    """Text under the trials: each family's path MTU or estimates, and the comparison."""
    parts = []
    kind = WORKLOADS[experiment.combinations[0].workload.kind]
    workload_text = TEXTS.get(kind.name)
    if workload_text is not None and len(trials) > 1:
        parts.append(workload_text.table([trial for trial in trials if trial.block == 1 and trial.status != "failed"]))
    elif len(trials) > 1 and len(experiment.paths) == 1:
        parts.append(_estimates(analysis))
    compared = [finding for finding in analysis.findings if finding.n > 1]
    if compared:
        from . import terminal

        parts.append(terminal.comparison(analysis, experiment.statistics, trials, width=width, colour=colour))
    elif len(experiment.paths) > 1 and kind.compared_blocks > 1:
        parts.append("Not compared: a comparison needs two blocks in which both families have a valid trial.\n")
    if ONE_WAY in kind.metrics and any(trial.status == "ok" for trial in trials):
        parts.append("One-way delay is left out, because the two machines have different clocks.\n")
    parts.append(f"{NOT_PROVED}\n")
    return "\n".join(part for part in parts if part)


def _estimates(analysis: Analysis) -> str:
    """Mean and interval over the trials of one family."""
    rows = [
        (
            words.metric_label(estimate.metric),
            words.quantity(estimate.value, estimate.unit),
            words.quantity(estimate.ci_low, estimate.unit),
            words.quantity(estimate.ci_high, estimate.unit),
            str(estimate.n),
        )
        for estimate in analysis.estimates
    ]
    heads = ("", "mean", "95 % CI from", "to", "n")
    return aligned([heads, *rows], left_first(1, len(heads))) if rows else ""


def _intervals(columns: Mapping[str, Sequence[float | None]], sender: Mapping[str, Sequence[float | None]]) -> str:
    """One line an interval, and one for all of them."""
    ends = [float(end) for end in columns["t_ns"] if end is not None]
    starts = [0.0, *ends[:-1]]
    merged = {**columns, **_of_sender(sender, len(ends))}
    heads = ["Interval", *_heads(merged)]
    rows = [heads]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        rows.append([_span(start, end), *_cells(merged, slice(index, index + 1), end - start)])
    rows.append([_span(0, ends[-1]), *_cells(merged, slice(None), ends[-1])])
    lines = aligned(rows, left_first(1, len(heads))).splitlines(keepends=True)
    return "".join([*lines[:-1], "  - - - - - - - - -\n", lines[-1]])


def _of_sender(sender: Mapping[str, Sequence[float | None]], intervals: int) -> dict[str, list[float | None]]:
    """Samples of the sender at the ends of the receiver's intervals; a last sample after them counts in the last."""
    samples = len(sender.get("t_ns", ()))
    if not intervals <= samples <= intervals + 1:
        return {}
    results = {name: list(sender[name][:intervals]) for name in ("rtt_ns", "cwnd_packets") if name in sender}
    if "retransmits" in sender:
        *first, last = (
            sender["retransmits"][index:][: 1 if index < intervals - 1 else None] for index in range(intervals)
        )
        known = [value for value in last if value is not None]
        results["retransmits"] = [*(values[0] for values in first), sum(known) if known else None]
    return results


def _span(start_ns: float, end_ns: float) -> str:
    return f"{start_ns / 1e9:.2f}-{end_ns / 1e9:.2f} s"


def _heads(columns: Mapping[str, object]) -> list[str]:
    return [head for column, heads in _COLUMNS.items() if column in columns for head in heads]


_COLUMNS: dict[str, tuple[str, ...]] = {
    "bytes": ("Transfer", "Bitrate"),
    "datagrams": ("Datagrams",),
    "lost_middle": ("Lost",),
    "transactions": ("Transactions", "Rate"),
    "rtt_mean_ns": ("RTT",),
    "retransmits": ("Retr",),
    "rtt_ns": ("RTT",),
    "cwnd_packets": ("Cwnd",),
}
"""The quantities that are shown, in this order, and under which headings."""


def _cells(columns: Mapping[str, Sequence[float | None]], span: slice, length_ns: float) -> list[str]:
    """The quantities of some intervals together: sums of what is counted, means of what is not."""
    cells: list[str] = []
    for column, heads in _COLUMNS.items():
        if column not in columns:
            continue
        values = [float(value) for value in columns[column][span] if value is not None]
        total = sum(values)
        match column:
            case _ if not values:
                cells += [words.MISSING] * len(heads)
            case "bytes":
                cells += [words.quantity(total, "B"), _rate(8 * total, length_ns, "bit/s")]
            case "transactions":
                cells += [f"{total:.0f}", _rate(total, length_ns, "1/s")]
            case "rtt_mean_ns" | "rtt_ns":
                cells.append(words.quantity(total / len(values), "ns"))
            case "cwnd_packets":
                cells.append(f"{total / len(values):.0f}")
            case _:
                cells.append(f"{total:.0f}")
    return cells


_COUNTED = {"bytes", "datagrams", "transactions"}
"""The quantities that come to a side. A source with none of them has samples of the side that sends."""


def _rate(count: float, length_ns: float, unit: str) -> str:
    """A count per second in words. An interval that has no length, such as that of a single datagram, has no rate."""
    per_s = rate(count, length_ns)
    return words.MISSING if per_s is None else words.quantity(per_s, unit)
