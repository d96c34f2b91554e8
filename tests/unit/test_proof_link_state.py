"""Reasons and remarks about interfaces that went down during a trial."""

from __future__ import annotations

from typing import Any

import pytest
from observed import by_node
from reasons import texts

from sixbench.bench.proof.link_state import link_failures
from sixbench.bench.proof.viewpoints import viewpoints
from sixbench.mechanisms import MECHANISMS, install
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

EXPERIMENT = """
experiment: states
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4}
workloads: [{ping: {duration: 1s}}]
"""

Counters = dict[str, dict[str, Any]]


def reasons_of(before: Counters, after: Counters) -> list[str]:
    experiment = read_experiment(parse_yaml(EXPERIMENT, "test.yaml"), MECHANISMS)
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    return texts(link_failures(viewpoints(network), by_node(before), by_node(after)))


def counters(**changes: dict[str, Any]) -> Counters:
    """All interfaces up; `r1_eth1={...}` changes one."""
    up: dict[str, Any] = {"is_up": True, "carrier_losses": 3}
    names = {"h1": ["eth0"], "r1": ["eth0", "eth1"], "h2": ["eth0"]}
    return {
        node: {"links": {name: _interface_answer(up | changes.get(f"{node}_{name}", {})) for name in interfaces}}
        for node, interfaces in names.items()
    }


def _interface_answer(state: dict[str, Any]) -> dict[str, Any]:
    """State as a kernel gives it: it leaves out what it does not count."""
    return {name: value for name, value in state.items() if value is not None}


def test_what_stays_up_is_not_mentioned() -> None:
    assert reasons_of(counters(), counters()) == []


def test_the_interface_that_is_down_is_named_and_not_its_peer() -> None:
    after = counters(r1_eth1={"is_up": False, "carrier_losses": 4}, h2_eth0={"carrier_losses": 4})
    assert reasons_of(counters(), after) == ["eth1 of r1 went down during the trial (link r1-h2)"]


def test_a_moment_without_carrier_names_both_ends() -> None:
    after = counters(h1_eth0={"carrier_losses": 4}, r1_eth0={"carrier_losses": 4})
    assert reasons_of(counters(), after) == ["eth0 of h1 and eth0 of r1 lost the carrier during the trial (link h1-r1)"]


@pytest.mark.parametrize("which", ["before", "after", "both"])
def test_nothing_is_said_of_nodes_that_could_not_be_asked(which: str) -> None:
    known = counters()
    nothing: Counters = {}
    assert reasons_of(nothing if which != "after" else known, nothing if which != "before" else known) == []


def test_a_kernel_that_does_not_count_still_tells_what_is_down() -> None:
    old = counters(h2_eth0={"carrier_losses": None})
    down = counters(h2_eth0={"carrier_losses": None, "is_up": False})
    assert reasons_of(old, old) == []
    assert reasons_of(old, down) == ["eth0 of h2 went down during the trial (link r1-h2)"]
