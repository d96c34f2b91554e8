"""Records of a path's engine and packets: two engines compared, one that is not there, and wrong packets."""

from __future__ import annotations

import json
from ipaddress import IPv6Network
from pathlib import Path
from typing import Any

import pytest
from lab.experiments import read
from reasons import texts

from sixbench.agent import Agent, AgentHub
from sixbench.bench.laboratory import Laboratories, Laboratory
from sixbench.bench.mechanism_doctor import refusals
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.mechanisms import MECHANISMS
from sixbench.model.leg import Leg
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

TOPOLOGY = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit, burst: 256KiB}
    - {endpoints: [r1, r2], rate: 100Mbit, burst: 256KiB}
    - {endpoints: [r2, h2], rate: 100Mbit, burst: 256KiB}
between: [h1, h2]
"""


def test_two_engines_of_a_mechanism_are_compared_in_one_experiment(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "engines.yaml"
    file.write_text(
        f"""{TOPOLOGY}
paths:
  ours: {{6in4: {{nodes: [r1, r2], engine: ebpf}}}}
  slow: {{6in4: {{nodes: [r1, r2], engine: user}}}}
baseline: slow
workloads: [{{tcp-stream: {{duration: 150ms, warmup: 50ms}}}}]
blocks: 2
"""
    )
    done = sixbench("run", file, "--out", tmp_path / "run", "--json", figures=False)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(trial.read_text()) for trial in (tmp_path / "run").glob("trials/*/trial.json")]
    assert {(trial["path"], trial["engine"], trial["status"]) for trial in trials} == {
        ("ours", "ebpf", "ok"),
        ("slow", "user", "ok"),
    }
    for trial in trials:
        for devices in trial["evidence"]["tunnels"].values():
            [value] = devices.values()
            fast, slow = (value[f"{prefix}decapsulated"]["packets"] for prefix in ("", "slow_"))
            assert (fast > 100 > slow) if trial["path"] == "ours" else (slow > 100 and fast == 0)
    assert {"bpf_encapsulate_ns", "bpf_decapsulate_ns"} <= next(t for t in trials if t["path"] == "ours")[
        "metrics"
    ].keys()
    findings = json.loads(done.stdout)["findings"]
    assert {(finding["path"], finding["baseline"]) for finding in findings} == {("ours", "slow")}
    assert {finding["n"] for finding in findings} == {2}


def test_an_engine_that_is_not_there_is_said_with_the_line_before_anything_is_built(
    sixbench: Any, hub: AgentHub, tmp_path: Path
) -> None:
    missing = [(name, engine) for (name, engine), reason in refusals(hub).items() if reason and engine == "kernel"]
    if not missing:
        pytest.skip("this kernel has every tunnel")
    mechanism, engine = missing[0]
    nodes = ", ".join(MECHANISMS[mechanism].sample)
    file = tmp_path / "missing.yaml"
    file.write_text(
        f"""paths:
  there: native6
  away: {{{mechanism}: {{nodes: [{nodes}], engine: {engine}}}}}
workloads: [ping]
{TOPOLOGY}"""
    )
    done = sixbench("run", file, "--out", tmp_path / "run")
    assert done.returncode == 3
    assert f"{file}:3: paths.away: {mechanism} cannot be executed on this machine by {engine}: " in done.stderr
    assert "CONFIG_" in done.stderr
    assert "other engines" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


PATH = """
paths: {p: {6in4: {nodes: [r1, r2], engine: ENGINE}}}
workloads: [WORKLOAD]
blocks: 1
"""
PING = "ping: {count: 20, interval: 1ms, timeout: 200ms}"
STREAM = "tcp-stream: {duration: 600ms, warmup: 0s}"


def one_trial(hub: AgentHub, engine: str, workload: str, *changes: Any) -> list[TrialRecord]:
    """A trial of a network as it was built, and one after each change of it."""
    text = TOPOLOGY + PATH.replace("ENGINE", engine).replace("WORKLOAD", f"{{{workload}}}")
    experiment = read(hub, text)
    laboratories = Laboratories(hub, experiment)
    [planned] = block_order(experiment, 1)
    records = []
    for sequence, change in enumerate((None, *changes)):
        laboratory, network = laboratories.get(experiment.paths[0], 0)
        if change is not None:
            change(laboratory)
        trial = TrialTask(
            experiment=experiment, combination=experiment.combinations[0], planned=planned, sequence=sequence
        )
        outcome = run_trial(trial, laboratory, network, References(theory=expected_amid_changes))
        records.append(outcome.record)
    laboratories.close()
    return records


def execute(agent: Agent, words: str) -> None:
    done = agent.call("exec", argv=words.split())
    assert done["exit"] == 0, done


CARRIER = IPv6Network("2001:db8:9::/64")


def route_around(laboratory: Laboratory, nodes: tuple[str, ...] = ("r1", "r2")) -> None:
    """Native IPv6 on the carrier, which the path says is not there."""
    ways = {"r1": ("eth1", "1", "2001:2:0:2::/64", "2"), "r2": ("eth0", "2", "2001:2::/64", "1")}
    for node, (interface, these, _, _) in ways.items():
        execute(laboratory.agents[node], f"ip address add 2001:db8:9::{these}/64 dev {interface} nodad")
    leg = Leg(family=6, near="r1", far="r2", source=CARRIER[1], destination=CARRIER[2])
    laboratory.check_reachable((leg,))  # new addresses are in force a moment later
    for node in nodes:
        interface, _, prefix, other = ways[node]
        execute(laboratory.agents[node], f"ip route replace {prefix} via 2001:db8:9::{other} dev {interface}")


@pytest.mark.parametrize("engine", ["ebpf", "user"])
@pytest.mark.parametrize("workload", [PING, STREAM])
def test_packets_that_go_around_the_tunnel_make_the_trial_invalid(hub: AgentHub, engine: str, workload: str) -> None:
    before, after = one_trial(hub, engine, workload, route_around)
    assert (before.status, before.reasons) == ("ok", [])
    assert after.status == "invalid"
    assert [text for text in texts(after.reasons) if text.endswith("were ipv6, where the path claims ipv6 in ipv4")], (
        after
    )
    if workload == STREAM:
        assert [text for text in texts(after.reasons) if "r1 encapsulated only" in text]
        assert [text for text in texts(after.reasons) if "r2 decapsulated only" in text]


@pytest.mark.parametrize("node", ["r1", "r2"])
def test_one_direction_around_the_tunnel_is_enough(hub: AgentHub, node: str) -> None:
    """Acknowledgements alone, and data alone."""
    _, after = one_trial(hub, "ebpf", STREAM, lambda laboratory: route_around(laboratory, (node,)))
    assert after.status == "invalid"
    assert [text for text in texts(after.reasons) if text.endswith("were ipv6, where the path claims ipv6 in ipv4")]


def test_a_tunnel_that_is_taken_away_makes_no_trial_that_counts(hub: AgentHub) -> None:
    def take_away(laboratory: Laboratory) -> None:
        laboratory.agents["r1"].call("tunnel-remove", device="6in4-1")

    before, after = one_trial(hub, "ebpf", PING, take_away)
    assert before.status == "ok"
    assert after.status in ("invalid", "failed")
    assert after.reasons
