"""The record of a trial: the statistical unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from .evidence import Evidence
    from .record_types import (
        Flag,
        Histograms,
        KeptEvidence,
        Metrics,
        Name,
        Names,
        OrAbsent,
        Ordinal,
        Reasons,
        RepeatNumber,
        SideResult,
        Texts,
        Time,
        Uncertainty,
        Values,
    )

Status = Literal["ok", "invalid", "failed"]


def _no_evidence() -> Evidence:
    from .evidence import NO_EVIDENCE

    return NO_EVIDENCE


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial: its settings, its measurements and its proof. The types of its fields say what is read in `trial.json`
    (`model.record_json`).

    Attributes:
        key: block, combination and path, and which repeat it is: unique in a run.
        sequence: order of execution, from 1.
        status: `ok`; `invalid`: measured, but not what it claims; `failed`: not measured. Only `ok` enters any
            statistic.
        reasons: why it is not `ok`; empty if it is.
        notes: remarks that do not invalidate it (such as what limited it).
        metrics: by column, such as `goodput_bps`. What was not measured is absent.
        uncertainty: by how much a metric may be wrong in either direction, whatever the noise, by column: in all
            trials perhaps by as much and in the same direction. What has none is absent.
        theory: what the path should give, by column.
        evidence: what proves its path: counters and captured packets.
        bypass: what the tester itself reached in this workload with no path between, by column.
        limited_by: what set the result, where it is known: `path`, `tester` (it is within a tenth of what the tester
            can do), `cpu`, `window`, `generator`.
        client, server: the agents' results without their series. These, `histograms` and `evidence` may be read only
            when they are looked at.
        other_runs: the experiments of other runs of sixbench that measured on this machine during it. Empty: there were
            none. None: nobody looked, as in the records of earlier versions.
        worker: the machine that it was measured on, by its name in the manifest. None: that of the run.
        attempt: which attempt at its block it belongs to, from 1. None: its block was not handed to a worker.
        watched: whether a page of `sixbench ui` was told what the run did during it. None: it is not known.
        kept_awake: whether all processors of its nodes' machines were kept awake throughout it. None: they were not to
            be, or it is not known.
        repeat: which repeat of its trial within the block it is, from 1 (`repeats`). None: it is the trial as it was
            planned.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "ignore", "allow_inf_nan": False}

    key: Name
    sequence: Ordinal
    block: Ordinal
    combination: Name
    path: Name
    mechanism: Name
    engine: Name
    workload: Name
    params: Values
    levels: Values
    status: Status
    reasons: Reasons = field(default_factory=list)
    notes: Texts = field(default_factory=list)
    started_realtime_ns: Time
    elapsed_ns: Time
    metrics: Metrics = field(default_factory=dict)
    uncertainty: Uncertainty = field(default_factory=dict)
    theory: Metrics = field(default_factory=dict)
    bypass: Metrics = field(default_factory=dict)
    limited_by: OrAbsent[Name] = None
    histograms: Histograms = field(default_factory=dict)
    evidence: KeptEvidence = field(default_factory=_no_evidence)
    client: SideResult = field(default_factory=dict)
    server: SideResult = field(default_factory=dict)
    other_runs: OrAbsent[Names] = None
    worker: OrAbsent[Name] = None
    attempt: OrAbsent[Ordinal] = None
    watched: OrAbsent[Flag] = None
    kept_awake: OrAbsent[Flag] = None
    repeat: OrAbsent[RepeatNumber] = None

    @property
    def is_disturbed(self) -> bool:
        """True if it is invalid for no other reason than that the machine was disturbed."""
        return self.status == "invalid" and bool(self.reasons) and all(reason.is_of_machine for reason in self.reasons)
