"""Messages about experiments that are wrong: the cases of the tables in `errors`.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/golden/test_errors.py` writes the texts anew: read the difference.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_experiments import Case, read_cases, update_text

ERRORS = Path(__file__).parent / "errors"
CASES = [
    pytest.param(table, case, id=case.name) for table in sorted(ERRORS.glob("*.txt")) for case in read_cases(table)
]

Command = Callable[..., Any]


@pytest.mark.computes
@pytest.mark.parametrize(("table", "case"), CASES)
def test_an_experiment_that_is_wrong(
    table: Path, case: Case, sixbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for named in ERRORS.glob("*.dat"):
        shutil.copy(named, tmp_path)
    (tmp_path / case.file_name).write_bytes(case.content)
    monkeypatch.chdir(tmp_path)
    done = sixbench("plan", case.file_name)
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        update_text(table, case.name, done.stderr)
    else:
        assert done.stderr == case.text
    assert (done.exit, done.stdout) == (2, "")


@pytest.mark.computes
@pytest.mark.parametrize(("table", "case"), CASES)
def test_every_line_names_file_and_place_and_fits_a_terminal(table: Path, case: Case) -> None:
    assert case.text
    for line in case.text.splitlines():
        assert re.match(rf"{re.escape(case.file_name)}(:[1-9][0-9]*)?: .+", line)
        assert len(line) < 400
        assert line.isprintable()


def test_a_name_belongs_to_one_case() -> None:
    names = [parameters.id for parameters in CASES]
    assert sorted(set(names)) == sorted(names)


SMALL = """\
topology:
  nodes: {h1: host, h2: host}
  links:
    - {endpoints: [h1, h2]}
paths: {ipv4: native4}
workloads: [ping]
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("crlf", SMALL.replace("\n", "\r\n").encode()),
        ("byte-order-mark", b"\xef\xbb\xbf" + SMALL.encode()),
        ("no-line-end", SMALL.rstrip().encode()),
        ("unicode", f"{SMALL}title: Größe, µs, 路由器, 👩‍💻\n".encode()),
        (
            "json",
            b'{"topology": {"nodes": {"h1": "host", "h2": "host"}, "links": [{"endpoints": ["h1", "h2"]}]},'
            b'"paths": {"ipv4": "native4"}, "workloads": ["ping"]}',
        ),
        (
            "numbers-as-names",
            SMALL.replace("h1", "1").replace("h2", "2").encode() + b"experiment: 7\nbetween: [1, 2]\n",
        ),
        ("anchors", SMALL.replace("[h1, h2]}", "[h1, h2], delay: &d 1ms, jitter: *d}").encode()),
    ],
)
def test_an_experiment_that_is_right(name: str, content: bytes, sixbench: Command, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_bytes(content)
    done = sixbench("plan", path)
    assert (done.exit, done.stderr) == (0, "")


def test_a_directory(sixbench: Command, tmp_path: Path) -> None:
    done = sixbench("plan", tmp_path)
    assert done.exit == 2
    assert done.stderr == f"sixbench: {tmp_path} is a directory without experiment.yaml; name a file\n"
    (tmp_path / "experiment.yaml").write_text(SMALL)
    assert sixbench("plan", tmp_path).exit == 0


def test_a_file_that_cannot_be_read(sixbench: Command) -> None:
    """The memory of a process is a file that even root may open and not read from its start."""
    done = sixbench("plan", "/proc/self/mem")
    assert (done.exit, done.stdout) == (2, "")
    assert done.stderr == "sixbench: reading /proc/self/mem: Input/output error\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(sixbench: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(SMALL)
    path.chmod(0)
    done = sixbench("plan", path)
    assert done.exit == 2
    assert done.stderr == f"sixbench: reading {path}: Permission denied\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.yaml", "there is no experiment file nowhere.yaml"),
        ("./nowhere", "there is no experiment file ./nowhere"),
        ("", "there is no experiment file without a name"),
        ("nowhere", "there is no file nowhere and no experiment of that name; sixbench comes with"),
        ("x" * 300, "there is no file xxx"),
        ("a\x1b[31m", "there is no file a\\x1b[31m and no"),
        ("/dev/null", "reading /dev/null: it is not a regular file"),
        ("/dev/zero", "reading /dev/zero: it is not a regular file"),
        ("..", ".. is a directory without experiment.yaml"),
    ],
)
def test_what_is_no_experiment(
    sixbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sixbench("plan", name)
    assert (done.exit, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "blocks"], "sixbench: --set blocks: write it as a.b=c, such as --set blocks=3\n"),
        (["--set", "blocks=0"], "--set blocks=0: blocks: blocks must be from 1 to 10000, not 0\n"),
        (["--blocks", "0"], "--blocks: blocks: blocks must be from 1 to 10000, not 0\n"),
        (["--seed", "-1"], "--seed: seed: seed must be from 0 to 9223372036854775807, not -1\n"),
        (["--blocks", "x"], "--blocks"),
        (
            ["--set", "topology.links.h1-h2.rate=5"],
            "--set topology.links.h1-h2.rate=5: topology.links.0.rate: 5 has no unit",
        ),
        (
            ["--set", "topology.links.x.rate=5"],
            'sixbench: --set topology.links.x.rate=5: there is no "topology.links.x" in',
        ),
        (["--quick", "--set", "workloads=5"], "--set workloads=5: workloads: workloads must be a list, not 5\n"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_command_line_that_is_wrong(sixbench: Command, tmp_path: Path, arguments: list[str], message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(SMALL)
    done = sixbench("plan", path, *arguments)
    assert (done.exit, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
