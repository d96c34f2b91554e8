"""Experiments on papers, unchanged, with their nodes on four machines: every path is proved on each of them, and the
report has the paper's claims."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.host_machines import FOUR, Machines, machines

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
PLACES = {
    "herrera-6to4-tunnel": {
        "nodes": {"client": "lab1", "r1": "lab2", "r2": "lab3", "r3": "lab4", "server": "lab4"},
        "links": {"client-r1": ["left", "left"], "r1-r2": ["right", "left"], "r2-r3": ["right", "left"]},
    },
    "raicu-zeadally-transition": {
        "nodes": {"SZ06": "lab1", "ericsson": "lab2", "ibm": "lab3", "SZ07": "lab4"},
        "links": {"SZ06-ericsson": ["left", "left"], "ericsson-ibm": ["right", "left"], "ibm-SZ07": ["right", "left"]},
    },
}
"""`nodes` and `links` of `--hosts` files (docs/many-machines.md has them as text)."""
SHORT = {
    "herrera-6to4-tunnel": (
        *("factors.transfer=[1MiB]", "factors.window=[100KiB]", "factors.buffer=[64KiB]"),
        *("workloads.tcp-stream.mss=[1KiB]", "workloads.udp-stream.rate=[10Mbit]"),
        *("workloads.udp-stream.duration=200ms", "workloads.udp-stream.warmup=50ms"),
    ),
    "raicu-zeadally-transition": (
        *("workloads.tcp-stream.message=[64KiB]", "workloads.tcp-rr.message=[64B]"),
        *("workloads.*.duration=200ms", "workloads.*.warmup=50ms"),
    ),
}
"""One combination of each workload, and short ones: of paths and nodes nothing is left out."""
TUNNELS = {"6to4": ["r1", "r3"], "router-to-router": ["ericsson", "ibm"], "host-to-host": ["SZ06", "SZ07"]}
"""The nodes at both ends of the tunnels, by path."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    if os.geteuid() != 0:
        pytest.skip("a machine with an sshd of its own takes root")
    with machines(tmp_path_factory.mktemp("four"), FOUR) as actual_machines:
        yield actual_machines


@pytest.mark.parametrize("experiment", PLACES)
def test_a_paper_on_four_machines(hosts: Machines, experiment: str) -> None:
    places = hosts.scratch / f"{experiment}.yaml"
    places.write_text(hosts.hosts() + "".join(f"{key}: {json.dumps(of)}\n" for key, of in PLACES[experiment].items()))
    run = hosts.scratch / experiment
    short = [word for setting in SHORT[experiment] for word in ("--set", setting)]
    before = {name: hosts.interfaces(name) for name in FOUR}
    done = hosts.run("run", experiment, "--hosts", places, "--quick", "--blocks", "1", *short, "--out", run, "--quiet")
    assert done.returncode == 0, done.stderr
    assert {name: hosts.interfaces(name) for name in FOUR} == before

    manifest = json.loads((run / "manifest.json").read_text())
    assert set(manifest["environment"]["hosts"]) == set(FOUR)
    nodes, links = PLACES[experiment]["nodes"], PLACES[experiment]["links"]
    trials = [json.loads(path.read_text()) for path in sorted(run.glob("trials/*/trial.json"))]
    assert {trial["path"] for trial in trials} == {path["name"] for path in manifest["experiment"]["paths"]}
    for trial in trials:
        # What a busy machine does, and no mistake of ours.
        assert {reason["kind"] for reason in trial["reasons"]} <= {"late-timers", "tester-limited"}, trial["reasons"]
        evidence = trial["evidence"]
        segments = {segment["link"]: segment for segment in evidence["segments"]}
        assert segments.keys() >= links.keys()
        assert all(segment["captured_packets"] > 0 and segment["capture_dropped"] == 0 for segment in segments.values())
        assert evidence["counters"].keys() == nodes.keys()
        for counters in evidence["counters"].values():
            # A stream of datagrams goes one way, and IPv4 not through a tunnel.
            ends = [interface for name, interface in counters["interfaces"].items() if name.startswith("eth")]
            assert ends
            assert all(end.get("rx_packets", 0) + end.get("tx_packets", 0) > 0 for end in ends)
        if trial["path"] in TUNNELS:
            assert sorted(evidence["tunnels"]) == TUNNELS[trial["path"]]
            for [end] in map(dict.values, evidence["tunnels"].values()):
                assert end["encapsulated"]["packets"] + end["decapsulated"]["packets"] > 0

    claims = re.findall(r"^  - claim: (\S+)$", (EXPERIMENTS / experiment / "published.yaml").read_text(), re.MULTILINE)
    actual_claims = json.loads((run / "findings.json").read_text())["claims"]
    assert [claim["claim"] for claim in actual_claims] == claims
    # What is decided by theory needs no trials; of one block nothing else is.
    assert {claim["verdict"] for claim in actual_claims} <= {
        "reproduced",
        "not reproduced",
        "undecided",
        "not testable here",
    }
