"""NAT-PT: the translator of nat64, and a DNS-ALG where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network

pytestmark = pytest.mark.computes

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  p: {path}
workloads: [ping]
"""


def network(read: Callable[[str], Experiment], path: str) -> Network:
    experiment = read(TEXT.format(path=path))
    return install(experiment.paths[0], experiment.topologies[0], experiment.between)


def test_the_node_that_translates_also_answers_for_names(read: Callable[[str], Experiment]) -> None:
    actual_network = network(read, "{nat-pt: {nodes: [r2], prefix: '2001:db8:7::/96'}}")
    as_nat64 = network(read, "{nat64: {nodes: [r2], prefix: '2001:db8:7::/96', dns64: r2}}")
    assert (actual_network.legs, actual_network.stages[-1], actual_network.resolvers) == (
        as_nat64.legs,
        as_nat64.stages[-1],
        as_nat64.resolvers,
    )
    [device] = actual_network.translators
    assert (device.device, device.through_node) == ("nat-pt-1", True)


def test_what_is_held_against_it_is_told() -> None:
    assert "RFC 4966" in MECHANISMS["nat-pt"].doc


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{nat-pt: {nodes: [r1], prefix: '2001:db8::/64'}}", "the prefix of nat-pt has 96 bits (RFC 2766 section 2)"),
        ("{nat-pt: {nodes: [r1], dns64: r1}}", 'unknown option of nat-pt "dns64"'),
        ("{nat-pt: [r1, r2]}", "nat-pt is installed on 1 nodes"),
        ("{nat-pt: [h1]}", '"h1" is a host'),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_line(
    problems: Callable[[str], list[str]], path: str, words: str
) -> None:
    [problem] = problems(TEXT.format(path=path))
    assert problem.startswith("test.yaml:7: ")
    assert words in problem
