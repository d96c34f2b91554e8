"""What `sixbench plan` shows of a small network with two routers.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/golden/test_plan.py` writes the files anew: read the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLAN = Path(__file__).parent / "plan"

Command = Callable[..., Any]


@pytest.mark.parametrize(("suffix", "options"), [("txt", ["--trials"]), ("json", ["--json"])])
def test_a_plan(suffix: str, options: list[str], sixbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLAN)
    done = sixbench("plan", "two-routers.yaml", *options)
    golden = PLAN / f"two-routers.{suffix}"
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        golden.write_text(done.stdout)
    assert done.stdout == golden.read_text()
    assert (done.exit, done.stderr) == (0, "")


def test_a_plan_for_programs(sixbench: Command) -> None:
    data = json.loads(sixbench("plan", PLAN / "two-routers.yaml", "--json").stdout)
    assert data["schema"] == "sixbench.plan/1"
    assert data["trials"] == {"min": 36, "max": 54}
    assert len(data["order"]) == 54
    assert {trial["path"] for trial in data["order"]} == {"ipv4", "ipv6", "ipv6-aa"}
    assert [c["levels"] for c in data["combinations"]][:2] == [
        {"link_rate_bps": 10_000_000, "message_bytes": 64},
        {"link_rate_bps": 10_000_000, "message_bytes": 8192},
    ]
    [first, second] = data["topologies"]
    assert first["addresses"] == second["addresses"]
    assert first["commands"] != second["commands"]


def test_what_the_command_line_changes(sixbench: Command) -> None:
    changed = sixbench("plan", PLAN / "two-routers.yaml", "--blocks", "4", "--seed", "9", "--set", "aa=false")
    assert changed.stdout.splitlines()[:2] == [
        "# two-routers: 48 trials: 6 combinations x 2 paths x 4 blocks",
        "# between h1 and h2; baseline ipv6; seed 9",
    ]
    quick = sixbench("plan", PLAN / "two-routers.yaml", "--quick")
    assert quick.stdout.startswith("# two-routers: 54 trials: 6 combinations x 3 paths x 3 blocks\n")
    assert "duration: 1s" in quick.stdout
