"""`tools/lint-words`: the first words of docstrings and doc comments, and the lengths of comments and functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.computes

TOOL = Path(__file__).parents[2] / "tools" / "lint-words"


def long_function(lines: int) -> str:
    """A function of so many lines, which begins at the second line of a file."""
    return "class A:\n    async def long(self):\n" + "        x = 1\n" * (lines - 1)


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("a.py", '"""The packets to send."""\n', []),
        ("a.py", '"""What it sends."""\n', ["a.py:1: begin with the subject: What it sends"]),
        (
            "a.py",
            'def f():\n    """Whether it has ended. So it is."""\n',
            ["a.py:2: begin with the subject: Whether it has ended"],
        ),
        ("a.py", 'X = 1\n"""With what it begins."""\n', ["a.py:2: begin with the subject: With what it begins"]),
        ("a.py", '"""Offers what Whether begins."""\nX = "What is it?"\n', []),
        ("a.rs", "/// The end.\n/// Of it all.\nfn f() {}\n", []),
        (
            "a.rs",
            "//! Of a thing.\n\n/// How it ends.\nfn f() {}\n",
            ["a.rs:1: begin with the subject: Of a thing", "a.rs:3: begin with the subject: How it ends"],
        ),
        ("a.c", f"/* {'x' * 118} */\n", ["a.c:1: this comment has 124 columns, and at most 120 are allowed"]),
        ("a.py", long_function(80), []),
        ("a.py", long_function(81), ["a.py:2: long has 81 lines, and at most 80 are allowed: split it"]),
        ("a.md", "What is it?\n", []),
    ],
)
def test_places_are_named(name: str, text: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, TOOL, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (int(bool(places)), places, "")
