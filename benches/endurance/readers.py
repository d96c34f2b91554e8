"""Readers of a run directory: every command that gets one, as far as it goes without running anything."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sixbench.analysis import analyse
from sixbench.analysis.run_comparison import compare_runs
from sixbench.analysis.stopping import rules_met
from sixbench.cli import runs_command
from sixbench.cli.main import main
from sixbench.model.errors import StoreError, UsageError
from sixbench.notebook import load
from sixbench.plan.loading import load_paper
from sixbench.plan.schedule import block_order
from sixbench.report import FORMATS, html, write_figures
from sixbench.report.routes import route_of
from sixbench.report.run_comparison import document, render
from sixbench.store import SERIES, TRIAL, Run, open_run, read_run, verify_run, write_derived
from sixbench.ui import tables, trial
from sixbench.ui.events import RecordReader, rest_of
from sixbench.ui.runs import Runs, described

Reader = Callable[[Path, Run, Path, random.Random], None]
"""A reader of a directory and of the run in it. It writes in the folder that it gets."""


def read(directory: Path) -> Run:
    """Reads and verifies it."""
    run = read_run(directory)
    verification = verify_run(run)
    for problem in (*run.problems, *verification):
        problem.encode()
        assert problem.isprintable(), problem
    return run


def _format(name: str) -> Reader:
    def render_it(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
        text = FORMATS[name].render(run, analyse(run, load_paper(run.manifest.paper)))
        (out / "report").write_text(text, encoding="utf-8")
        assert not set(_CONTROLS) & set(text), f"control characters in {name}"
        if name == "json":
            json.loads(text, parse_constant=_refuse)

    return render_it


_CONTROLS = [chr(code) for code in range(32) if chr(code) not in "\r\n\t"] + ["\x7f"]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in JSON")


def _page(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    """The page without figures."""
    kept = html.drawings
    html.drawings = lambda run, analysis: []  # type: ignore[assignment]
    try:
        text = FORMATS["html"].render(run, analyse(run, load_paper(run.manifest.paper)))
    finally:
        html.drawings = kept
    assert "<script>alert" not in text
    (out / "report.html").write_text(text, encoding="utf-8")


def _figures(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    write_figures(run, analyse(run, load_paper(run.manifest.paper)), out / "figures", None)


def _one_figure(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    from sixbench.report.figures import drawings, style

    actual_drawings = drawings(run, analyse(run, load_paper(run.manifest.paper)))
    if actual_drawings:
        import matplotlib.pyplot as plt

        dice.choice(actual_drawings).draw(style.WIDTH_IN)
        plt.close("all")


def _compare(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    other = replace(run, trials=run.trials[::2]) if dice.random() < 0.3 else run
    for pair in ((run, other), (other, run)):
        compared = compare_runs(*pair, dice.choice((None, 0.01)), [])
        render(compared, everything=True).encode()
        json.dumps(document(compared), allow_nan=False).encode()


def _runs(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
        runs_command.runs(directory, json=dice.random() < 0.5)


def _load(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    loaded = load(directory)
    loaded._repr_html_().encode()
    repr(loaded).encode()
    for frame in (loaded.trials, loaded.findings, loaded.estimates):
        len(frame)


def _files(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    """Series and packets of trials."""
    loaded = load(directory)
    for record in run.trials[:3]:
        for read_file in (loaded.series, loaded.packets):
            with contextlib.suppress(StoreError, UsageError):
                len(read_file(record.key))


def _ui(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    """Reads everything that the page of `sixbench ui` asks for."""
    runs, name = Runs(directory), directory.name
    collected = [runs.listed(), rest_of(runs, name)]
    kept = runs.kept(name)
    briefs = runs.briefs(name)
    while briefs.read_more():
        pass
    collected += [described(name, kept, []), trial.trials(kept.manifest.experiment, briefs.events)]
    collected += [RecordReader(runs, name).more()]
    if kept.trials:
        key = dice.choice(kept.trials).key
        collected.append(trial.trial(kept, key))
        for file in (TRIAL, SERIES):
            with contextlib.suppress(StoreError):
                trial.file(kept, key, file)
    with contextlib.suppress(UsageError):
        collected.append(tables.text(kept, dice.choice(tables.FORMS)))
    json.dumps(collected, allow_nan=False).encode()


def _derived(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    write_derived(run, {"findings.json": FORMATS["json"].render(run, analyse(run, load_paper(run.manifest.paper)))})


def _resume(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
    """As far as `resume` goes before it starts an agent, and what it plans then."""
    writer, before = open_run(directory)
    experiment = writer.manifest.experiment
    try:
        writer.save_manifest(state="running")
        for block in range(1, min(experiment.blocks.maximum, 3) + 1):
            list(itertools.islice(block_order(experiment, block), 100))
        for combination in experiment.combinations[:3]:
            rules_met(experiment, combination, before.trials)
        if experiment.topologies:
            for combination, path in itertools.product(experiment.combinations[:2], experiment.paths):
                route_of(path, experiment.topologies[combination.topology_of(path.name)], experiment.between)
    finally:
        writer.close()
    assert read_run(directory).problems == ()


def _command(*words: str) -> Reader:
    def run_it(directory: Path, run: Run, out: Path, dice: random.Random) -> None:
        arguments = [
            str(directory) if word == "DIR" else str(out / "file") if word == "OUT" else word for word in words
        ]
        text = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(output):
            code = main(arguments)
        assert code in (0, 1, 2, 3), f"exit {code}: {output.buffer.getvalue().decode()}"  # type: ignore[attr-defined]

    return run_it


READERS: Mapping[str, tuple[float, Reader]] = {
    "terminal": (1, _format("terminal")),
    "json": (6, _format("json")),
    "csv": (4, _format("csv")),
    "md": (6, _format("md")),
    "latex": (5, _format("latex")),
    "page": (0.6, _page),
    "compare": (2, _compare),
    "runs": (5, _runs),
    "load": (1, _load),
    "files": (2, _files),
    "derived": (1, _derived),
    "resume": (5, _resume),
    "ui": (1, _ui),
    "one figure": (0.25, _one_figure),
    "verify DIR": (1, _command("verify", "DIR", "--json")),
    "report DIR": (0.3, _command("report", "DIR", "--out", "OUT")),
    "runs DIR": (0.3, _command("runs", "DIR")),
    "compare DIR DIR": (0.2, _command("compare", "DIR", "DIR")),
    "all figures": (0.002, _figures),
}
"""Readers by name, each with how often it is chosen. Figures are slow."""
