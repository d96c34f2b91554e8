"""Names that strangers chose steer no terminal: every command, with such names in all that it is given and reads."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import synthetic
from command_tree import commands

from sixbench.cli import common
from sixbench.guest import programs
from sixbench.lab import registry
from sixbench.lab.registry import LabRecord, process
from sixbench.model.quoting import printable_coloured
from sixbench.store import MonitorWriter

pytestmark = pytest.mark.computes

CLI = Path(common.__file__).parent
EVIL = "owned\x1b]0;title\x07\x1b[2J\u202e\x9b31m\nsixbench: all is well\u2028\udcff"
"""A name: it has no slash."""
EXPERIMENT = """
topology:
  nodes: {h1: host, h2: host}
  links: [{endpoints: [h1, h2]}]
between: [h1, h2]
paths: [native4, native6]
workloads: [{EVIL: {count: 1}}]
"""
WITHOUT_NAMES = {"schema", "theory", "clean"}
"""Commands that are given nothing of a stranger's to print."""


class World:
    """Files with hostile names and contents."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / EVIL
        self.folder.mkdir()
        self.run, self.other = (str(synthetic.small(blocks=2).write(self.folder / name).directory) for name in "ab")
        _tamper(Path(self.run) / "manifest.json")
        self.damaged = str(synthetic.small(blocks=1).write(self.folder / "damaged").directory)
        next(Path(self.damaged).glob("trials/*/trial.json")).write_text(json.dumps({EVIL: EVIL}))
        self.experiment = str(self.folder / "experiment.yaml")
        Path(self.experiment).write_text(EXPERIMENT.replace("EVIL", json.dumps(EVIL.replace("\udcff", ""))))
        self.missing = str(self.folder / "missing")
        with MonitorWriter.open(self.folder / "monitor"):
            self.monitor = str(self.folder / "monitor")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        kernel = {"name": EVIL, "release": EVIL, "origin": EVIL, "sha256": EVIL, "built": [EVIL]}
        about = folder / "cache/sixbench/kernels/x"
        about.mkdir(parents=True)
        (about / "kernel.json").write_text(json.dumps(kernel))
        labs = folder / "labs"
        labs.mkdir(mode=0o700)
        monkeypatch.setattr(registry, "directory", lambda: labs)
        actual_process = process(os.getpid())
        lab = LabRecord(
            name=EVIL,
            holder=actual_process,
            nodes={EVIL: actual_process},
            links={EVIL: [[EVIL, EVIL]] * 2},
            user_namespace=False,
        )
        (labs / "x.json").write_text(json.dumps(asdict(lab)))


def _tamper(manifest: Path) -> None:
    data = json.loads(manifest.read_text())
    for key in ("kernel", "machine", "cpu", "distribution"):
        data["environment"][key] = EVIL
    data["environment"]["versions"]["iproute2"] = EVIL
    manifest.write_text(json.dumps(data))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("world")
        patched.chdir(folder)
        yield World(folder, patched)


Words = Callable[[World], list[list[str]]]
CALLS: dict[str, Words] = {
    "papers": lambda world: [[EVIL]],
    "new": lambda world: [[world.folder.name], ["x.yaml", "--template", EVIL]],
    "plan": lambda world: [[world.experiment], [world.missing], [world.experiment, "--set", f"{EVIL}=1"]],
    "run": lambda world: [[world.experiment], ["quickstart", "--kernels", EVIL], ["quickstart", "--out", world.run]],
    "resume": lambda world: [[world.run], [world.missing], [world.damaged]],
    "rfc": lambda world: [[world.experiment], ["rfc2544", "--test", EVIL]],
    "profiles": lambda world: [[EVIL]],
    "runs": lambda world: [[str(world.folder)], [world.missing], [str(world.folder), "--json"]],
    "report": lambda world: [
        [world.run],
        [world.run, "--format", "md"],
        [world.damaged],
        [world.run, "--format", EVIL],
        [world.run, "--json"],
        [world.run, "--workload", EVIL],
    ],
    "verify": lambda world: [[world.run], [world.damaged], [world.damaged, "--json"], [world.missing]],
    "compare": lambda world: [
        [world.run, world.other],
        [world.run, world.damaged, "--json"],
        [world.run, world.missing],
    ],
    "monitor": lambda world: [[world.monitor], [world.missing, "--units", world.missing, "--", "run", EVIL]],
    "ui": lambda world: [[f"--{EVIL}"]],
    "serve": lambda world: [["--bind", EVIL]],
    "key": lambda world: [[world.experiment]],
    "measure": lambda world: [[EVIL], ["-c", "::1", EVIL]],
    "reach": lambda world: [
        [EVIL],
        ["--list", world.missing],
        ["--resolver", EVIL, "192.0.2.1"],
        [EVIL, "--until", EVIL],
    ],
    "scheduler": lambda world: [["--bind", EVIL], ["--key", world.missing]],
    "worker": lambda world: [["--scheduler", EVIL]],
    "clean": lambda world: [[]],
    "theory": lambda world: [["--experiment", world.experiment], ["--path", EVIL]],
    "doctor": lambda world: [["--kernel", EVIL]],
    "calibrate": lambda world: [["--only", EVIL], ["--quick", EVIL]],
    "schema": lambda world: [[]],
    "lab up": lambda world: [
        [world.experiment, "--path", EVIL],
        ["quickstart", "--lab", EVIL],
        ["quickstart", "--path", EVIL],
    ],
    "lab list": lambda world: [[], ["--json"]],
    "lab exec": lambda world: [["--lab", EVIL, "h1", "true"], ["h1", "true"]],
    "lab capture": lambda world: [["h1", "--out", world.missing], ["--lab", EVIL, "h1", "--out", world.missing]],
    "lab down": lambda world: [["--lab", f"{EVIL}2"]],
    "kernels add": lambda world: [[EVIL], ["debian-6.1", "--with", EVIL]],
    "kernels list": lambda world: [[], ["--json"]],
    "kernels remove": lambda world: [[f"{EVIL}2"]],
}
TRANSLATE = [[f"--{EVIL}"], ["--in", EVIL, "--explain"]]
"""Arguments of every mechanism of `translate`."""
ALL = [name for name, _ in commands()]


@pytest.mark.parametrize("name", ALL)
def test_nothing_that_a_command_writes_steers_the_terminal(
    sixbench: Callable[..., Any], world: World, name: str
) -> None:
    calls = TRANSLATE if name.startswith("translate ") else CALLS[name](world)
    written = ""
    for words in calls:
        done = sixbench(*name.split(), *words)
        assert done.exit != 70, done.stderr
        for line in (done.stdout + done.stderr).split("\n"):
            assert line.isprintable(), (words, line)
        written += done.stdout + done.stderr
    assert "owned" in written or name in WITHOUT_NAMES
    assert "\nsixbench: all is well" not in written


@pytest.mark.parametrize("call", [["doctor", "--kernel", "nowhere"], ["run", "quickstart", "--kernels", "nowhere"]])
def test_an_unknown_kernel_is_refused_also_where_qemu_is_missing(
    sixbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: list[str]
) -> None:
    monkeypatch.setattr(programs, "PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert "nowhere" in sixbench(*call).stderr


def test_all_that_commands_write_passes_one_module() -> None:
    """`common` alone prints, but for what streams: packets and lines of `translate`, what a holder of a lab says."""
    allowed = {
        ("lab_command.py", "print"),
        ("translate_command.py", "print"),
        ("common.py", "print"),
    }
    collected = set()
    for file in sorted(CLI.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"):
                collected.add((file.name, called))
    assert collected == allowed


def test_colours_are_all_that_a_report_may_have() -> None:
    text = printable_coloured("\x1b[1;31mworse\x1b[0m \x1b[2J\x1b]0;owned\x07\r\n\x1b[1mend\x1b[0m\n")
    assert text == "\x1b[1;31mworse\x1b[0m \\x1b[2J\\x1b]0;owned\\x07\\r\n\x1b[1mend\x1b[0m\n"
