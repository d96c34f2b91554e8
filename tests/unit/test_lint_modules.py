"""`tools/lint-modules`: modules of a Rust crate that use each other in a circle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.computes

TOOL = Path(__file__).parents[2] / "tools" / "lint-modules"


@pytest.mark.parametrize(
    ("files", "circles"),
    [
        pytest.param({"a.rs": "use crate::b::Thing;", "b.rs": "pub struct Thing;"}, [], id="one way"),
        pytest.param(
            {"a.rs": "use crate::b::Thing;", "b.rs": "pub struct Thing;\nfn f() { crate::a::g() }"},
            ["crate: a -> b -> a"],
            id="a path without an import",
        ),
        pytest.param(
            {
                "x/mod.rs": "mod a;\nmod b;\npub use a::One;",
                "x/a.rs": "use super::b::Two as Other;",
                "x/b.rs": "use super::One;",
            },
            ["crate::x: a -> b -> a"],
            id="a name that the module above re-exports",
        ),
        pytest.param(
            {"x/mod.rs": "mod a;\nmod b;\nstruct Own;", "x/a.rs": "use super::{Own, b};", "x/b.rs": "use super::Own;"},
            [],
            id="a module below uses those above it",
        ),
        pytest.param(
            {
                "a.rs": "use crate::{b::{self, Thing}, Other};\nfn f() { b::g() }",
                "b/mod.rs": "mod c;",
                "b/c.rs": "use crate::a;",
            },
            ["crate: a -> b -> a"],
            id="by a module of its folder",
        ),
        pytest.param(
            {
                "a.rs": 'use crate::b;\n// use crate::c;\nfn f() { print("crate::c", \'"\'); /* crate::c */ }',
                "b.rs": "#[cfg(test)]\nmod tests {\n    use crate::a;\n}",
                "c.rs": "use crate::a;",
                "a/tests.rs": "use crate::c;",
            },
            [],
            id="comments, texts and tests do not count",
        ),
    ],
)
def test_circles_are_named(files: dict[str, str], circles: list[str], tmp_path: Path) -> None:
    for name, text in {"lib.rs": "", **files}.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, TOOL, tmp_path], capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == ([f"{tmp_path}: {circle}" for circle in circles], "")
    assert done.returncode == int(bool(circles))
