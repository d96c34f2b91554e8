"""The man pages are what the commands say of themselves.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/golden/test_man_pages.py` writes the pages anew: read the difference.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from sixbench.cli.main import app
from sixbench.cli.man_pages import man_pages

pytestmark = pytest.mark.computes

REPOSITORY = Path(__file__).parents[2]
PAGES = REPOSITORY / "docs" / "man"


def test_the_pages_are_those_of_the_commands() -> None:
    actual_man_pages = man_pages(app)
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        PAGES.mkdir(exist_ok=True)
        for old in PAGES.glob("*.1"):
            old.unlink()
        for name, text in actual_man_pages.items():
            (PAGES / name).write_text(text)
    assert {path.name: path.read_text() for path in PAGES.glob("*")} == actual_man_pages
    assert {"sixbench.1", "sixbench-run.1", "sixbench-lab.1"} <= actual_man_pages.keys()


def test_every_page_has_what_a_reader_looks_for() -> None:
    for name, text in man_pages(app).items():
        assert '.SH "NAME"\n' + name.removesuffix(".1").replace("-", r"\-") + r" \- " in text, name
        for section in ("SYNOPSIS", "DESCRIPTION", "EXIT STATUS"):
            assert f'.SH "{section}"' in text, name
        assert text.isascii(), name


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here to read man pages with")
def test_groff_has_nothing_to_complain_about() -> None:
    for page in sorted(PAGES.glob("*.1")):
        done = subprocess.run(
            ["groff", "-man", "-Tascii", "-ww", "-z", str(page)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_a_wheel_installs_the_pages() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"] == {"docs/man": "share/man/man1"}
