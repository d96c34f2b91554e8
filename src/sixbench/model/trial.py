"""The record of a trial: the statistical unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from .parameter import Scalar
from .quoting import shown
from .reason import Reason, ReasonKind

if TYPE_CHECKING:
    from .evidence import Evidence

TRIAL_SCHEMA = "sixbench.trial/3"

_WITH_CELLS = "sixbench.trial/2"
"""The schema before this one, in which a worker was a `cell`."""
_OF_TEXTS = "sixbench.trial/1"
"""The schema before that, whose reasons were texts too."""

Status = Literal["ok", "invalid", "failed"]


def _no_evidence() -> Evidence:
    from .evidence import NO_EVIDENCE

    return NO_EVIDENCE


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial: its settings, its measurements and its proof.

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

    key: str
    sequence: int
    block: int
    combination: str
    path: str
    mechanism: str
    engine: str
    workload: str
    params: dict[str, Scalar]
    levels: dict[str, Scalar]
    status: Status
    reasons: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started_realtime_ns: int
    elapsed_ns: int
    metrics: dict[str, float] = field(default_factory=dict)
    uncertainty: dict[str, float] = field(default_factory=dict)
    theory: dict[str, float] = field(default_factory=dict)
    bypass: dict[str, float] = field(default_factory=dict)
    limited_by: str | None = None
    histograms: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=_no_evidence)
    client: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    other_runs: list[str] | None = None
    worker: str | None = None
    attempt: int | None = None
    watched: bool | None = None
    kept_awake: bool | None = None
    repeat: int | None = None

    @property
    def is_disturbed(self) -> bool:
        """True if it is invalid for no other reason than that the machine was disturbed."""
        return self.status == "invalid" and bool(self.reasons) and all(reason.is_of_machine for reason in self.reasons)

    def to_json(self) -> dict[str, Any]:
        """The form of `trial.json`."""
        from .evidence import evidence_to_json

        data = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        typed = {
            "reasons": [reason.to_json() for reason in self.reasons],
            "evidence": evidence_to_json(self.evidence),
        }
        if not self.uncertainty:
            del data["uncertainty"]
        return {"schema": TRIAL_SCHEMA} | data | typed

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrialRecord:
        """Reads `trial.json`, also of the schemas before. Keys of later versions are ignored. Raises `ValueError` on
        anything of another form than `TrialForm`."""
        from pydantic import ValidationError

        from .form import words_of
        from .record_form import TrialForm

        schema = data.get("schema")
        if schema not in (TRIAL_SCHEMA, _WITH_CELLS, _OF_TEXTS):
            raise ValueError(f"its schema is {shown(schema)}, and this sixbench reads {TRIAL_SCHEMA}")
        if schema != TRIAL_SCHEMA:
            data = {"worker" if name == "cell" else name: value for name, value in data.items()}
        try:
            form = TrialForm.model_validate(data)
        except ValidationError as error:
            raise ValueError(next(words_of(error))) from None
        known = _names()
        kept = {name: value for name, value in data.items() if name in known}
        read = _untyped if schema == _OF_TEXTS else Reason.from_json
        typed = {"reasons": [read(reason) for reason in data.get("reasons", [])], "evidence": form.evidence}
        return cls(**kept | typed)


@cache
def _names() -> frozenset[str]:
    return frozenset(item.name for item in fields(TrialRecord))


def _untyped(text: Any) -> Reason:
    if not isinstance(text, str):
        raise ValueError(f"a reason is {shown(text)}, which is not text")
    return Reason(kind=ReasonKind.UNTYPED, text=text)
