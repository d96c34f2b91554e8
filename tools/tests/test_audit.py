"""Answers of `make lint` about locked packages that are vulnerable, come from elsewhere, or are not known."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
audit = SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / "audit")))

CARGO = """
version = 4

[[package]]
name = "sixbench-agent"
version = "0.1.0"

[[package]]
name = "crossbeam"
version = "0.4.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "00"

[[package]]
name = "mine"
version = "1.0.0"
source = "git+https://example.org/mine"
"""
PYTHON = """
Jinja2==2.10 \\
    --hash=sha256:00
numpy==2.0.0 ; sys_platform == 'linux' \\
    --hash=sha256:01
pyyaml==6.0
"""


def test_a_vulnerable_crate_and_one_from_elsewhere_are_told() -> None:
    advisory = {"id": "RUSTSEC-0", "title": "Data race", "unaffected": [">= 0.4.1", "< 0.2"]}
    locked = audit.cargo_packages(CARGO)
    assert {item.name: item.problem for item in locked if item.problem} == {
        "mine": "it comes from git+https://example.org/mine, not from the registry"
    }
    assert audit.check(locked, {"crossbeam": [advisory]}, audit.is_affected_crate) == [
        "crossbeam 0.4.0: RUSTSEC-0: Data race"
    ]


def test_a_vulnerable_python_package_and_one_without_a_hash_are_told() -> None:
    advisory = {"id": "PYSEC-0", "title": "Escape", "ranges": [["0", "2.10.1"]], "versions": []}
    locked = audit.python_packages(PYTHON)
    assert [item.name for item in locked] == ["jinja2", "numpy", "pyyaml"]
    assert {item.name: item.problem for item in locked if item.problem} == {"pyyaml": "it has no hash"}
    assert audit.check(locked, {"jinja2": [advisory]}, audit.is_affected_python) == ["jinja2 2.10: PYSEC-0: Escape"]


@pytest.mark.parametrize(
    ("version", "wanted", "is_in"),
    [
        ("1.38.3", ">= 1.38.2, < 1.39.0", True),
        ("1.40.0", ">= 1.38.2, < 1.39.0", False),
        ("0.3.9", "^0.3.2", True),
        ("0.4.0", "^0.3.2", False),
        ("1.9.0", "^1.2", True),
        ("2.0.0", "1.2", False),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.0.0-rc.1", "< 1.0.0", True),
        ("1.0.0+build", "= 1.0", True),
        ("0.10.0", "> 0.9", True),
    ],
)
def test_ranges_are_read_as_cargo_reads_them(version: str, wanted: str, is_in: bool) -> None:
    assert audit.satisfies(version, wanted) is is_in


def run_audit(**environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "SIXBENCH_ADVISORIES"}
    return subprocess.run(
        [sys.executable, ROOT / "tools" / "audit"],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_locked_comes_from_registries_and_what_was_not_checked_is_said() -> None:
    done = run_audit()
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("none with a problem; known vulnerabilities: NOT CHECKED") == 4


def test_nothing_is_installed_from_a_registry_without_a_hash() -> None:
    """In the Makefile and in CI. What a user has who installs the wheels is resolved by their own pip."""
    files = [ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "tools").iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8").replace("\\\n", " ") for path in files if path.is_file())
    installs = re.findall(r"^.*\b(?:pip install|pip sync|cargo install|npm install)\b.*$", text, re.MULTILINE)
    assert len(installs) == 4, installs
    for line in installs:
        of_this_tree = "--no-deps" in line and ("--editable ." in line or "./crates/agent" in line)
        assert "--require-hashes" in line or of_this_tree, line


def test_a_folder_without_the_clones_is_refused(tmp_path: Path) -> None:
    done = run_audit(SIXBENCH_ADVISORIES=str(tmp_path))
    assert done.returncode == 2
    assert "reading advisory-db at" in done.stderr
