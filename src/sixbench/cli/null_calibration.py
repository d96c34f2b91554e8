"""`sixbench calibrate --null`: comparisons where it is known whether there is a difference."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.exit_codes import Exit
from ..model.quoting import text_of
from ..plan.loading import default_directory
from .bugs import keeping_trials
from .common import note, say_document, say_lines
from .progress import ProgressDisplay
from .run_requests import RunOutput
from .running import agent_hub, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..calibration.null.design import PlannedComparison
    from ..store import Run

NAME = "calibrate-null"
RESULT, PAGE = "null.json", "report.html"


@dataclass(frozen=True, kw_only=True)
class NullCalibrationRequest:
    """A calibration by comparisons.

    Attributes:
        quick: whether fewer comparisons are made.
        comparisons: their number; None: as many as the design has.
        out: its directory; None: a new one in `runs`.
        wait: whether it begins only when no other run measures on this machine.
        output: its `events` and `report` have no meaning here.
    """

    out: Path | None
    quick: bool
    comparisons: int | None
    wait: bool
    output: RunOutput


def calibrate_null(request: NullCalibrationRequest) -> int:
    """Makes the comparisons, judges them, writes and prints the result. The exit code is 1 if there are more false
    differences, or fewer true ones found, than chance explains."""
    from ..bench.other_runs import measuring
    from ..bench.probing import probe_machine
    from ..calibration.null.design import COMPARISONS, QUICK_COMPARISONS, plan_comparisons
    from ..calibration.null.measure import measure
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import Interrupted, UsageError
    from ..store import holds_run, new_directory

    out, output = request.out, request.output
    directory = out or default_directory(NAME)
    if holds_run(directory):
        raise UsageError(f"{directory} holds another run; give another --out")
    planned = plan_comparisons(request.comparisons or (QUICK_COMPARISONS if request.quick else COMPARISONS))
    enter_namespace_if_needed(sys.argv[1:])
    with (
        agent_hub() as hub,
        measuring(NAME, wait=request.wait, report=tell) as presence,
        ProgressDisplay(output.quiet) as progress,
    ):
        _, environment = probe_machine(hub, planned[0].experiment)
        directory = new_directory(directory) if out is None else directory
        try:
            with keeping_trials(directory, f"sixbench calibrate --null --out {directory}"):
                runs = measure(
                    planned, directory, hub, environment, progress, ["sixbench", *map(text_of, sys.argv[1:])], presence
                )
        except Interrupted as stop:
            note(f"sixbench: {stop}")
            return stop.exit_code
    return _present(planned, runs, directory, as_json=output.as_json)


def _present(planned: Sequence[PlannedComparison], runs: Sequence[Run], directory: Path, *, as_json: bool) -> int:
    from ..calibration.null import document, page, table
    from ..calibration.null.judge import judge
    from ..store import keep_false_alarms, machine_name, write_into

    result = judge(planned, runs)
    text = json.dumps(document.to_json(result), indent=1, allow_nan=False, ensure_ascii=False)
    write_into(directory, {RESULT: text, PAGE: page.html(result, runs[0])})
    say_document(text) if as_json else say_lines(page.text(result))
    note(f"report: {directory / PAGE}")
    kernel = runs[0].manifest.environment.kernel
    kept = keep_false_alarms(document.false_alarms(result, runs), machine_name(), kernel)
    note(f"kept for later runs: {kept}")
    return Exit.CHECK_FAILED if table.is_alarming(result) else Exit.DONE
