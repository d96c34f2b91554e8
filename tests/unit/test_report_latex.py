"""The LaTeX of a report compiles in two columns, where nothing stands over an edge; and what its floats say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from paper_runs import EXPERIMENTS, experiment, imagined
from synthetic_analysis import plain_analysis
from typer.testing import CliRunner

from sixbench.analysis import analyse
from sixbench.cli.main import app
from sixbench.model.finding import Analysis
from sixbench.model.units import parse_length
from sixbench.plan.paper_file import paper_beside
from sixbench.report import latex_for_paper, write_figures
from sixbench.report.figures import drawings, save
from sixbench.report.latex import render
from sixbench.report.latex.floats import Float, PaperRoom, RowBlock, table
from sixbench.report.latex.text import escape
from sixbench.report.tables import Column
from sixbench.store import Run

pytestmark = pytest.mark.computes

COLUMN_IN = 3.33
ARTICLE = r"\documentclass[twocolumn]{article}"
PAPER = ARTICLE + r"\usepackage[textwidth=6.99in,columnsep=0.33in,textheight=9in]{geometry}"
PREAMBLE = "array, booktabs, graphicx"

needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None and not os.environ.get("SIXBENCH_EXPECT_LAB"),
    reason="pdflatex is missing; install it with: apt-get install texlive-latex-recommended",
)


def shipped(name: str) -> tuple[Run, Analysis]:
    run = imagined(experiment(name, quick=True))
    return run, analyse(run, paper_beside(EXPERIMENTS / name / "experiment.yaml"))


def compiled(folder: Path, text: str, preamble: str) -> str:
    """The log of the second run of pdfLaTeX over a paper with all these floats, each of which it refers to."""
    (folder / "report.tex").write_text(text)
    labels = re.findall(r"\\label\{(.*?)\}", text)
    references = ", ".join(rf"\ref{{{label}}}" for label in labels)
    (folder / "paper.tex").write_text(
        f"{preamble}\n\\usepackage{{{PREAMBLE}}}\n\\begin{{document}}\n"
        f"\\begin{{sloppypar}}See {references}.\\end{{sloppypar}}\n\\input{{report}}\n\\end{{document}}\n"
    )
    for _ in range(2):
        subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=300,
        )
    # TeX breaks the lines of its log at 79 characters.
    return (folder / "paper.log").read_text(errors="replace")


def size_pt(svg: str) -> tuple[float, float]:
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2]
    return float(width), float(height)


def assert_fits(log: str) -> None:
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert [points for points in wide if points > 0.5] == []
    assert "Float too large" not in log
    assert "undefined" not in log
    assert "multiply defined" not in log
    assert "Too many unprocessed floats" not in log


@needs_latex
@pytest.mark.parametrize("width_in", [None, COLUMN_IN])
@pytest.mark.parametrize("name", sorted(path.parent.name for path in EXPERIMENTS.glob("*/experiment.yaml")))
def test_every_shipped_experiment_fits_two_columns(name: str, width_in: float | None, tmp_path: Path) -> None:
    run, analysis = shipped(name)
    drawn = drawings(run, analysis)
    picture = save.render(drawn[0].draw(COLUMN_IN), "pdf", titled=False)
    (tmp_path / "figures").mkdir()
    for drawing in drawn:  # the network for all of them, since drawing each takes long
        (tmp_path / "figures" / f"{drawing.name}.pdf").write_bytes(picture)
    text = latex_for_paper(run, analysis, figures="figures", width_in=width_in)
    assert_fits(compiled(tmp_path, text, ARTICLE if width_in is None else PAPER))


@needs_latex
@pytest.mark.parametrize("name", ["standard", "many_levels", "transition", "one_block", "no_valid_trial", "no_trials"])
def test_any_run_fits_two_columns(name: str, tmp_path: Path) -> None:
    run: Run = getattr(synthetic, name)().in_memory()
    assert_fits(compiled(tmp_path, render(run, plain_analysis(run, paper=True)), ARTICLE))


@needs_latex
def test_any_name_compiles(tmp_path: Path) -> None:
    run = synthetic.small(blocks=2).in_memory()
    analysis = plain_analysis(run)
    hostile = [replace(finding, path=r"a_b%$#{}\input~^&[<é中>]", baseline='"`|') for finding in analysis.findings]
    assert_fits(compiled(tmp_path, render(run, replace(analysis, findings=hostile)), ARTICLE))


@needs_latex
def test_figures_are_included_at_the_size_they_were_drawn_for(tmp_path: Path) -> None:
    run = synthetic.small(blocks=2).in_memory()
    analysis = plain_analysis(run)
    write_figures(run, analysis, tmp_path / "figures", COLUMN_IN)
    text = latex_for_paper(run, analysis, figures="figures", width_in=COLUMN_IN)
    log = compiled(tmp_path, text, PAPER)
    assert_fits(log)
    sizes = [(float(w), float(h)) for w, h in re.findall(r"Requested size: ([\d.]+)pt x ([\d.]+)pt", log)]
    assert len(sizes) == text.count(r"\includegraphics") >= 3
    tallest = max(height for _, height in sizes)  # what is too tall for a page is as tall as there is room
    for width, height in sizes:
        assert width == pytest.approx(COLUMN_IN * 72.27, abs=1) or height == pytest.approx(tallest, abs=1)


def test_a_workload_without_a_sweep_shows_its_changes_since_its_values_are_in_the_table() -> None:
    run = synthetic.standard(blocks=3).in_memory()
    text = latex_for_paper(run, plain_analysis(run), figures="figures", width_in=COLUMN_IN)
    included = re.findall(r"\\includegraphics\[.*?\]\{figures/(.*?)\}", text)
    assert {"ping-changes", "udp-stream-changes", "tcp-stream-goodput"} <= set(included)
    assert not any("-values" in name for name in included)
    assert "%   figures/ping-values" in text


def test_one_table_a_workload() -> None:
    run = synthetic.standard(blocks=3).in_memory()
    text = render(run, plain_analysis(run))
    workloads = {combination.workload.kind for combination in run.manifest.experiment.combinations}
    assert len(workloads) > 3
    for workload in workloads:
        assert len(re.findall(rf"\\label\{{tab:[a-z0-9-]*-{workload}\}}", text)) == 1


def test_captions_tell_n_interval_and_run() -> None:
    run = synthetic.small(blocks=4).in_memory()
    manifest = replace(run.manifest, run="autumn", quick=True)
    text = render(replace(run, manifest=manifest), plain_analysis(run))
    caption = next(line for line in text.splitlines() if r"\caption" in line and "(n = 3 to 4 pairs)" in line)
    assert r"95~\% confidence interval" in caption
    seed = manifest.experiment.seed
    assert f"Run autumn, shortened by --quick: experiment {manifest.experiment.name}, seed {seed}, 20" in caption
    assert "sixbench" in caption


def test_long_tables_are_split_into_floats_that_each_have_their_heading() -> None:
    run = synthetic.many_levels(blocks=2).in_memory()
    text = render(run, plain_analysis(run))
    assert "longtable" not in text
    parts = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", text, re.DOTALL)
    continued = [part for part in parts if ", continued (2 of" in part and "-tcp-" in part]
    assert continued
    assert all(r"\midrule" + "\n    \\multicolumn" in part for part in continued)


def test_without_figures_a_comment_says_how_to_have_them() -> None:
    run = synthetic.small(blocks=2).in_memory()
    text = render(run, plain_analysis(run))
    assert "includegraphics" not in text
    assert "% No figures: sixbench report DIR --format latex" in text


@pytest.mark.parametrize("name", ["ping-changes", "network"])
def test_figures_for_a_paper_are_as_wide_as_asked_and_leave_the_title_to_the_caption(name: str) -> None:
    run = synthetic.small(blocks=2).in_memory()
    [drawing] = [drawing for drawing in drawings(run, plain_analysis(run)) if drawing.name == name]
    picture = drawing.draw(COLUMN_IN)
    titled, untitled = (save.render(picture, "svg", titled=titled).decode() for titled in (True, False))
    (width_pt, height_pt), (same_pt, less_pt) = map(size_pt, (titled, untitled))
    assert width_pt == same_pt == pytest.approx(72 * COLUMN_IN, abs=0.5)
    assert 0.8 * height_pt < less_pt < height_pt - 10


def test_text_has_no_meaning_for_latex_and_letters_that_fonts_lack_are_codes() -> None:
    assert escape("50 % of $x_1$ & {a}\\b~^#") == (
        r"50 \% of \$x\_1\$ \& \{a\}\textbackslash{}b\textasciitilde{}\textasciicircum{}\#"
    )
    assert escape("é ß ł") == "é ß ł"
    assert escape("中 ę ð") == r"\texttt{U+4E2D} \texttt{U+0119} \texttt{U+00F0}"


@pytest.mark.parametrize(
    ("text", "inches"),
    [("3.33in", 3.33), ("84.5mm", 84.5 / 25.4), ("8.5 cm", 8.5 / 2.54), ("240.94pt", 240.94 / 72.27)],
)
def test_lengths_on_paper(text: str, inches: float) -> None:
    assert parse_length(text) == pytest.approx(inches)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--figures", "f", "--width", "3.33"], '--width 3.33: "3.33" has no unit; a length takes one of in, mm'),
        (["--figures", "f", "--width", "3mm"], "--width 3mm: figures can be 2.5in to 20in wide"),
        (["--width", "3.33in"], "say where to write them with --figures DIR"),
    ],
)
def test_a_width_that_cannot_be_is_an_error_that_says_so(arguments: list[str], message: str, tmp_path: Path) -> None:
    synthetic.small(blocks=2).write(tmp_path / "run")
    result = CliRunner().invoke(app, ["report", str(tmp_path / "run"), *arguments])
    assert result.exit_code != 0
    assert message in f"{result.output}{result.exception}"


@pytest.mark.parametrize("rows", [*range(36, 46), 79, 80, 81, 120])
def test_a_long_table_leaves_no_row_alone(rows: int) -> None:
    float_ = Float(
        label="long",
        title="Long",
        caption="Long.",
        columns=[Column(name="a")],
        blocks=[RowBlock(heading="One", rows=[[str(number)] for number in range(rows)])],
    )
    parts = [part.count(r" \\") - 2 for part in table(float_, PaperRoom()).split(r"\begin{table")[1:]]
    assert sum(parts) == rows
    assert min(parts) >= max(parts) - 2
