"""The name of a shipped experiment means that experiment, whatever the current directory has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sixbench.model.errors import UsageError
from sixbench.plan.shipped import find_experiment, shipped_directory, shipped_names

pytestmark = pytest.mark.computes

Command = Callable[..., Any]

OTHER = "name: other\n"


@pytest.fixture(params=["a file", "a folder", "a link", "a FIFO"])
def here(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with something called `quickstart` in it."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "quickstart"
    if request.param == "a folder":
        place.mkdir()
        (place / "experiment.yaml").write_text(OTHER)
    elif request.param == "a link":
        (tmp_path / "elsewhere").write_text(OTHER)
        place.symlink_to("elsewhere")
    elif request.param == "a FIFO":
        os.mkfifo(place)
    else:
        place.write_text(OTHER)
    return tmp_path


@pytest.mark.parametrize("command", [["plan"], ["theory", "--experiment"]], ids=" ".join)
def test_nothing_in_the_current_directory_replaces_a_shipped_experiment(
    here: Path, sixbench: Command, command: list[str]
) -> None:
    planned = sixbench(*command, "quickstart", "--json")
    assert planned.exit == 0, planned.stderr
    assert planned.stdout == sixbench(*command, shipped_directory() / "quickstart" / "experiment.yaml", "--json").stdout
    assert json.loads(planned.stdout)


def test_every_shipped_name_means_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in shipped_names():
        (tmp_path / name).write_text(OTHER)
        assert find_experiment(name) == shipped_directory() / name / "experiment.yaml"
        assert find_experiment(f"./{name}") == Path(name)


def test_a_file_of_the_current_directory_has_a_spelling_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"there is no experiment file \./quickstart"):
        find_experiment("./quickstart")
    (tmp_path / "quickstart").mkdir()
    (tmp_path / "quickstart" / "experiment.yaml").write_text(OTHER)
    assert find_experiment("./quickstart").read_text() == OTHER
    assert find_experiment("quickstart/").read_text() == OTHER
