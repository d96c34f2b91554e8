"""The form of `trial.json`: what is written, and what is read, whoever wrote it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .evidence import NO_EVIDENCE, KeptEvidence
from .form import ABSENT, MAX_ITEMS, Flag, Form, Name, Natural, Number, Scalar, Text, Time
from .results import KeptResult

MAX_BLOCK = 10**9
"""Blocks and sequence numbers are far below it."""

Ordinal = Annotated[int, Field(ge=0, lt=MAX_BLOCK)]
Metrics = dict[Name, Number]


class KeptHistogram(Form):
    """Values by bucket, and what follows from them (docs/protocol.md)."""

    buckets: Annotated[list[Annotated[list[Number], Field(min_length=2, max_length=2)]], Field(max_length=MAX_ITEMS)]
    count: Natural = ABSENT
    unit: Name = ABSENT
    min: Number = ABSENT
    max: Number = ABSENT
    mean: Number = ABSENT
    stdev: Number = ABSENT
    p50: Number = ABSENT
    p90: Number = ABSENT
    p99: Number = ABSENT
    p999: Number = ABSENT


class TrialForm(Form):
    """A trial's record; `model.trial.TrialRecord` says what each of it means."""

    key: Name
    sequence: Ordinal
    block: Ordinal
    combination: Name
    path: Name
    mechanism: Name
    engine: Name
    workload: Name
    status: Literal["ok", "invalid", "failed"]
    params: dict[Name, Scalar]
    levels: dict[Name, Scalar]
    started_realtime_ns: Time
    elapsed_ns: Time
    reasons: Annotated[list[Any], Field(max_length=MAX_ITEMS)] = ABSENT
    notes: Annotated[list[Text], Field(max_length=MAX_ITEMS)] = ABSENT
    metrics: Metrics = ABSENT
    uncertainty: dict[Name, Annotated[Number, Field(ge=0)]] = ABSENT
    theory: Metrics = ABSENT
    bypass: Metrics = ABSENT
    limited_by: Name = ABSENT
    histograms: dict[Name, KeptHistogram] = ABSENT
    evidence: KeptEvidence = NO_EVIDENCE
    client: KeptResult = ABSENT
    server: KeptResult = ABSENT
    other_runs: Annotated[list[Name], Field(max_length=MAX_ITEMS)] = ABSENT
    worker: Name = ABSENT
    attempt: Ordinal = ABSENT
    watched: Flag = ABSENT
    kept_awake: Flag = ABSENT
    repeat: Annotated[Ordinal, Field(ge=1)] = ABSENT
