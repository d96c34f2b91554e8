"""Modules in the current directory, which are anyone's: none of them is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HOSTILE = "import posix; posix.write(2, b'a module of the current directory runs'); posix._exit(9)\n"
SHOW = "import sys; print(*(name.partition('.')[0] for name in sys.modules))\n"


def python(*arguments: str, here: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=here, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def of_runpy(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that Python imports by itself for `-m` before those of any package."""
    here = tmp_path_factory.mktemp("nothing")
    (here / "nothing").mkdir()
    for name in ("__init__", "__main__"):
        (here / "nothing" / f"{name}.py").write_text(SHOW if name == "__init__" else "")
    return set(python("-m", "nothing", here=here).stdout.split())


def hostile(here: Path, names: set[str]) -> Path:
    for name in names - {"__main__"}:
        (here / f"{name}.py").write_text(HOSTILE)
    return here


def test_nothing_of_the_current_directory_is_imported(tmp_path: Path, of_runpy: set[str]) -> None:
    assert "typing" not in of_runpy, "what this test would then not try"
    done = python("-m", "sixbench", "--version", here=hostile(tmp_path, set(sys.stdlib_module_names) - of_runpy))
    assert (done.returncode, done.stderr) == (0, "")
    done = python("-m", "sixbench", "papers", here=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [("-P", "-m", "sixbench"), ("-I", "-m", "sixbench")])
def test_a_safe_path_excludes_what_python_itself_imports(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = python(*arguments, "--version", here=hostile(tmp_path, {*sys.stdlib_module_names, "sixbench", "numpy"}))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_places_of_other_programs_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("print('beside')\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/__init__.py").write_text("import sixbench, beside\n")
    (tmp_path / "other/__main__.py").write_text("")
    (tmp_path / "script.py").write_text("import sixbench, beside\n")
    assert python("-m", "other", here=tmp_path).stdout == "beside\n"
    assert python("script.py", "-m", "sixbench", here=tmp_path).stdout == "beside\n"
    assert python("-c", "import sixbench, beside", "sixbench", here=tmp_path).stdout == "beside\n"
