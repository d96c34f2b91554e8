"""Workloads as they are performed, which needs agents or a path's network.

Most are flows between client and server, and need nothing here. One that is performed otherwise is a file here, and a
line in `_PERFORMERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model.workload import WorkloadKind
from .bring_up import BringUpPerformer
from .dns64 import Dns64Performer
from .frames import FramesPerformer
from .happy_eyeballs import HappyEyeballsPerformer
from .performer import Performer

_PERFORMERS: tuple[Performer, ...] = (
    FramesPerformer(),
    Dns64Performer(),
    BringUpPerformer(),
    HappyEyeballsPerformer(),
)
_BY_WORKLOAD: Mapping[str | None, Performer] = {performer.workload: performer for performer in _PERFORMERS}
_FLOWS = Performer()


def performer_of(kind: WorkloadKind) -> Performer:
    """The performer of a workload: its own, or that of flows."""
    return _BY_WORKLOAD.get(kind.name, _FLOWS)
