"""The maps of the documents: they name the layers, folders, crates and files that there are, and miss none."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/sixbench"
DESIGN = (ROOT / "docs/design.md").read_text()
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "vectors/README.md"]


def section(heading: str) -> str:
    """The text of a section of the design."""
    return DESIGN.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[str]:
    """The names in code in the first column of a table."""
    return [name for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for name in re.findall("`([^`]+)`", row)]


def contract() -> list[str]:
    """The layers that `make lint` holds, from the top down, less those that are only allowed for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [contract["layers"] for contract in project["contracts"] if contract["id"] == "layers"]
    return [" | ".join(name for name in line.split(" | ") if not name.startswith("(")) for line in layers]


def packages(folder: Path) -> set[str]:
    return {child.parent.name for child in folder.glob("*/__init__.py")}


def test_contributing_names_the_layers_of_the_contract() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert "```\n" + "\n".join(contract()) + "\n```" in text


def test_the_design_names_the_layers_of_the_contract() -> None:
    assert f"`{' -> '.join(contract())}`" in section("The layers")


def test_the_contract_names_every_package() -> None:
    named = [name for line in contract() for name in line.split(" | ")]
    assert sorted(named) == sorted(packages(PACKAGE))


def test_the_design_tells_what_each_layer_holds() -> None:
    assert sorted(rows(section("The layers"))) == sorted(packages(PACKAGE) - {"cli"})


def test_the_design_tells_what_each_folder_holds() -> None:
    texts = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.endswith("/")]
    there = {child.name for child in ROOT.iterdir() if child.is_dir() and not child.name.startswith(".")}
    assert {name.partition("/")[0] for name in rows(section("The folders"))} == there - set(texts)


def test_the_design_tells_what_each_crate_holds() -> None:
    named = re.findall(r"^- `(\w+)` ", section("The crates"), re.MULTILINE)
    assert sorted(named) == sorted(child.parent.name for child in (ROOT / "crates").glob("*/Cargo.toml"))


def test_crates_depend_on_those_further_down() -> None:
    (line,) = re.findall(r"^`(.* -> .*)`$", section("The crates"), re.MULTILINE)
    ranks = {name: rank for rank, names in enumerate(line.split(" -> ")) for name in names.split(", ")}
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        used = re.findall(r"^sixbench-(\w+) ", manifest.read_text(), re.MULTILINE)
        assert [name for name in used if ranks[name] <= ranks[manifest.parent.name]] == [], manifest.parent.name


def test_the_first_page_on_experiments_names_every_other() -> None:
    folder = ROOT / "docs/experiments"
    named = re.findall(r"\]\(([\w-]+\.md)\) \|$", (folder / "index.md").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(page.name for page in folder.glob("*.md") if page.name != "index.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_place_that_is_named_exists(page: Path) -> None:
    """Places are told from the top of the repository, or from that of the package."""
    missing = []
    for place in re.findall(r"`([\w.-]+/[\w./*-]+)`", page.read_text()):
        top = place.partition("/")[0]
        bases = [base for base in (ROOT, PACKAGE) if top not in (".", "..", "runs") and (base / top).is_dir()]
        if bases and not any(any(base.glob(place)) for base in bases):
            missing.append(place)
    assert missing == []
