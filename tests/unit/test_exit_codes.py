"""The exit codes are the same in the code, on the page, in the help and in the man page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sixbench.model import errors
from sixbench.model.exit_codes import Exit

pytestmark = pytest.mark.computes

DOCS = Path(__file__).parents[2] / "docs"
Command = Callable[..., Any]


def test_the_page_lists_every_code_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*?) \| (.*?) \|$", (DOCS / "exit-codes.md").read_text(), flags=re.M)
    assert rows == [(str(code.value), code.meaning, code.details) for code in Exit]


def test_the_man_page_lists_every_code_with_its_meaning() -> None:
    page = (DOCS / "man" / "sixbench.1").read_text()
    status = page.split('.SH "EXIT STATUS"\n')[1].split(".SH ")[0].replace("\\-", "-")
    matches = re.findall(r"^\.TP\n\\fB(\d+)\\fR\n(.*)\.$", status, flags=re.M)
    assert matches == [(str(code.value), code.meaning[:1].upper() + code.meaning[1:]) for code in Exit]


def test_the_help_lists_every_code(sixbench: Command) -> None:
    text = " ".join(sixbench("--help").stdout.split())
    for code in Exit:
        assert f"{code.value} {code.meaning}" in text


def test_every_error_ends_with_a_code_that_is_listed() -> None:
    kinds = list(_kinds(errors.SixbenchError))
    assert len(kinds) > 5
    for kind in kinds:
        assert isinstance(kind.exit_code, Exit), kind
    assert errors.UsageError.exit_code == 2
    assert errors.CapabilityError.exit_code == 3
    assert errors.Interrupted.exit_code == 130


def test_the_tree_of_errors_says_the_same() -> None:
    by_name = dict(re.findall(r"── (\w+) +(\d+) ", errors.__doc__ or ""))
    assert {name: int(code) for name, code in by_name.items()} == {
        name: getattr(errors, name).exit_code for name in by_name
    }
    assert len(by_name) > 4


def _kinds(base: type[errors.SixbenchError]) -> Iterator[type[errors.SixbenchError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)
