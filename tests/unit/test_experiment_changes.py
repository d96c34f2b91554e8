"""Changes to an experiment mean the same as a value, as options of the command, and on the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sixbench.plan.changes import NO_CHANGES, ExperimentChanges
from sixbench.plan.loading import load_experiment
from sixbench.ui import check

pytestmark = pytest.mark.computes

Command = Callable[..., Any]

CHANGES = [
    NO_CHANGES,
    ExperimentChanges(quick=True),
    ExperimentChanges(blocks=3, seed=9),
    ExperimentChanges(quick=True, assignments=("seed=5", "topology.links.0.rate=10Mbit"), blocks=4),
    ExperimentChanges(kernels=("debian-5.10", "debian-6.1")),
]


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: " ".join(changes.options()) or "none")
def test_the_options_of_changes_make_these_changes(sixbench: Command, changes: ExperimentChanges, joined: bool) -> None:
    done = sixbench("plan", "quickstart", "--json", *changes.options(joined=joined))
    assert (done.exit, done.stderr) == (0, "")
    planned, experiment = json.loads(done.stdout), load_experiment("quickstart", changes)
    assert [entry["params"] for entry in planned["combinations"]] == [
        combination.workload.params for combination in experiment.combinations
    ]
    assert {entry["block"] for entry in planned["order"]} == set(range(1, experiment.blocks.maximum + 1))
    assert (
        planned["topologies"][0]["links"][0]["forward"]["rate_bps"]
        == experiment.topologies[0].links[0].directions[0].rate_bps
    )
    assert planned["estimate"]["clock"] == ("virtual" if experiment.kernels else "real")


def test_the_page_makes_the_changes_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"name": "quickstart", "quick": True, "blocks": 4, "settings": ["seed=5"]}
    checked = check.checked(request)
    changes = ExperimentChanges(quick=True, blocks=4, assignments=("seed=5",))
    expected = load_experiment("quickstart", changes)
    assert checked.options == ["--quick", "--blocks=4", "--set=seed=5"]
    assert (checked.experiment.combinations, checked.experiment.blocks, checked.experiment.seed) == (
        *(expected.combinations, expected.blocks, expected.seed),
    )
