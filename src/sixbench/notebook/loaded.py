"""A run directory that was read, as DataFrames."""

from __future__ import annotations

import io
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from ..model.errors import StoreError, UsageError
from ..model.finding import Analysis, Estimate, Finding
from ..model.metric import METRICS
from ..store import Manifest, Run, read_run
from .frames import Frame, Frames, check_frames, table_of, to_frame

_LEVEL = "level_"
_TEXTS = ("workload", "metric", "column", "unit", "combination", "path")
_FINDING = {
    **dict.fromkeys((*_TEXTS, "baseline", "verdict", "direction", "mixed", "mark"), str),
    **dict.fromkeys(("n", "invalid", "blocks_needed", "outlying", "apart"), int),
    **dict.fromkeys(("value", "baseline_value", "apart_low", "apart_high"), float),
    **dict.fromkeys(("is_aa", "headline", "constant"), bool),
}
_ESTIMATE = {**dict.fromkeys(_TEXTS, str), "n": int, "outlying": int}


class LoadedRun:
    """A run, for analyses of one's own. Made by `sixbench.load` and `sixbench.run`.

    In a notebook it shows its answers. Every table is a new DataFrame each time that it is asked for.

    Attributes:
        directory: the run directory.
        manifest: the experiment, the machine and how the run went.
    """

    def __init__(self, run: Run, frames: Frames) -> None:
        self._run = run
        self._frames = frames

    @property
    def directory(self) -> Path:
        return self._run.directory

    @property
    def manifest(self) -> Manifest:
        """The experiment, the machine and how the run went."""
        return self._run.manifest

    @property
    def problems(self) -> tuple[str, ...]:
        """Trials that are missing, damaged, copied or changed, each with what is wrong. They are in no table."""
        return self._run.problems

    @cached_property
    def analysis(self) -> Analysis:
        """Estimates, findings and verdicts on claims, as objects. The DataFrames are made of them.

        Raises:
            StoreError: the run's files are damaged.
        """
        from ..analysis import analyse
        from ..plan.loading import load_paper

        return analyse(self._run, load_paper(self.manifest.paper))

    @property
    def trials(self) -> Frame:
        """A row a trial, in the order of execution; those that are not `ok` too, so choose by `status`.

        Columns: `key`, `block`, `path`, `workload`, `status` and so on; parameters (`param_`) and levels (`level_`);
        metrics, and beside them what theory expects (`theory_`). A column's unit is the end of its name: `goodput_bps`,
        `rtt_p50_ns`, `loss_ratio`. It is the table of `trials.parquet`.
        """
        import pyarrow.parquet as pq

        from ..store.table import trials_parquet

        table = pq.read_table(io.BytesIO(trials_parquet(self._run.trials, self.manifest)))
        return to_frame(table, self._frames)

    @property
    def findings(self) -> Frame:
        """A row a comparison of a path with its baseline, with all its numbers (see `model.finding.Finding`).

        `value` and `baseline_value` are those of the pairs, so that the change is theirs; `estimate` and
        `baseline_estimate` are of each path by itself. They, `difference` and `theory` are in the unit that the column
        `unit` says, since rows are of different metrics. `column` names the metric's values in `trials`.
        `change_percent` with its interval (`change_low_percent`, `change_high_percent`) is null where the metric is
        compared by difference. Levels are columns (`level_message_bytes`).
        """
        return self._frame([_finding(finding) for finding in self.analysis.findings], _FINDING)

    @property
    def estimates(self) -> Frame:
        """A row for each path, metric and combination of levels: `value` with its interval (`ci_low`, `ci_high`) over
        `n` valid trials, in the unit that the column `unit` says. `column` names the metric's values in `trials`."""
        return self._frame([_estimate(estimate) for estimate in self.analysis.estimates], _ESTIMATE)

    def series(self, key: str) -> Frame:
        """The values that a trial recorded at intervals: `source`, `t_ns` (since the measured window opened),
        `quantity`, whose name has its unit, and `value`. Without rows where the trial recorded none.

        Raises:
            UsageError: the run has no such trial.
            StoreError: its file is damaged.
        """
        self._check(key)
        rows = [
            {"source": source, "t_ns": int(t_ns), "quantity": quantity, "value": float(value)}
            for source, columns in self._run.series(key).items()
            for quantity, values in columns.items()
            if not quantity.endswith(":t_ns")
            for t_ns, value in zip(columns[f"{quantity}:t_ns"], values, strict=True)
        ]
        return self._frame(rows, {"source": str, "t_ns": int, "quantity": str, "value": float})

    def packets(self, key: str, *, reverse: bool = False) -> Frame:
        """The outcome of each datagram of a trial: `sequence`, `payload_bytes`, `sent_realtime_ns`,
        `received_realtime_ns` and `status` (`received`, `duplicate` or `lost`).

        Args:
            key: the trial's key, as in `trials`.
            reverse: those that the server sent, of a stream that has both directions.

        Raises:
            UsageError: the run has no such trial, or the trial kept no log of its packets.
            StoreError: its file is damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from ..model.workloads import WORKLOADS
        from ..store import PACKETS, REVERSE_PACKETS
        from ..store.packet_log import SCHEMA

        self._check(key)
        name = REVERSE_PACKETS if reverse else PACKETS
        content = self._run.file(key, name)
        if content is None:
            logged = [kind.name for kind in WORKLOADS.values() if kind.parameter("packet-log")]
            raise UsageError(
                f"{key} of {self.directory} has no {name}: only trials of {' and '.join(logged)} with "
                "`packet-log: true` keep what became of each datagram"
            )
        try:
            table = pq.read_table(io.BytesIO(content), columns=SCHEMA.names).cast(SCHEMA)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise StoreError(f"{self.directory}: {key}/{name} is damaged: {error}") from error
        return to_frame(table, self._frames)

    def _check(self, key: str) -> None:
        if key not in self._run.by_key:
            known = ", ".join([*self._run.by_key][:3])
            kind = f"its keys are like {known}" if known else "it has no trials at all"
            raise UsageError(f"{self.directory} has no trial {key!r}; {kind}")

    def _frame(self, rows: list[dict[str, Any]], kinds: dict[str, type]) -> Frame:
        return to_frame(table_of(rows, kinds), self._frames)

    def __repr__(self) -> str:
        manifest = self.manifest
        return f"<run {manifest.run} of {manifest.experiment.name}: {manifest.state}, {len(self._run.trials)} trials>"

    def _repr_html_(self) -> str:
        """The answers, for notebooks."""
        from .summary import summary

        return summary(self._run, self.analysis)


def load(directory: str | Path, *, frames: Frames = "pandas") -> LoadedRun:
    """Reads a run directory. Needs neither root nor Linux.

    Args:
        directory: as `sixbench run` printed it, such as `runs/quickstart-20261122-104500`.
        frames: whose DataFrames to make: those of `pandas` or of `polars`.

    Raises:
        StoreError: it is no run directory, or it is damaged.
        CapabilityError: pandas or polars is missing; the message says how to install it.
        UsageError: there are no frames of that name.
    """
    check_frames(frames)
    return LoadedRun(read_run(Path(directory)), frames)


def _finding(finding: Finding) -> dict[str, Any]:
    row = _row(finding) | {"mark": finding.mark}
    ends = (("percent", finding.ratio), ("low_percent", finding.ci_low), ("high_percent", finding.ci_high))
    for name, ratio in ends:
        known = None if finding.ratio is None or ratio is None else 100 * (ratio - 1)
        row[f"change_{name}"] = known
    return row


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return _row(estimate)


def _row(result: Finding | Estimate) -> dict[str, Any]:
    """All fields, with a column for each level and the name of the metric's column among trials."""
    row = asdict(result) | {"column": METRICS[result.metric].column}
    levels = row.pop("levels")
    return row | {f"{_LEVEL}{name}": value for name, value in levels.items()}
