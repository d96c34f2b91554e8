"""Every command that prints a table prints it as JSON too: one object with its schema, and units in the names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic
from command_tree import commands

pytestmark = pytest.mark.computes

Command = Callable[..., Any]

PRINTS_NO_TABLE = {
    "schema": "prints a JSON Schema already",
    "ui": "prints the address of its page, and serves that until it is stopped",
    "key": "writes a file",
    "scheduler": "says where it listens, and serves until it is stopped",
    "worker": "says what it does, and serves until it is stopped",
    "clean": "says what it removed",
    "lab exec": "becomes another program",
    "lab capture": "writes a file",
    "lab down": "says that it is done",
    "kernels add": "says what it fetched",
    "kernels remove": "says nothing",
}
"""Commands without `--json`, and why. A new command is either in this list or has `--json`."""

UNITS = re.compile(r"_(bytes|bps|pps|ns|ratio|per_s|percent)$")
BESIDE_A_UNIT = {"value", "low", "high", "ci_low", "ci_high", "half_width", "difference", "margin", "at", "then"}
"""Numbers in the unit that the key `unit` of the same object, or of one around it, names."""
COUNTS = {
    *("packets", "cut", "created", "too_long", "collected", "reassembled", "lost_first", "n", "min", "max", "late_by"),
    *("ok_trials", "invalid_trials", "failed_trials", "open_ended", "trials", "cells", "repeats", "blocks_needed"),
}
PURE = {
    "family",
    "block",
    "topology",
    "year",
    "page",
    "jitter_correlation",
    "ratio",
    "confidence",
    "p_value",
    "blocks_tell",
}


def test_every_command_that_prints_a_table_has_json() -> None:
    by_name = dict(commands())
    without = {
        name for name, command in by_name.items() if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without == set(PRINTS_NO_TABLE)
    assert len(by_name) > 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs")
    synthetic.small().write(directory / "small")
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        ["theory"],
        ["theory", "--table-1"],
        ["theory", "--experiment", "quickstart"],
        ["profiles"],
        ["profiles", "dsl"],
        ["papers"],
        ["papers", "herrera-6to4-tunnel"],
        ["plan", "mtu"],
        ["kernels", "list"],
        ["lab", "list"],
        ["new", "--list"],
        ["runs", "{runs}"],
        ["report", "{runs}/small"],
        ["compare", "{runs}/small", "{runs}/small"],
    ],
    ids=" ".join,
)
def test_json_is_one_object_with_a_schema_and_units(
    arguments: list[str], runs: Path, sixbench: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    done = sixbench(*(word.format(runs=runs) for word in arguments), "--json")
    assert (done.exit, done.stderr) == (0, "")
    data = json.loads(done.stdout, parse_constant=pytest.fail)
    assert re.fullmatch(r"sixbench\.[a-z-]+/\d+", data["schema"])
    if arguments[0] != "report":  # its keys are those of the findings, which tell their unit
        of_claims = BESIDE_A_UNIT if arguments[0] == "papers" else set()  # in the unit of the claim's metric
        assert set(_without_unit(data)) <= COUNTS | PURE | of_claims


def test_the_rate_of_theory_is_a_number_too(sixbench: Command) -> None:
    data = json.loads(sixbench("theory", "--rate", "10Mbit", "--json").stdout)
    assert (data["rate"], data["rate_bps"]) == ("10Mbit", 10_000_000)


def _without_unit(data: Any, key: str = "", has_unit: bool = False) -> Iterator[str]:
    """The keys of numbers that tell no unit."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _without_unit(value, name, has_unit or "unit" in data)
    elif isinstance(data, list):
        for value in data:
            yield from _without_unit(value, key, has_unit)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield from [] if UNITS.search(key) or (has_unit and key in BESIDE_A_UNIT) else [key]
