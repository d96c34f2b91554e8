"""Resolvers of others: what is started, with which configuration, and what is said where the program is missing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.bench.engines import _check_programs
from sixbench.engines import EBPF
from sixbench.lab.render import render_path, script_text
from sixbench.mechanisms import MECHANISMS, install
from sixbench.mechanisms.resolvers import RESOLVERS
from sixbench.model.errors import CapabilityError
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  p: {path}
workloads: [ping]
"""


def installed(read: Read, path: str) -> tuple[Experiment, Network]:
    experiment = read(TEXT.format(path=path))
    return experiment, install(experiment.paths[0], experiment.topologies[0], experiment.between)


@pytest.mark.parametrize("resolver", RESOLVERS)
def test_the_configuration_is_printed_and_the_resolver_is_asked(read: Read, resolver: str) -> None:
    path = f'{{nat64: {{nodes: [r2], dns64: r1, resolver: {resolver}, prefix: "2001:db8:7::/96"}}}}'
    _, network = installed(read, path)
    text = script_text(render_path(network, EBPF.name)["r1"])
    for part in ("2001:db8:7::/96", "h2. A 198.18.2.2", "h1. AAAA 2001:2::1", "ipv4only.arpa. A 192.0.0.170"):
        assert part in text
    assert f"mount -t tmpfs none {RESOLVERS[resolver].folder}" in text
    *_, begun, ready = network.stages
    [program] = begun["r1"].programs
    assert (program.name, program.package) == (RESOLVERS[resolver].program, RESOLVERS[resolver].package)
    request = ready["r1"].requests[0]
    assert (request.op, request.fields["resolver"]) == ("prefix-discover", "2001:2::2")
    assert request.check({"prefix": "2001:db8:7::/96"}) is None
    assert request.check({"prefix": "2001:db8:8::/96"}) == (
        f"{program.name} makes addresses in 2001:db8:8::/96, where 2001:db8:7::/96 was asked for"
    )


def test_a_clat_may_ask_a_resolver_of_others(read: Read) -> None:
    _, network = installed(read, "{464xlat: {nodes: [h1, r2], discovery: dns64, dns64: r2, resolver: bind9}}")
    programs = [
        (node, program.name)
        for stages in network.stages
        for node, stage in stages.items()
        for program in stage.programs
    ]
    assert programs == [("r2", "named")]


def test_a_missing_program_is_told_with_its_package(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, network = installed(read, "{nat64: {nodes: [r2], dns64: r1, resolver: unbound}}")
    monkeypatch.setenv("PATH", "/nowhere")
    words = r"paths\.p: the program unbound is missing \(Debian package unbound\)$"
    with pytest.raises(CapabilityError, match=words):
        _check_programs(experiment.paths[0], network, experiment.file)


def test_nat_pt_has_its_own_alg() -> None:
    assert MECHANISMS["nat-pt"].option("resolver") is None
