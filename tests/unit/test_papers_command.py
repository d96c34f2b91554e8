"""Output of `sixbench papers NAME`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.plan.loading import load_paper
from sixbench.plan.shipped import shipped_names

pytestmark = pytest.mark.computes

VERDICTS = (Path(__file__).parents[2] / "docs/measurements/papers.md").read_text()
PAPERS = [name for name in shipped_names() if load_paper(name) is not None]


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_is_shown_with_the_names_of_its_claims_and_the_time_of_its_runs(
    sixbench: Callable[..., Any], name: str
) -> None:
    paper = load_paper(name)
    assert paper is not None
    shown = sixbench("papers", name).stdout
    for claim in paper.claims:
        assert re.search(rf'^  {re.escape(claim.name)}:\s+"', shown, re.MULTILINE), claim.name
    time = r"(about|at least) [0-9]+ (h|min|s)\b.*$"
    for command in (f"sixbench run {name} --quick", f"sixbench run {name}"):
        assert re.search(rf"^  {command} +[0-9]+ (to [0-9]+ )?trials, {time}", shown, re.MULTILINE), command


def test_the_names_among_the_measurements_are_names_of_claims(sixbench: Callable[..., Any]) -> None:
    names = {claim.name for name in PAPERS if (paper := load_paper(name)) is not None for claim in paper.claims}
    matches = set(re.findall(r"`([a-z0-9-]+)`: (?:reproduced|opposite|not)", VERDICTS))
    assert matches
    assert matches <= names


def test_programs_read_the_time_in_nanoseconds(sixbench: Callable[..., Any]) -> None:
    data = json.loads(sixbench("papers", "soorty-sarkar-kernels", "--json").stdout)
    [quick, full] = data["papers"][0]["runs"]
    assert quick["command"] == "sixbench run soorty-sarkar-kernels --quick"
    assert 60e9 < quick["estimate"]["least_ns"] == quick["estimate"]["most_ns"] < 120e9
    assert 30 * 60e9 < full["estimate"]["least_ns"] < full["estimate"]["most_ns"] < 70 * 60e9
