"""Page of `sixbench --help`: groups in an order, each command with one full line in 80 columns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sixbench.cli.command_groups import (
    BY_HAND,
    EXPERIMENTS,
    MACHINE,
    MANY_MACHINES,
    OTHERS,
    RESULTS,
    SERVERS,
    TWO_MACHINES,
)

pytestmark = pytest.mark.computes


def groups(text: str) -> dict[str, list[str]]:
    """The lines of each section, by its heading."""
    groups: dict[str, list[str]] = {}
    for line in text.partition("\n\n  Exit codes:")[0].splitlines():
        if line.endswith(":") and not line.startswith(" "):
            groups[line.removesuffix(":")] = []
        elif line and groups:
            groups[list(groups)[-1]].append(line)
    return groups


def test_commands_stand_in_groups(sixbench: Callable[..., Any]) -> None:
    done = sixbench("--help")
    sections = groups(done.stdout)
    actual_sections = [name for name in sections if name != "Options"]
    assert actual_sections == [EXPERIMENTS, RESULTS, SERVERS, TWO_MACHINES, MANY_MACHINES, BY_HAND, MACHINE]
    names = {heading: [line.split()[0] for line in lines] for heading, lines in sections.items()}
    assert {"papers", "plan", "run", "resume"} <= set(names[EXPERIMENTS])
    assert names[SERVERS] == ["reach"]
    assert names[TWO_MACHINES] == ["serve", "key", "measure"]
    assert names[MANY_MACHINES] == ["scheduler", "worker"]
    assert "doctor" in names[MACHINE]


@pytest.mark.parametrize("words", [(), ("lab",), ("kernels",), ("translate",)])
def test_each_command_has_one_full_line(
    sixbench: Callable[..., Any], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = sixbench(*words, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("COMMAND [ARGS]...")[2]
    sections = groups(text)
    commands = [line for heading, lines in sections.items() if heading != "Options" for line in lines]
    assert commands
    assert (OTHERS in sections) == bool(words)
    for line in commands:
        name, text = line.split(maxsplit=1)
        assert line.startswith(f"  {name}  "), "no text goes over to a second line"
        assert text.endswith("."), line
        first = sixbench(*words, name, "--help").stdout.split("\n\n")[1]
        assert first.strip() == text, "the line is the first of the command's own help"


def test_help_does_not_import_what_only_commands_need() -> None:
    code = (
        "import sys, sixbench.cli.main;"
        "print([n for n in ('sixbench.mechanisms', 'sixbench.bench', 'sixbench.report', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
