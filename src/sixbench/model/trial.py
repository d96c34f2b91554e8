"""The record of a trial: the statistical unit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from .workload import Scalar

TRIAL_SCHEMA = "sixbench.trial/1"

Status = Literal["ok", "invalid", "failed"]


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """What one trial was, what it measured and what proves it.

    Attributes:
        key: block, combination and path: unique in a run.
        sequence: order of execution, from 1.
        status: `ok`; `invalid`: measured, but not what it claims; `failed`: not measured. Only `ok` enters any
            statistic.
        reasons: why it is not `ok`; empty if it is.
        notes: remarks that do not invalidate it (such as what limited it).
        metrics: by column, such as `goodput_bps`. What was not measured is absent.
        theory: what the path should give, by column.
        evidence: what proves its path: counters and captured packets.
        bypass: what the tester itself did of this workload with no path between, by column.
        limited_by: what set the result, where it is known: `path`, `tester` (it is within a tenth of what the tester
            can do), `cpu`, `window`, `generator`.
        client, server: the agents' results without their series.
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
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started_realtime_ns: int
    elapsed_ns: int
    metrics: dict[str, float] = field(default_factory=dict)
    theory: dict[str, float] = field(default_factory=dict)
    bypass: dict[str, float] = field(default_factory=dict)
    limited_by: str | None = None
    histograms: dict[str, dict[str, Any]] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The form of `trial.json`."""
        return {"schema": TRIAL_SCHEMA} | {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TrialRecord:
        """Reads `trial.json`; keys of later versions are ignored. Raises `KeyError`, `TypeError` or `ValueError` on
        anything else."""
        if data.get("schema") != TRIAL_SCHEMA:
            raise ValueError(f"schema {data.get('schema')!r} is not {TRIAL_SCHEMA}")
        for name, kind in _json_types().items():
            if name in data and type(data[name]) is not kind:
                raise TypeError(f"{name} is no {kind.__name__}: {data[name]!r}")
        if data["status"] not in get_args(Status):
            raise ValueError(f"status {data['status']!r} is not one of {', '.join(get_args(Status))}")
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in data.items() if name in known})


@cache
def _json_types() -> dict[str, type]:
    """What `trial.json` has for each field that is always there in one form."""
    types = {name: get_origin(hint) or hint for name, hint in get_type_hints(TrialRecord).items()}
    return {name: kind for name, kind in types.items() if kind in (str, int, list, dict)}
