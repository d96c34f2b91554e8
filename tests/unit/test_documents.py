"""The documents: every link in them leads somewhere, and what they advertise exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from sixbench.cli.main import app
from sixbench.mechanisms import MECHANISMS
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MEASUREMENTS = ROOT / "docs/measurements"
MEASURED = sorted(page for page in MEASUREMENTS.glob("*.md") if page.stem != "index")
MANUAL = [page for page in DOCUMENTS if page.name != "CHANGELOG.md" and page.parent != MEASUREMENTS]
NAMES = [str(document.relative_to(ROOT)) for document in DOCUMENTS]
COMMANDS: Any = typer.main.get_command(app)


def prose(text: str) -> str:
    """The text without its fenced blocks and without code in a line."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", without_blocks)


def links(document: Path) -> list[str]:
    """The targets of links and pictures, but for those on the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(document.read_text()))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(document: Path) -> set[str]:
    """The names by which a link reaches the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = next(n for n in range(len(anchors) + 1) if (f"{name}-{n}" if n else name) not in anchors)
        anchors.add(f"{name}-{number}" if number else name)
    return anchors


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_link_leads_somewhere(document: Path) -> None:
    broken = []
    for target in links(document):
        path, _, anchor = target.partition("#")
        reached = (document.parent / path).resolve() if path else document
        if not reached.exists() or (anchor and anchor not in anchors(reached)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_no_merge_was_left_half_done(document: Path) -> None:
    assert re.findall(r"^(?:<{7}|>{7}) .*$", document.read_text(), re.MULTILINE) == []


@pytest.mark.parametrize("page", MANUAL, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_manual_has_no_history(page: Path) -> None:
    """It says what is. Dates, and what was otherwise, are in the measurements and in the changelog."""
    text = re.sub(r"`[^`]*`", "", prose(page.read_text()))
    assert (
        re.findall(r"20\d\d-\d\d-\d\d|\b(?:is|are|has|do|does) no longer(?! than)|\b(?:until|as it is) now\b", text)
        == []
    )


def test_the_changelog_keeps_its_form() -> None:
    """Keep a Changelog 1.1.0: what is not released yet first, then releases with their dates, by kinds of changes."""
    text = (ROOT / "CHANGELOG.md").read_text()
    first, *others = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert [other for other in others if not re.fullmatch(r"\[0\.\d+\.\d+\] - 20\d\d-\d\d-\d\d", other)] == []
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds


def named(text: str, label: str) -> list[str]:
    """The words in code after a bold label."""
    item = re.search(rf"\*\*{label}:\*\*(.*?)^(?:- |$)", text, re.DOTALL | re.MULTILINE)
    assert item is not None, label
    return re.findall(r"`([^`]+)`", item.group(1))


def commands(text: str) -> list[list[str]]:
    """The words of every `sixbench ...` in the blocks of a text and in its lines."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    matches = re.findall(r"^(?:\w*\$ )?(sixbench [^#|\n]*)", "\n".join(blocks), re.MULTILINE)
    matches += re.findall(r"`(sixbench [a-z][^`\n]*)`", text)
    return [command.split()[1:] for command in matches]


README = (ROOT / "README.md").read_text()


def test_the_readme_names_every_mechanism_and_workload() -> None:
    assert named(README, "Paths") == list(MECHANISMS)
    assert sorted(named(README, "Workloads")) == sorted(WORKLOADS)


def test_the_experiment_of_the_readme_can_be_run() -> None:
    (example,) = re.findall(r"^```yaml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    experiment = read_experiment(parse_yaml(example, "one-router.yaml"), MECHANISMS)
    assert experiment.name == "one-router"


def test_the_package_advertises_what_it_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    fields = {"ipv4", "ipv6", "transition mechanisms", "network benchmarking"}
    assert set(project["keywords"]) - fields <= MECHANISMS.keys()


def unknown(words: list[str]) -> str | None:
    """Part of a command that does not exist: a command or an option."""
    commands: Any = COMMANDS
    rest = list(words)
    while hasattr(commands, "commands") and rest and re.fullmatch(r"[a-z0-9]+", rest[0]):
        name = rest.pop(0)
        if name not in commands.commands:
            return name
        commands = commands.commands[name]
    options = {option for parameter in commands.params for option in (*parameter.opts, *parameter.secondary_opts)}
    matches = re.findall(r"(?<!\S)\[?(--[a-z0-9-]+)", " ".join(rest).partition(" -- ")[0])
    return next((option for option in matches if option not in options | {"--help"}), None)


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_command_exists(document: Path) -> None:
    actual_commands = commands(document.read_text())
    assert [(words, wrong) for words in actual_commands if (wrong := unknown(words)) is not None] == []


def test_the_glossary_names_every_mechanism() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text()
    words = {
        word.strip(" `") for line in re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE) for word in line.split(",")
    }
    assert MECHANISMS.keys() <= words | {"dual-stack"}


def test_the_ways_in_lead_to_every_page_of_manual_and_measurements() -> None:
    ways_in = (ROOT / "docs/index.md", MEASUREMENTS / "index.md")
    reached = {(page.parent / target.partition("#")[0]).resolve() for page in ways_in for target in links(page)}
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page != ways_in[0] and page.parent.name != "man"}
    assert sorted(map(str, pages - reached)) == []


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.stem)
def test_a_measurement_says_when_where_and_by_which_command(page: Path) -> None:
    """Its first table does, and the date is one of the calendar."""
    facts = dict(re.findall(r"^\| (date, commit|machine|command) \| (.+) \|$", page.read_text(), re.MULTILINE))
    assert facts.keys() == {"date, commit", "machine", "command"}
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", facts["date, commit"])


def test_contributing_names_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named_targets = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(map(Path.read_text, DOCUMENTS))))
    assert named_targets & targets >= {"install", "lint", "test", "test-long"}
    assert {target for target in named_targets - targets if "-" in target} == set()


def test_the_design_lists_every_command() -> None:
    section = (ROOT / "docs/design.md").read_text().partition("\n## Commands\n")[2].partition("\n## ")[0]
    assert {words[0] for words in commands(section)} == COMMANDS.commands.keys()
