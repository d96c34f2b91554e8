"""Paths over which a CLAT can be brought up."""

from __future__ import annotations

from ...mechanisms.discovering import needs_discovery
from ...model.parameter import Params
from ...model.path import Path
from ...model.workloads import bring_up
from .check import WorkloadCheck


class BringUpCheck(WorkloadCheck):
    """It needs a CLAT that learns its prefix."""

    workload = bring_up.KIND.name

    def unfit(self, path: Path, params: Params) -> str | None:
        return needs_discovery(path)
