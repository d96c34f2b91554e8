"""`tools/lint-words`: the first words of docstrings and doc comments, names, and lengths of comments and functions."""

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
        (
            "tools/a",
            "#!/usr/bin/env python3\nfound = 1\n",
            ["tools/a:2: found does not say what it holds or does: give it another name"],
        ),
        ("tools/b", "#!/bin/sh\n# What is it?\n", []),
        *(
            ("a.py", text, [f"a.py:{line}: {name} does not say what it holds or does: give it another name"])
            for text, line, name in (
                ("def told(): ...\n", 1, "told"),
                ("class Came: ...\n", 1, "Came"),
                ("class Way: ...\n", 1, "Way"),
                ("def f(x, *, said): ...\n", 1, "said"),
                ("class A:\n    own: int\n", 2, "own"),
                ("def f(x):\n    x._made = 1\n", 2, "_made"),
                ("x = [len(one) for one in ()]\n", 1, "one"),
                ("import json as TOLD\n", 1, "TOLD"),
                ("with open() as found: ...\n", 1, "found"),
                ("def f(way): ...\n", 1, "way"),
            )
        ),
        ("a.py", "route = x.told\nf(own=1)\nx['said'] = not_told = 1\nclass A:\n    found: int\n", []),
    ],
)
def test_places_are_named(name: str, text: str, places: list[str], tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    done = subprocess.run([sys.executable, TOOL, name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (int(bool(places)), places, "")


def test_a_public_class_has_its_name_alone(tmp_path: Path) -> None:
    files = {
        "src/a.py": "class Counters: ...\nclass _Row: ...\n",
        "src/b/c.py": "class _Row: ...\n\nclass Counters: ...\n",
    }
    for name, text in {**files, "tests/d.py": "class Counters: ...\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, TOOL, *files, "tests/d.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    place = "src/b/c.py:3: src/a.py:1 is called Counters too: say the subject in the name"
    assert (done.returncode, done.stdout.splitlines()) == (1, [place])


def test_a_type_in_rust_is_a_request_of_something(tmp_path: Path) -> None:
    files = {
        "crates/a.rs": "pub struct Counters {\n}\nstruct RequestId;\n",
        "crates/b.rs": "use a::Counters;\n    pub(crate) enum Counters {}\n",
        "src/c.py": "class Counters: ...\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [sys.executable, TOOL, *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    place = "crates/b.rs:2: crates/a.rs:1 is called Counters too: say the subject in the name"
    assert (done.returncode, done.stdout.splitlines()) == (1, [place])
