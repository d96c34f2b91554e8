"""Networks on the page, and a packet's way through them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.model.experiment import Experiment
from sixbench.ui.learn import lesson
from sixbench.ui.runs import topology

pytestmark = pytest.mark.computes

EXPERIMENT = """
title: A line
topology:
  nodes: {h1: host, r1: router, h2: host}
  links:
    - {endpoints: [h1, r1], mtu: [1304, 1500, 9000], forward: {rate: 10Mbit}, reverse: {rate: 50Mbit}}
    - {endpoints: [r1, h2], mtu: 9000, rate: [10Mbit, 1Gbit]}
    - {endpoints: [h2, h1], ipv6: none}
paths: {ipv4: native4, ipv6: native6}
workloads: [{ping: {count: 10}}]
"""


def test_a_link_is_shown_with_all_its_rates_and_mtus(read: Callable[[str], Experiment]) -> None:
    drawn = topology(read(EXPERIMENT))
    assert drawn is not None
    first, second, third = drawn["links"]
    assert (first["rates"], first["mtus"]) == ("10/50 Mbit/s", "1304, 1500, 9000")
    assert first["words"] == "from h1: 10 Mbit/s; from r1: 50 Mbit/s"
    assert (second["rates"], second["mtus"]) == ("10 Mbit/s, 1 Gbit/s", "9000")
    assert (third["rates"], third["mtus"]) == ("", "1500")


@pytest.mark.parametrize(
    ("path", "node", "outside", "first_ports", "is_first"),
    [
        ("map-t", "r1", "192.0.2.1", "1024-1039", True),
        ("map-e", "r1", "192.0.2.1", "1024-1039", True),
        ("lw4o6", "r1", "192.0.2.1", "1024-2047", True),
        ("ds-lite", "r2", "198.18.2.1", None, False),
        ("nat64", "r1", "198.18.1.1", None, False),
        ("464xlat", "r2", "198.18.2.1", None, False),
    ],
)
def test_a_lesson_has_the_nat44_of_a_mechanism(
    path: str, node: str, outside: str, first_ports: str | None, is_first: bool
) -> None:
    """The node, the source that the packet gets, its ports, and whether it gets them before it is translated."""
    [step] = [step for step in lesson(path, 1280)["steps"] if step.get("nat44")]
    nat44 = step["nat44"]
    assert (step["near"], nat44["outside"], nat44["is_first"]) == (node, outside, is_first)
    assert next(iter(nat44["ports"]), None) == first_ports


@pytest.mark.parametrize("path", ["6in4", "gre", "siit", "ipv4"])
def test_a_lesson_of_a_path_without_nat44_has_none(path: str) -> None:
    assert not any(step.get("nat44") for step in lesson(path, 1280)["steps"])
