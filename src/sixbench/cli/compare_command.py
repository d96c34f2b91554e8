"""`sixbench compare`."""

from __future__ import annotations

from pathlib import Path

import typer

from .common import print_json


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("compare")(compare)


def compare(
    old: Path = typer.Argument(help="A run directory."),
    new: Path = typer.Argument(help="Another run of the same experiment, later or elsewhere."),
    fail_over: str | None = typer.Option(
        None, "--fail-over", metavar="SHARE", help="End with 1 where a metric is worse by more than this, such as 1%."
    ),
    metric: list[str] = typer.Option(
        [], "--metric", metavar="NAME", help="Hold only these against --fail-over; else the headline metrics."
    ),
    everything: bool = typer.Option(False, "--all", help="Show all metrics, not the headline ones alone."),
    json: bool = typer.Option(False, "--json", help="Everything, for programs."),
) -> int:
    """Compare a run with an earlier one: what differs, what is better, what is worse."""
    from ..analysis.run_comparison import compare_runs
    from ..model.errors import UsageError
    from ..report.run_comparison import document, render
    from ..store import read_run

    limit = None if fail_over is None else _limit(fail_over)
    _check_metrics(metric)
    comparison = compare_runs(read_run(old), read_run(new), limit, metric)
    if json:
        print_json(document(comparison))
    else:
        typer.echo(render(comparison, everything=everything), nl=False)
    if limit is not None and not comparison.judged and not comparison.fails:
        raise UsageError(
            f"--fail-over {fail_over}: no metric could be held against it, for {old} or {new} has fewer than two valid "
            "trials of each, or none of the metrics; run more blocks, or name others with --metric"
        )
    return 1 if comparison.fails else 0


def _limit(text: str) -> float:
    from ..model.errors import UsageError
    from ..model.units import parse_ratio

    try:
        limit = parse_ratio(text)
    except ValueError as error:
        raise UsageError(f"--fail-over {text}: {error}") from error
    if not 0 <= limit < 1:
        raise UsageError(f"--fail-over {text}: a share from 0% to under 100%")
    return limit


def _check_metrics(names: list[str]) -> None:
    from ..model.errors import UsageError
    from ..model.metric import METRICS
    from ..plan.reader import suggest

    for name in names:
        if name not in METRICS:
            raise UsageError(f"--metric {name}: no such metric; {suggest(name, METRICS)}")
        if METRICS[name].better == "neither":
            raise UsageError(f"--metric {name}: neither direction of it is worse, so that no limit can be held")
