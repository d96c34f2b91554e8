"""`sixbench.load` and `sixbench.run`: DataFrames, what a notebook shows, errors, and runs from Python."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import synthetic
from notebooks import EXAMPLES, execute

import sixbench
from sixbench.model.errors import CapabilityError, ExperimentError, SixbenchError, StoreError, UsageError
from sixbench.notebook.frames import table_of
from sixbench.store.packet_log import PACKETS, SCHEMA

pytestmark = pytest.mark.computes


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = synthetic.small().write(tmp_path_factory.mktemp("notebook") / "run")
    key = run.trials[0].key
    packets = pa.table([[0, 1], [64, 64], [5, 6], [9, None], ["received", "lost"]], schema=SCHEMA)
    content = io.BytesIO()
    pq.write_table(packets, content)
    (run.directory / "trials" / key / PACKETS).write_bytes(content.getvalue())
    return run.directory


def test_trials_are_a_frame_with_units_in_the_names_of_columns(directory: Path) -> None:
    trials = sixbench.load(directory).trials
    assert isinstance(trials, pd.DataFrame)
    assert len(trials) == 36
    assert {"key", "path", "status", "goodput_bps", "rtt_p50_ns", "level_message_bytes"} <= set(trials.columns)
    assert str(trials.dtypes["level_message_bytes"]) == "Int64"  # whole also where some workloads have none
    assert trials[trials.status == "ok"].groupby("path").goodput_bps.mean().notna().all()


def test_findings_and_estimates_have_a_row_each(directory: Path) -> None:
    run = sixbench.load(directory)
    assert len(run.findings) == len(run.analysis.findings) > 0
    assert len(run.estimates) == len(run.analysis.estimates) > 0
    first, finding = run.findings.iloc[0], run.analysis.findings[0]
    assert finding.ratio is not None
    assert (first.workload, first.metric, first.unit, first["mark"]) == (
        finding.workload,
        finding.metric,
        finding.unit,
        finding.mark,
    )
    assert first.change_percent == pytest.approx(100 * (finding.ratio - 1))
    by_difference = run.findings[run.findings.ratio.isna()]
    assert len(by_difference)
    assert by_difference.change_percent.isna().all()


def test_whole_numbers_of_json_are_numbers_however_large() -> None:
    rows = [{"theory": 10**18}, {"theory": None}, {"theory": 1.5}]
    for kinds in ({"theory": float}, {}):
        assert table_of(rows, kinds).column("theory").to_pylist() == [1e18, None, 1.5]

    large = [{"theory": 10**21}, {"theory": None}, {"theory": 3}]
    assert table_of(large, {}).column("theory").to_pylist() == [1e21, None, 3.0]


def test_the_same_as_polars(directory: Path) -> None:
    run = sixbench.load(directory, frames="polars")
    for frame in (run.trials, run.findings, run.estimates):
        assert isinstance(frame, pl.DataFrame)
        assert not any(column.dtype == pl.Null for column in frame.select("workload", "combination", "path"))
    assert run.trials.height == 36


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_series_and_packets_of_a_trial(directory: Path, frames: str) -> None:
    run = sixbench.load(directory, frames=frames)  # type: ignore[arg-type]
    keys = [*run.trials["key"]]
    assert [*run.series(keys[0]).columns] == ["source", "t_ns", "quantity", "value"]
    packets = run.packets(keys[0])
    assert [*packets["status"]] == ["received", "lost"]
    assert packets["received_realtime_ns"][0] == 9
    assert "received_realtime_ns" in packets.columns
    with pytest.raises(
        UsageError, match=r"has no packets.parquet: only trials of udp-stream and voip with `packet-log: true`"
    ):
        run.packets(keys[1])
    with pytest.raises(UsageError, match=r"has no trial 'b9'; its keys are like b001-"):
        run.series("b9")


def test_a_run_without_trials_has_frames_without_rows(tmp_path: Path) -> None:
    run = sixbench.load(synthetic.no_trials().write(tmp_path / "run").directory)
    assert len(run.trials) == len(run.findings) == len(run.estimates) == 0
    assert {"workload", "metric", "unit"} <= set(run.findings.columns)
    assert {"key", "path", "status", "elapsed_ns"} <= set(run.trials.columns)
    assert "Nothing was compared" in run._repr_html_()


def test_a_notebook_shows_the_answers(directory: Path) -> None:
    html = sixbench.load(directory)._repr_html_()
    assert "Goodput of TCP bulk transfer" in html
    assert "<strong>" in html
    assert "95 % confidence intervals" in html.replace("\u00a0", " ")
    assert "<script" not in html
    assert "<style" not in html


def test_what_a_notebook_shows_is_escaped(tmp_path: Path) -> None:
    run = synthetic.small(blocks=2)
    hostile = replace(run.manifest.experiment, title="<img src=x onerror=alert(1)>")
    directory = synthetic.replace_run(run, experiment=hostile).write(tmp_path / "run").directory
    assert "<img" not in sixbench.load(directory)._repr_html_()


def test_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not a run directory: it has no manifest\.json"):
        sixbench.load(tmp_path)


def test_a_missing_library_is_an_error_that_says_what_to_install(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CapabilityError, match=r"pip install 'sixbench\[pandas\]', or .*frames='polars'"):
        sixbench.load(directory)
    assert len(sixbench.load(directory, frames="polars").trials) == 36
    with pytest.raises(UsageError, match="frames='arrow': there are 'pandas' and 'polars'"):
        sixbench.load(directory, frames="arrow")  # type: ignore[arg-type]


def test_importing_the_package_imports_nothing_slow() -> None:
    code = (
        "import sys, sixbench; slow = {'pandas', 'polars', 'numpy', 'pyarrow', 'pydantic', 'matplotlib', 'typer'}; "
        "print(sorted(slow & set(sys.modules)), sixbench.SixbenchError.__name__, callable(sixbench.run))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] SixbenchError True\n"


def test_run_is_the_function_whatever_was_imported_before() -> None:
    import sixbench.bench.scheduler

    assert callable(sixbench.run)
    with pytest.raises(ExperimentError):
        sixbench.run({"topology": {}})


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"topology": {"nodes": {"h1": "host"}}}, "experiment.yaml"),
        ("topology: {nodes: {h1: host}}\nworkloads: [nonsense]\n", "nonsense"),
    ],
)
def test_a_wrong_experiment_is_told_before_anything_starts(
    experiment: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sixbench.notebook.running.call", lambda *_: pytest.fail("it was started"))
    with pytest.raises(ExperimentError, match=message):
        sixbench.run(experiment)


def test_what_the_command_cannot_do_is_its_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"is not an empty directory; give another --out"):
        sixbench.run("quickstart", quick=True, out=tmp_path, quiet=True)


def test_the_options_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def call(arguments: list[str], quiet: bool) -> tuple[int, str]:
        seen.append(arguments)
        return 0, ""

    monkeypatch.setattr("sixbench.notebook.running.call", call)
    with pytest.raises(SixbenchError, match="left no run"):
        sixbench.run("quickstart", quick=True, blocks=3, seed=7, set={"title": "a b"}, out=tmp_path / "r", capture=True)
    [arguments] = seen
    assert arguments == [
        *("run", "quickstart", "--out", str(tmp_path / "r"), "--quick", "--blocks", "3", "--seed", "7"),
        *("--set", 'title="a b"', "--capture"),
    ]


@pytest.mark.parametrize("make", [synthetic.small, synthetic.transition])
def test_the_example_that_analyses_a_run(
    make: Callable[..., synthetic.Synthetic], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has a block that is far from the others, which counts for little in what is reported."""
    run = make(blocks=8)
    trials = [
        replace(trial, metrics={name: value / 10 for name, value in trial.metrics.items()})
        if (trial.block, trial.path) == (3, "ipv6")
        else trial
        for trial in run.trials
    ]
    replace(run, trials=trials).write(tmp_path / "runs" / "run")
    shown = execute("analyse-a-run.ipynb", tmp_path, monkeypatch)
    primary = next(
        item for item in sixbench.load(tmp_path / "runs" / "run").analysis.findings if item.headline and not item.is_aa
    )
    assert primary.ratio is not None
    assert f"reported {100 * (primary.ratio - 1):+.2f} % [" in shown


def test_the_column_of_a_finding_is_that_of_its_trials(directory: Path) -> None:
    run = sixbench.load(directory)
    assert set(run.findings.column) | set(run.estimates.column) <= set(run.trials.columns)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.ipynb")))
def test_examples_are_kept_without_outputs(name: str) -> None:
    cells = nbformat.read(EXAMPLES / name, as_version=4).cells
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
