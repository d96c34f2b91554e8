"""`sixbench new`: every template is an experiment that can be planned, and nothing is overwritten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.plan.templates import templates

pytestmark = pytest.mark.computes

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("template", ["native", "tunnel", "mtu-sweep", "access", "measure"])
@pytest.mark.parametrize("options", [[], ["--quick"]])
def test_what_comes_of_a_template_plans(template: str, options: list[str], sixbench: Command) -> None:
    done = sixbench("new", "mine", "--template", template)
    assert (done.exit, done.stdout) == (0, "")
    assert "written: mine.yaml" in done.stderr
    planned = sixbench("plan", "mine.yaml", "--json", *options)
    assert planned.exit == 0, planned.stderr
    data = json.loads(planned.stdout)
    assert data["experiment"] == "mine"
    assert data["trials"]["min"] > 0
    assert sum("#" in line for line in Path("mine.yaml").read_text().splitlines()) >= 8


def test_every_template_is_tested_and_says_what_it_is_for(sixbench: Command) -> None:
    assert set(templates()) == {"native", "tunnel", "mtu-sweep", "access", "measure"}
    shown = sixbench("new", "--list").stdout
    data = json.loads(sixbench("new", "--list", "--json").stdout)
    assert data["schema"] == "sixbench.templates/1"
    for template in data["templates"]:
        assert template["purpose"][0].isupper()
        assert template["name"] in shown
        assert template["purpose"] in shown


def test_nothing_is_overwritten(sixbench: Command) -> None:
    Path("native.yaml").write_text("mine\n")
    done = sixbench("new")
    assert done.exit == 2
    assert done.stderr == "sixbench: native.yaml exists, and sixbench new overwrites nothing; give another name\n"
    assert Path("native.yaml").read_text() == "mine\n"


@pytest.mark.parametrize(("name", "experiment"), [("a.yaml", "a"), ("7", 7), ("null", "null"), ("sub/b", "b")])
def test_names_and_paths(name: str, experiment: str, sixbench: Command) -> None:
    Path("sub").mkdir()
    done = sixbench("new", name, "--json")
    assert done.exit == 0, done.stderr
    file = json.loads(done.stdout)["file"]
    assert json.loads(sixbench("plan", file, "--json").stdout)["experiment"] == str(experiment)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["x y"], "cannot name an experiment"),
        (["a", "--template", "tunel"], 'did you mean "tunnel"?'),
        (["nowhere/a"], "No such file or directory"),
    ],
)
def test_what_cannot_be(arguments: list[str], why: str, sixbench: Command, tmp_path: Path) -> None:
    done = sixbench("new", *arguments)
    assert done.exit in (2, 3)
    assert why in done.stderr
    assert list(tmp_path.iterdir()) == []
