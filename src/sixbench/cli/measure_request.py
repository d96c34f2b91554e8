"""A measurement to another machine, as it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.topology import Family
    from ..plan.measure_options import MeasureOptions


@dataclass(frozen=True, kw_only=True)
class MeasureRequest:
    """A measurement to another machine.

    Attributes:
        host: the other machine, as `bench.machines.Target` has it; and so `port`, `bind` and `key`.
        families: those that are measured; empty: those that reach the host.
        options: the workload, with iperf3's options.
        blocks: trials for each family; None: as many as is usual.
        out: the run directory in which the trials are kept, too; None: they are only printed.
        events: the file to which events are appended; None: they are not written.
        as_json: whether one JSON document is printed.
    """

    host: str
    port: int
    bind: str | None
    key: Path | None
    families: tuple[Family, ...]
    options: MeasureOptions
    blocks: int | None
    out: Path | None
    events: Path | None
    as_json: bool

    def shows_intervals(self, experiment: Experiment) -> bool:
        """True if lines for intervals are wanted: for a single trial unless `-i 0` is given, for several only if `-i`
        is given."""
        if self.options.interval is not None:
            return self.options.interval.strip("0.") != ""
        return len(experiment.paths) * experiment.blocks.maximum == 1
