"""The JSON form of a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..model.calibration import Calibration
from ..store import Manifest, machine_name
from .results import OverPath


def calibration_of(manifest: Manifest, over_paths: Sequence[OverPath]) -> Calibration:
    """The part of a calibration that later runs quote."""
    return Calibration(
        machine=machine_name(),
        kernel=manifest.environment.kernel,
        realtime_ns=manifest.started_realtime_ns,
        quick=manifest.quick,
        ranges=tuple(over.summary for over in over_paths if over.summary is not None),
    )


def results_of(over_paths: Sequence[OverPath]) -> list[dict[str, Any]]:
    """The results in detail, without what `ranges` has."""
    return [{name: value for name, value in asdict(over).items() if name != "summary"} for over in over_paths]
