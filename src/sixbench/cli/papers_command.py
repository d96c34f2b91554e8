"""`sixbench papers`."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from ..model.aligned import aligned
from ..plan.changes import ExperimentChanges
from ..plan.loading import load_experiment, load_paper
from . import completions
from .common import print_json, say, say_lines
from .options import JSON
from .plan_text import time_words, trials_words
from .tables import print_table

if TYPE_CHECKING:
    from ..bench.estimate import RunEstimate
    from ..model.experiment import Experiment
    from ..model.paper import Claim, Paper, PublishedTable


def papers(
    name: str | None = typer.Argument(
        None, help="The paper to show; default: a list of all.", autocompletion=completions.papers
    ),
    json: bool = JSON,
) -> None:
    """List the papers that you can reproduce, or show one.

    For one paper it shows the claims, the published numbers, and how long a run takes.
    """
    from dataclasses import asdict

    from ..model.errors import UsageError
    from ..plan.shipped import shipped_names

    known = {shipped: paper for shipped in shipped_names() if (paper := load_paper(shipped)) is not None}
    if name is not None and name not in known:
        raise UsageError(f'there is no paper "{name}"; there are {", ".join(known)}')
    shown = known if name is None else {name: known[name]}
    if json:
        described = [
            asdict(paper)
            | {"runs": [{"command": run.command, "estimate": asdict(run.estimated)} for run in runs_of(key)]}
            for key, paper in shown.items()
        ]
        print_json({"schema": "sixbench.papers/1", "papers": described})
    elif name is None:
        _print_list(known)
        others = [shipped for shipped in shipped_names() if shipped not in known]
        say(f"Other experiments that are shipped: {', '.join(others)}")
    else:
        _print_paper(known[name], runs_of(name))


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """A way to run a paper's experiment: the command, and how many trials and how much time it takes."""

    command: str
    experiment: Experiment
    estimated: RunEstimate


def runs_of(name: str) -> list[PaperRun]:
    """The quick run of a paper and the full one."""
    from ..bench.estimate import estimate

    runs = []
    for option, quick in ((" --quick", True), ("", False)):
        experiment = load_experiment(name, ExperimentChanges(quick=quick))
        command = f"sixbench run {name}{option}"
        runs.append(PaperRun(command=command, experiment=experiment, estimated=estimate(experiment)))
    return runs


def _print_list(known: dict[str, Paper]) -> None:
    for paper in known.values():
        year = f" ({paper.year})" if paper.year else ""
        say(f"{paper.name}")
        say_lines(_indented(f"{', '.join(paper.authors)}{year}: {paper.title}"))
        counts = f"{_numbers(paper)} published numbers, {len(paper.claims)} claims"
        say_lines(_indented(f"{counts}; run it with: sixbench run {paper.name}"))
        say("")


def _print_paper(paper: Paper, runs: list[PaperRun]) -> None:
    year = f", {paper.year}" if paper.year else ""
    say_lines(f"{paper.title}\n{', '.join(paper.authors)}. {paper.published}{year}\n\n")
    say_lines(textwrap.fill(paper.doc, 100) + "\n\n")
    say("Estimated duration")
    durations = [
        (run.command, f"{trials_words(run.experiment)}, {time_words(run.experiment, run.estimated)}") for run in runs
    ]
    say_lines(aligned(durations, ["left", "left"]))
    say_lines("\nClaims, by the names that documents and reports use")
    for claim in paper.claims:
        say_lines(_indented(f'{claim.name}: "{claim.text}" ({_place(claim)})'))
    say_lines("\nPublished numbers")
    for value in paper.values:
        system = f", {paper.systems.get(value.system, value.system)}" if value.system else ""
        number = value.printed or f"{value.value:g} {value.unit}"
        say_lines(_indented(f"{value.source}: {value.what}{system}: {number}"))
    for table in paper.tables:
        if table.columns:
            _print_table(table)
    remarks = (("Interpretation here", paper.notes), ("Differences of this experiment", paper.deviations))
    for title, notes in remarks:
        if notes:
            say_lines(f"\n{title}")
            for note in notes:
                say_lines(_indented(note))


def _numbers(paper: Paper) -> int:
    """Number of the paper's values that are results: values that only identify a table's row do not count."""
    cells = sum(
        cell is not None and column.level is None and not column.is_block
        for table in paper.tables
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    )
    return len(paper.values) + cells


def _print_table(table: PublishedTable) -> None:
    """Prints a table as the paper has it. Its headings are numbered, since they are longer than the numbers."""
    say_lines(f"\n{table.name}: {table.title}")
    if table.note:
        say_lines(_indented(table.note))
    for number, column in enumerate(table.columns, start=1):
        unit = f", {column.unit}" if column.unit and column.unit not in column.heading else ""
        say(f"  [{number}] {column.heading}{unit}")
    heads = [f"[{number}]" for number in range(1, len(table.columns) + 1)]
    body = [["" if cell is None else f"{cell:.10g}" for cell in row.cells] for row in table.rows]
    print_table(heads, body, left=0, indent=2)


def _place(claim: Claim) -> str:
    return claim.source if claim.page is None else f"{claim.source}, page {claim.page}"


def _indented(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, initial_indent="  ", subsequent_indent="    ")
