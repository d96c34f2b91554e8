"""Paths over which a resolver with DNS64 can be asked."""

from __future__ import annotations

from ...mechanisms.asking import unasked
from ...model.parameter import Params
from ...model.path import Path
from ...model.workloads import dns64
from ...model.workloads.dns64 import SELF_TEST
from .check import WorkloadCheck


class Dns64Check(WorkloadCheck):
    """It needs a resolver, unless the server itself is asked."""

    workload = dns64.KIND.name

    def unfit(self, path: Path, params: Params) -> str | None:
        return None if SELF_TEST.of(params) else unasked(path)
