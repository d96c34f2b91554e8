"""What `sixbench plan` shows of small networks with two routers.

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


@pytest.mark.parametrize("name", ["two-routers", "tunnels"])
@pytest.mark.parametrize(("suffix", "options"), [("txt", ["--trials"]), ("json", ["--json"])])
def test_a_plan(name: str, suffix: str, options: list[str], sixbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLAN)
    done = sixbench("plan", f"{name}.yaml", *options)
    golden = PLAN / f"{name}.{suffix}"
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


def test_what_a_tunnel_makes_of_the_network(sixbench: Command) -> None:
    data = json.loads(sixbench("plan", PLAN / "tunnels.yaml", "--json").stdout)
    paths = {path["name"]: path for path in data["paths"]}
    assert [paths[name]["engine"] for name in ("configured", "relay", "isatap", "ds-lite")] == [
        *("kernel", "ebpf", "user", None)
    ]
    [network] = paths["relay"]["networks"]
    assert (network["client"], network["server"]) == ("2002:c612:101:1::1", "2001:2:0:2::2")
    assert [link["headers"] for link in network["links"]] == [["ipv6"], ["ipv4", "ipv6"], ["ipv6"]]
    assert [(end["node"], end["mtu_bytes"], end["local"]) for end in network["tunnels"]] == [
        ("r1", 1280, "198.18.1.1"),
        ("r2", 1280, "198.18.1.2"),
    ]
    [shared] = paths["ds-lite"]["networks"]
    assert (shared["client"], shared["client_seen"]) == ("192.168.1.1", "198.18.2.1")
