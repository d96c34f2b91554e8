"""The text formats: golden files of a small run, and what holds for every run. JSON: test_report_json.py.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/unit/test_report_formats.py` writes the golden files anew: read the difference
before committing it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from rich.console import Console
from synthetic_analysis import plain_analysis

from sixbench.model.finding import Analysis, ComparedColumn, ComparedTable, Finding
from sixbench.report import FORMATS, html, markdown, terminal
from sixbench.report import csv as csv_report
from sixbench.report.latex import document as latex
from sixbench.report.sections import PARTS, SECTIONS, ReportSection
from sixbench.report.tables import Column, Table
from sixbench.report.terminal import render as render_terminal
from sixbench.report.terminal_findings import findings_of_workload
from sixbench.store import Run

pytestmark = pytest.mark.computes

GOLDEN = Path(__file__).parents[1] / "golden" / "report"
TEXT_FORMATS = ["terminal", "json", "csv", "md", "latex"]
RUNS = ["small", "one_block", "no_valid_trial", "no_trials", "transition"]

NAMES = {
    "workload", "metric", "unit", "levels", "path", "baseline", "n", "estimate", "baseline_estimate", "ratio",
    "ci_low", "ci_high", "verdict", "theory", "invalid",
}  # fmt: skip
"""Keys of a finding that the design promises."""


def run_of(name: str) -> Run:
    run: Run = getattr(synthetic, name)().in_memory()
    return run


@pytest.mark.parametrize("form", [form for form in TEXT_FORMATS if form != "json"])
def test_report_of_a_small_run_is_as_in_the_golden_file(form: str) -> None:
    run = run_of("small")
    text = FORMATS[form].render(run, plain_analysis(run, paper=True))
    path = GOLDEN / f"small{FORMATS[form].suffix}"
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        path.write_bytes(text.encode())
    assert text.encode() == path.read_bytes()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("form", TEXT_FORMATS)
def test_every_run_has_a_report_and_always_the_same(name: str, form: str) -> None:
    run = run_of(name)
    analysis = plain_analysis(run)
    text = FORMATS[form].render(run, analysis)
    assert text.endswith("\n")
    assert text == FORMATS[form].render(run, analysis)


def test_formats_know_their_names_and_suffixes() -> None:
    assert all(form.name == name and form.suffix.startswith(".") and form.doc for name, form in FORMATS.items())
    assert set(FORMATS) == {*TEXT_FORMATS, "html"}


@pytest.mark.parametrize("form", ["terminal", "md", "latex", "html"])
def test_a_section_more_is_in_every_format_at_its_place(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(title="Crews & ships", columns=[Column(name="ship")], rows=[["Argo <1>"]])
    actual_section = ReportSection(name="ships", part="evidence", tables=lambda _: [table], about="Who sailed.")
    place = [section.name for section in SECTIONS].index("tunnels")
    for renderer in (terminal, markdown, latex, html):
        monkeypatch.setattr(renderer, "SECTIONS", (*SECTIONS[:place], actual_section, *SECTIONS[place:]))
    run = run_of("small")
    text = FORMATS[form].render(run, plain_analysis(run))
    title = {"terminal": "Crews & ships", "md": r"Crews \& ships", "latex": r"{Crews \& ships. "}
    assert text.index("Trials that do not count") < text.index(title.get(form, "Crews &amp; ships"))
    assert "Argo" in text
    assert form != "html" or '<h3 id="ships">' in text


def test_sections_have_a_part_and_a_name_of_their_own() -> None:
    assert {section.part for section in SECTIONS} == set(PARTS)
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)


# --- terminal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_terminal_report_fits_80_columns_and_has_no_escapes(name: str) -> None:
    run = run_of(name)
    text = FORMATS["terminal"].render(run, plain_analysis(run))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_terminal_report_cuts_no_number(width: int) -> None:
    run = run_of("transition")
    text = render_terminal(run, plain_analysis(run), width=width)
    assert "−1.50 to −1.39" in text
    assert len(re.findall(r" undecided +\d", text)) == 14


@pytest.mark.parametrize("width", [64, 72, 80, 120])
def test_terminal_rows_of_many_columns_stand_whole(width: int) -> None:
    """Levels, theory, an A/A comparison and long verdicts leave no room for all columns at 80 characters."""
    console = Console(width=width, file=io.StringIO(), record=True)
    rows = [_wide_finding(path, direction) for path in ("6rd", "464xlat") for direction in ("forward", "reverse")]
    findings_of_workload(console, rows, 0.95)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    for whole in ("direction", "46.55", "45.99", "−12.3 to +10.7", "undecided"):
        assert whole in text, f"{whole} is broken into lines:\n{text}"


def _wide_finding(path: str, direction: str) -> Finding:
    return Finding(
        workload="tcp-stream", metric="goodput", unit="bit/s", levels={"direction": direction}, combination="c0001",
        path=path, baseline="ipv4", n=3, verdict="inconclusive", value=45.995e6, baseline_value=46.549e6,
        estimate=45.995e6, baseline_estimate=46.549e6, ratio=45.995 / 46.549, ci_low=0.8771, ci_high=1.1068,
        noise_low=0.993, noise_high=1.0128, theory=46.2e6, theory_baseline=46.8e6, headline=True, invalid=7,
        blocks_needed=110, blocks_tell=0.05,
    )  # fmt: skip


def test_terminal_report_ends_with_the_path_of_the_full_report() -> None:
    run = run_of("small")
    long = "/a/rather/long/directory/that/goes/beyond/the/eighty/columns/of/the/terminal/report.html"
    text = render_terminal(run, plain_analysis(run), report_path=long)
    assert text.splitlines()[-1] == f"Report: {long}"


def test_terminal_report_says_why_trials_do_not_count() -> None:
    run = run_of("small")
    text = FORMATS["terminal"].render(run, plain_analysis(run))
    assert "36 trials: 34 ok, 1 invalid, 1 failed" in text
    assert "peer-lost" in text
    assert "the tester was the limit" in " ".join(text.split())


def test_terminal_report_has_colours_only_where_asked() -> None:
    run = run_of("small")
    assert "\x1b[" in render_terminal(run, plain_analysis(run), colour=True)


def test_terminal_report_shows_headline_findings_unless_all_are_asked_for() -> None:
    run = run_of("small")
    analysis = plain_analysis(run)
    assert "Retransmitted segments" not in render_terminal(run, analysis)
    assert "Retransmitted segments" in render_terminal(run, analysis, everything=True)


def test_terminal_report_of_very_many_findings_is_short_and_says_what_it_leaves_out() -> None:
    run = synthetic.many_levels(blocks=2).in_memory()
    text = render_terminal(run, plain_analysis(run))
    assert len(text.splitlines()) < 200
    assert re.search(r"\d+ more headline findings: sixbench report", text)


def test_terminal_report_lets_no_control_characters_through() -> None:
    run = synthetic.small()
    hostile = replace(run.manifest.experiment, title="red \x1b[31malert\x07 \u202eesrever")
    text = FORMATS["terminal"].render(
        synthetic.replace_run(run, experiment=hostile).in_memory(), plain_analysis(run.in_memory())
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_trials", "no trials yet"),
        ("no_valid_trial", "None of 84 trials is valid"),
        ("one_block", "only one block"),
    ],
)
def test_reports_say_what_a_run_lacks(name: str, words: str) -> None:
    run = run_of(name)
    for form in ("terminal", "md", "latex"):
        assert words in " ".join(FORMATS[form].render(run, plain_analysis(run)).split())


def test_terminal_report_says_what_tunnels_carried_and_dropped() -> None:
    run = run_of("transition")
    text = FORMATS["terminal"].render(run, plain_analysis(run)).replace("\u00a0", " ")
    assert re.search(r"router-to-router kernel IPv6 in IPv4 +4.92 M +2.46 M +– +120 +–", text)
    assert re.search(r"host-to-host +ebpf +IPv6 in IPv4 +4.92 M +2.46 M +<0.01 % +360 +4\d\d/2\d\d\n", text)
    assert "host-to-host: dropped: ecn-invalid 120; to the slow path: neighbour-unresolved 360" in " ".join(
        text.split()
    )
    assert "Packets dropped by no-mapping are harmless: nodes send them by themselves" in " ".join(text.split())


def test_terminal_report_without_tunnels_says_nothing_of_them() -> None:
    run = run_of("small")
    assert "unnel" not in FORMATS["terminal"].render(run, plain_analysis(run))


# --- JSON and CSV -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_json_report_has_what_the_design_promises(name: str) -> None:
    run = run_of(name)
    analysis = plain_analysis(run)
    document = json.loads(FORMATS["json"].render(run, analysis))
    assert document["schema"] == "sixbench.findings/3"
    assert document["experiment"] == run.manifest.experiment.name
    assert document["run"] == run.manifest.run
    assert len(document["findings"]) == len(analysis.findings)
    assert all(finding.keys() >= NAMES for finding in document["findings"])
    assert document["trials"]["total"] == len(run.trials)


def test_json_report_counts_trials_by_reason() -> None:
    run = run_of("small")
    trials = json.loads(FORMATS["json"].render(run, plain_analysis(run)))["trials"]
    assert (trials["ok"], trials["invalid"], trials["failed"]) == (34, 1, 1)
    assert [(reason["status"], reason["count"], reason["paths"]) for reason in trials["reasons"]] == [
        ("failed", 1, ["ipv4"]),
        ("invalid", 1, ["ipv6"]),
    ]


def test_json_report_says_what_each_path_is_and_what_its_trials_show() -> None:
    run = run_of("transition")
    document = json.loads(FORMATS["json"].render(run, plain_analysis(run)))
    paths = {path["name"]: path for path in document["paths"]}
    assert list(paths) == ["ipv4", "ipv6", "router-to-router", "host-to-host"]
    assert (paths["ipv6"]["baseline"], paths["ipv6"]["engines"], paths["ipv6"]["tunnels"]) == (True, ["kernel"], [])
    tunnel = paths["router-to-router"]
    assert (tunnel["mechanism"], tunnel["nodes"], tunnel["engines"]) == ("6in4", ["r1", "r2"], ["kernel"])
    assert [(link["link"], link["headers"]) for link in tunnel["links"]] == [
        ("h1-r1", ["ipv6"]),
        ("r1-r2", ["ipv4", "ipv6"]),
        ("r2-h2", ["ipv6"]),
    ]
    assert tunnel["tunnels"][0] == {"node": "r1", "device": "6in4-1", "local": "198.18.1.1", "mtu_bytes": [1480]}
    assert tunnel["install_ns"] == [61_000_000, 58_500_000, 90_000_000]
    shown = {evidence["path"]: evidence for evidence in document["evidence"]}["host-to-host"]
    assert (shown["trials"], shown["are_valid"], shown["middle"]) == (60, True, "r1-r2")
    assert shown["tunnels"][0]["drops"]["ecn-invalid"] == {"packets": 60, "bytes": 88_800}
    assert [packet["links"] for packet in shown["packets"]] == [["h1-r1", "r1-r2", "r2-h2"]]


def test_missing_values_are_null_in_json_and_empty_in_csv_and_never_nan() -> None:
    run = run_of("small")
    analysis = plain_analysis(run)
    broken = replace(analysis.findings[0], ratio=float("nan"), ci_low=float("-inf"), ci_high=None, estimate=None)
    analysis = replace(analysis, findings=[broken])

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} is not JSON")

    [finding] = json.loads(FORMATS["json"].render(run, analysis), parse_constant=refuse)["findings"]
    assert [finding[key] for key in ("ratio", "ci_low", "ci_high", "estimate")] == [None] * 4
    [row] = csv.DictReader(io.StringIO(FORMATS["csv"].render(run, analysis), newline=""))
    assert [row[key] for key in ("ratio", "ci_low", "ci_high", "estimate")] == [""] * 4


def test_csv_report_reads_back_with_one_row_a_finding() -> None:
    run = run_of("small")
    analysis = plain_analysis(run)
    text = FORMATS["csv"].render(run, analysis)
    assert text.count("\r\n") == text.count("\n") == len(analysis.findings) + 1
    dict_readers = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, finding in zip(dict_readers, analysis.findings, strict=True):
        assert (row["path"], row["metric"], row["verdict"]) == (finding.path, finding.metric, finding.verdict)
        assert row["level_message_bytes"] == str(finding.levels.get("message_bytes", ""))
        assert finding.ratio is None or float(row["ratio"]) == finding.ratio


def test_csv_report_quotes_what_needs_it() -> None:
    run = synthetic.small()
    odd = 'a "quoted", name\nof two lines'
    renamed = synthetic.replace_run(run, run=odd).in_memory()
    rows = list(
        csv.DictReader(io.StringIO(FORMATS["csv"].render(renamed, plain_analysis(run.in_memory())), newline=""))
    )
    assert all(row["run"] == odd for row in rows)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝"])
def test_no_text_of_a_stranger_is_a_formula_of_a_spreadsheet(start: str) -> None:
    name = f'{start}HYPERLINK("http://example.net";"x")'
    run = synthetic.replace_run(synthetic.small(), run=name).in_memory()
    analysis = plain_analysis(run)
    named = [replace(finding, path=name, levels={name: name, "rate": -5}, n=-1) for finding in analysis.findings]
    column = ComparedColumn(heading=name, unit="", role="result", is_compared=True)
    table = ComparedTable(name="1", title="", note="", columns=[column], rows=[[-3.0]], ours=[[-2.5]])
    text = FORMATS["csv"].render(run, replace(analysis, findings=named)) + csv_report.render_paper_table(table)
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert f"'{name}" in cells
    assert [cell for cell in cells if cell.startswith(start) and not _is_number(cell)] == []
    assert {"-5", "-3", "-1", "-2.5"} <= set(cells)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- Markdown and LaTeX -------------------------------------------------------------------------------------------


def hostile_analysis() -> tuple[Run, Analysis]:
    """Names that mean something in every format."""
    name = r"a|b_c*`d`<e> & 50% \frac{x}{y} #1 ~^ $z$ [f](g) 中"
    run = synthetic.small()
    finding = Finding(
        workload="tcp-stream",
        metric="goodput",
        unit="bit/s",
        levels={"congestion": name},
        combination="c0001",
        path=name,
        baseline="ipv4",
        n=3,
        verdict="higher",
        estimate=2e6,
        baseline_estimate=1e6,
        ratio=2.0,
        ci_low=1.9,
        ci_high=2.1,
        headline=True,
    )
    experiment = replace(run.manifest.experiment, title=name, description=name, text=name)
    return synthetic.replace_run(run, experiment=experiment).in_memory(), Analysis(estimates=[], findings=[finding])


@pytest.mark.parametrize("hostile", [False, True])
def test_markdown_tables_have_equally_many_cells_in_every_row(hostile: bool) -> None:
    run = run_of("transition")
    run, analysis = hostile_analysis() if hostile else (run, plain_analysis(run, paper=True))
    for block in FORMATS["md"].render(run, analysis).split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("| "):
            cells = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
            assert len(cells) == 1
            assert re.fullmatch(r"\|( -{3}:? \|)+", lines[1])


def test_markdown_report_has_no_markup_of_the_experiment() -> None:
    run, analysis = hostile_analysis()
    text = FORMATS["md"].render(run, analysis)
    assert not re.search(r"(?<!\\)<e", text)
    assert not re.search(r"(?<!\\)\[f(?<!\\)\]\(g\)", text)


@pytest.mark.parametrize("hostile", [False, True])
def test_latex_report_is_balanced_and_escaped(hostile: bool) -> None:
    run = run_of("transition")
    run, analysis = hostile_analysis() if hostile else (run, plain_analysis(run, paper=True))
    text = FORMATS["latex"].render(run, analysis)
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    plain = re.sub(r"\\[{}\\$&%#_]", "", body)
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"[#_^]|%(?!\n)", plain)
    maths = {"-", r"\pm", r"\mu", r"\neq", r"\approx", r"\uparrow", r"\downarrow", r"\dagger"}
    assert {math.strip("$") for math in re.findall(r"\$[^$]*\$", plain)} <= maths
    for environment in ("table", "table*", "tabular", "tabular*"):
        assert body.count(rf"\begin{{{environment}}}") == body.count(rf"\end{{{environment}}}")
    assert body.count(r"\begin{tabular") >= 1
    assert text.isascii() or all(ord(character) < 0x180 for character in body)


@pytest.mark.parametrize("form", ["md", "latex"])
def test_reports_name_the_engine_of_every_path_and_what_its_tunnels_did(form: str) -> None:
    run = run_of("transition")
    lines = FORMATS[form].render(run, plain_analysis(run)).replace("\\_", "_").splitlines()
    rows = [re.split(r" (?:\||&) ", line.strip("| \\").replace("\\-", "-")) for line in lines]
    assert any(row[:3] == ["ipv4", "native4", "kernel"] for row in rows)
    assert any(row[:3] == ["host-to-host", "6over4", "ebpf"] for row in rows)
    ends = [row for row in rows if row[:3] == ["host-to-host", "ebpf", "h1 6over4-1"]]
    assert len(ends) == 1
    assert any("ecn-invalid 60" in cell for cell in ends[0])


def test_latex_rows_have_a_cell_for_every_column() -> None:
    run = run_of("transition")
    text = FORMATS["latex"].render(run, plain_analysis(run, paper=True))
    tables = re.findall(r"\\begin\{tabular\*?\}(.*?)\n(.*?)\\end\{tabular", text, re.DOTALL)
    assert len(tables) > 5
    for columns, rows in tables:
        kinds = re.sub(r"\{\\linewidth\}|@\{(?:[^{}]|\{[^{}]*\})*\}|>\{[^}]*\}", "", columns)
        count = len(re.sub(r"p\{[^}]*\}", "p", kinds).strip("{}"))
        for line in rows.splitlines():
            if line.strip().endswith(r"\\") and "multicolumn" not in line:
                assert len(re.findall(r"(?<!\\)&", line)) == count - 1
