"""Standard output that cannot be written, and names of files that are no UTF-8."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import synthetic
from command_tree import commands
from hostile_commands import stock
from hostile_folders import MONITOR, OTHER, RUN
from ip_packets import ipv6, pcap

from sixbench.cli.main import main
from sixbench.cli.presenting import present
from sixbench.cli.standard_output import guard_standard_streams
from sixbench.notebook import load
from sixbench.store import EventLog, create_new_run, open_run, read_run
from sixbench.ui.events import RecordReader
from sixbench.ui.runs import Runs

Command = Callable[..., Any]

PRINTING = {
    "papers": ["papers"],
    "new": ["new", "--list"],
    "plan": ["plan", "quickstart"],
    "schema": ["schema"],
    "profiles": ["profiles"],
    "runs": ["runs", "{runs}"],
    "report": ["report", "{runs}/" + RUN],
    "verify": ["verify", "{runs}/" + RUN],
    "compare": ["compare", "{runs}/" + RUN, "{runs}/" + OTHER],
    "monitor": ["monitor", "{runs}/" + MONITOR],
    "theory": ["theory"],
    "translate 6in4": [
        *("translate", "6in4", "--local", "192.0.2.1", "--remote", "192.0.2.2"),
        *("--in", "{runs}/in.pcap", "--explain"),
    ],
    "kernels list": ["kernels", "list"],
    "lab list": ["lab", "list", "--json"],
    "--help": ["--help"],
    "--version": ["--version"],
    "run --help": ["run", "--help"],
}
"""Commands that need no network, each with words that make it print."""

BUILDS = {
    *(
        "run",
        "resume",
        "rfc",
        "calibrate",
        "doctor",
        "ui",
        "serve",
        "measure",
        "reach",
        "scheduler",
        "worker",
        "clean",
        "key",
    ),
    *("lab up", "lab exec", "lab capture", "lab down", "kernels add", "kernels remove"),
}
"""Those that build a network, listen, or write a file first. What they print goes the same way."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("printed") / "runs"
    stock(place)
    (place / "in.pcap").write_bytes(pcap([ipv6(bytes(32))]))
    return place


def code_without_output(arguments: list[str], messages: Path, *, closed: bool = False) -> int:
    """The exit code in a process whose standard output refuses what is written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, which the child does not need
        child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT, 0o600), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 1)  # a descriptor that can only be read
            if closed:
                os.close(1)
            guard_standard_streams()
            os._exit(main(arguments))
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_every_command_is_tried_or_builds_something_first() -> None:
    words = {name for name, _ in commands() if not name.startswith("translate ")}
    assert words - BUILDS <= set(PRINTING)


@pytest.mark.parametrize("name", PRINTING)
def test_standard_output_that_cannot_be_written_ends_with_a_sentence(name: str, runs: Path, tmp_path: Path) -> None:
    arguments = [word.format(runs=runs) for word in PRINTING[name]]
    assert code_without_output(arguments, tmp_path / "messages") == 3
    text = (tmp_path / "messages").read_text()
    assert "sixbench: writing to standard output: Bad file descriptor\n" in text
    assert "mistake" not in text
    assert "Traceback" not in text


def test_standard_output_that_is_closed_is_not_taken_by_a_file(runs: Path, tmp_path: Path) -> None:
    assert code_without_output(["papers"], tmp_path / "messages", closed=True) == 3
    out = tmp_path / "report.csv"
    words = ["report", str(runs / RUN), "--format", "csv", "--out", str(out)]
    assert code_without_output(words, tmp_path / "messages", closed=True) == 0
    assert out.read_text().startswith("experiment,run,")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A place whose name is no UTF-8."""
    place = tmp_path / os.fsdecode(b"n\xf6 \xff UTF-8")
    place.mkdir()
    return place


def test_a_run_may_have_a_name_that_is_no_utf_8(odd: Path, sixbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixbench.report.html.drawings", lambda run, analysis: [])  # drawing takes long
    wanted, small = odd / os.fsdecode(b"\xff"), synthetic.small(blocks=1)
    with create_new_run(wanted, small.manifest) as writer, EventLog(odd / "events") as log:
        log.planned(small.manifest.experiment, str(writer.directory), 0)
        for record in small.trials:
            writer.add_trial(record, small.series.get(record.key, {}), {})
        writer.set_state("interrupted", 1)
    assert json.loads((odd / "events").read_text(encoding="utf-8"))["directory"].endswith("\\xff")
    present(wanted, json=True)
    open_run(wanted)[0].close()
    assert read_run(wanted).manifest.run == "\\xff"
    for words in (["runs", odd], ["report", wanted], ["verify", wanted], ["compare", wanted, wanted]):
        for more in ([], ["--json"]):
            done = sixbench(*words, *more)
            assert done.exit in (0, 2), done.stderr  # two runs of one block have nothing to compare
            assert not more or json.loads(done.stdout)
    for form in ("html", "md", "latex", "csv", "json"):
        assert sixbench("report", wanted, "--format", form, "--out", odd / form).exit == 0
        assert (odd / form).read_text(encoding="utf-8")
    shown = Runs(odd)
    [listed] = shown.listed()
    json.dumps(listed).encode()
    with closing(RecordReader(shown, wanted.name)) as reader:
        json.dumps(reader.more(), ensure_ascii=False).encode()
    load(wanted)._repr_html_().encode()


def test_an_output_may_have_a_name_that_is_no_utf_8(odd: Path, sixbench: Command, runs: Path) -> None:
    arguments = [word.format(runs=runs) for word in PRINTING["translate 6in4"]]
    assert sixbench(*arguments, "--out", odd / "out.pcap").exit == 0
    assert sixbench("key", odd / "key").exit == 0
    assert len(os.listdir(odd)) == 2
    of_monitor = ["monitor", odd / "monitor", "--", "run", odd / "x.yaml"]
    for words in (
        of_monitor,
        ["report", odd / "none"],
        ["key", odd / "key"],
        ["run", odd / "x.yaml"],
        ["monitor", odd],
    ):
        done = sixbench(*words)
        assert done.exit == 2, done.stderr
        assert done.stderr.startswith("sixbench: ")
        assert "mistake" not in done.stderr
