"""`sixbench compare`."""

from __future__ import annotations

from pathlib import Path

import typer

from ..model.exit_codes import Exit
from . import completions
from .common import print_json, say_lines, tell_problems


def compare(
    old: Path = typer.Argument(help="A run directory.", autocompletion=completions.run_directories),
    new: Path = typer.Argument(
        help="Another run of the same experiment, later or elsewhere.", autocompletion=completions.run_directories
    ),
    fail_over: str | None = typer.Option(
        None,
        "--fail-over",
        metavar="SHARE",
        help="End with exit code 1 if a metric is worse by more than this, such as 1%.",
    ),
    metric: list[str] = typer.Option(
        [],
        "--metric",
        metavar="NAME",
        help="Apply --fail-over to these metrics only; default: the headline metrics.",
        autocompletion=completions.metrics,
    ),
    everything: bool = typer.Option(False, "--all", help="Show all metrics, not only the headline ones."),
    json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
) -> int:
    """Compare a run with an earlier one: what is better, what is worse."""
    from ..analysis.run_comparison import compare_runs
    from ..model.errors import UsageError
    from ..report.run_comparison import document, render
    from ..store import read_run

    limit = None if fail_over is None else _limit(fail_over)
    _check_metrics(metric)
    old_run, new_run = read_run(old), read_run(new)
    comparison = compare_runs(old_run, new_run, limit, metric)
    if json:
        print_json(document(comparison))
    else:
        say_lines(render(comparison, everything=everything))
    if limit is not None and not comparison.judged and not comparison.fails:
        raise UsageError(
            f"--fail-over {fail_over}: no metric could be tested against it, because {old} or {new} has fewer than "
            "two valid trials of each path or none of the metrics; run more blocks, or name other metrics with --metric"
        )
    damaged = max(tell_problems(old_run), tell_problems(new_run))
    return damaged or (Exit.CHECK_FAILED if comparison.fails else Exit.DONE)


def _limit(text: str) -> float:
    from ..model.errors import UsageError
    from ..model.units import parse_ratio

    try:
        limit = parse_ratio(text)
    except ValueError as error:
        raise UsageError(f"--fail-over {text}: {error}") from error
    if not 0 <= limit < 1:
        raise UsageError(f"--fail-over {text}: give a share from 0% to under 100%")
    return limit


def _check_metrics(names: list[str]) -> None:
    from ..model.errors import UsageError
    from ..model.metric import METRICS
    from ..plan.reader import suggest

    for name in names:
        if name not in METRICS:
            raise UsageError(f"--metric {name}: there is no such metric; {suggest(name, METRICS)}")
        if METRICS[name].better == "neither":
            raise UsageError(f"--metric {name}: neither direction of it is worse, so it cannot have a limit")
