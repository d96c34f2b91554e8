"""Checks of workloads: a workload that needs more of a path than routes is a file here, and a line in `_CHECKS`."""

from __future__ import annotations

from collections.abc import Mapping

from .bring_up import BringUpCheck
from .check import WorkloadCheck
from .dns64 import Dns64Check
from .frames import FramesCheck

_CHECKS: tuple[WorkloadCheck, ...] = (
    FramesCheck(),
    Dns64Check(),
    BringUpCheck(),
)
CHECKS: Mapping[str, WorkloadCheck] = {check.workload: check for check in _CHECKS if check.workload is not None}
_NO_NEEDS = WorkloadCheck()


def check_of(workload: str) -> WorkloadCheck:
    """The check of a workload, by its name."""
    return CHECKS.get(workload, _NO_NEEDS)
