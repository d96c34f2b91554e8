"""Output of `sixbench plan` for small networks with two routers.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/golden/test_plan.py` writes the files anew: read the difference.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.computes

PLAN = Path(__file__).parent / "plan"

Command = Callable[..., Any]


@pytest.mark.parametrize("name", ["two-routers", "tunnels"])
@pytest.mark.parametrize(
    ("suffix", "options"),
    [("txt", []), ("commands.txt", ["--commands", "--trials"])],
)
def test_a_plan(name: str, suffix: str, options: list[str], sixbench: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLAN)
    done = sixbench("plan", f"{name}.yaml", *options)
    golden = PLAN / f"{name}.{suffix}"
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        golden.write_text(done.stdout)
    assert done.stdout == golden.read_text()
    assert (done.exit, done.stderr) == (0, "")


def test_what_the_command_line_changes(sixbench: Command) -> None:
    options = ["--blocks", "4", "--seed", "9", "--set", "aa=false"]
    changed = sixbench("plan", PLAN / "two-routers.yaml", *options)
    assert changed.stdout.startswith("48 trials, about ")
    assert "6 combinations x 2 paths x 4 blocks; baseline ipv6, seed 9" in changed.stdout
    again = shlex.split(changed.stdout.splitlines()[-1].partition("sixbench plan ")[2])
    script = sixbench("plan", *again).stdout.splitlines()
    assert script[0] == "# two-routers: 48 trials: 6 combinations x 2 paths x 4 blocks"
    assert script[2] == "# between h1 and h2; baseline ipv6; seed 9"
    quick = sixbench("plan", PLAN / "two-routers.yaml", "--quick")
    assert quick.stdout.startswith("54 trials, about ")
    assert "duration: 1s" in quick.stdout


def test_a_plan_begins_with_the_trials_and_the_time_and_has_no_commands(sixbench: Command) -> None:
    lines = sixbench("plan", "quickstart").stdout.splitlines()
    assert lines[0] == "at least 360 trials, about 1 min 30 s to 2 min"
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "sysctl" in line or line.startswith("ip ")]
    assert lines[-1] == "Every command that would be run: sixbench plan quickstart --commands"
    commands = sixbench("plan", "quickstart", "--commands").stdout.splitlines()
    assert "sysctl -w net.ipv4.tcp_no_metrics_save=1" in commands


FORMS = """\
topology:
  nodes: {{h1: host, h2: host}}
  links:
    - {{endpoints: [h1, h2], rate: 100Mbit}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: [{workload}]
blocks: {blocks}
{more}
"""


@pytest.mark.parametrize(
    ("workload", "blocks", "more", "first"),
    [
        ("tcp-stream: {duration: 5s}", "6", "", "12 trials, about 1 min 10 s\n"),
        (
            "tcp-stream: {duration: 5s}",
            "{min: 6, max: 12, precision: 2%}",
            "",
            "12 to 24 trials, about 1 min 10 s to 2 min 10 s\n",
        ),
        # 125 MB at 100 Mbit/s take 10 s, if nothing slows them down.
        ("tcp-stream: {bytes: 125MB}", "6", "", "12 trials, at least 2 min\n"),
        # 10,000 datagrams of 1250 bytes at 10 Mbit/s take 10 s.
        ("udp-stream: {rate: 10Mbit, datagram: 1250B, count: 10000}", "6", "", "12 trials, about 2 min\n"),
        ("udp-stream: {rate: 1000pps, datagram: 1250B, count: 10000}", "6", "", "12 trials, about 2 min\n"),
        (
            "tcp-stream: {duration: 5s}",
            "6",
            "kernels: [debian-6.1]",
            "12 trials, about 1 min 10 s by the clock of the emulated machines\n",
        ),
    ],
)
def test_how_far_the_time_is_known(
    sixbench: Command, tmp_path: Path, workload: str, blocks: str, more: str, first: str
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(FORMS.format(workload=f"{{{workload}}}", blocks=blocks, more=more))
    done = sixbench("plan", file)
    assert done.stdout.startswith(first), done.stderr


def test_the_time_for_programs(sixbench: Command) -> None:
    estimate = json.loads(sixbench("plan", "quickstart", "--json").stdout)["estimate"]
    assert estimate["traffic_ns"] == 20 * 3 * (2 * 300 + 220 + 3 * 120) * 1_000_000
    assert estimate["least_ns"] == sum(estimate[part] for part in ("traffic_ns", "between_ns", "before_ns"))
    assert estimate["least_ns"] < estimate["most_ns"]
    assert (estimate["at_least"], estimate["clock"]) == (False, "real")
