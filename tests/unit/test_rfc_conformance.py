"""The clauses of the benchmarking RFCs: each profile has its own, and each is decided of any run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import standard

from sixbench.mechanisms import MECHANISMS
from sixbench.model.procedure import PROFILES
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.rfc.conformance import JudgedClause, judged
from sixbench.rfc.design import design
from sixbench.rfc.profiles import CLAUSES
from sixbench.rfc.sizes import SIZES
from sixbench.store import Run

pytestmark = pytest.mark.computes


def decided(dut: str, profile: str) -> dict[str, JudgedClause]:
    """The clauses of a run that has no trials yet, by what they ask."""
    experiment = read_experiment(parse_yaml(f"dut: {dut}\nworkloads: [ping]\n", "x.yaml"), MECHANISMS)
    designed_experiment, procedure = design(experiment, profile, [], [], quick=True)
    manifest = replace(standard(1).manifest, experiment=designed_experiment, procedure=procedure)
    return {item.asks: item for item in judged(Run(directory=Path("none"), manifest=manifest, trials=[]))}


def test_each_profile_has_its_clauses_and_its_sizes() -> None:
    assert tuple(CLAUSES) == tuple(SIZES) == PROFILES


@pytest.mark.parametrize(
    ("dut", "profile"),
    [
        ("forwarding", "2544"),
        ("native6", "5180"),
        ("6in4", "8219"),
        ("{mechanism: {nat64: [r1]}}", "8219"),
        ("{mechanism: {nat64: [r1]}}", "9693"),
        ("{mechanism: {nat64: {nodes: [dut], dns64: dut}}}", "8219"),
        ("unbound", "8219"),
        ("tayga", "8219"),
        ("forwarding", "5180"),
        ("wire", "2544"),
        ("wire", "5180"),
        ("nftables-nat44", "2544"),
        ("nftables-nat44", "9693"),
        ("jool", "8219"),
        ("{ports: [eth1, eth2], description: x}", "2544"),
        ("{ports: [eth1, eth2], description: x}", "5180"),
        ("{ports: [eth1, eth2], description: x}", "8219"),
    ],
)
def test_every_clause_is_decided_with_a_reason_before_anything_was_measured(dut: str, profile: str) -> None:
    judged_clauses = decided(dut, profile)
    assert len(judged_clauses) == len(CLAUSES[profile]), "two clauses ask the same"
    assert all(
        judged_clause.reason and not judged_clause.reason.endswith(" ") for judged_clause in judged_clauses.values()
    )


def test_prefixes_of_other_lengths_are_of_paths_with_ipv6_and_those_of_48_bits_leave_the_range() -> None:
    clause = "several runs, with destination prefixes of 48, 64, 126 and 128 bits"
    assert "--quick: only the throughput is repeated" in decided("native6", "5180")[clause].reason
    assert decided("native4", "5180")[clause].state == "not applicable"
    addresses = decided("native6", "5180")["addresses of 2001:2::/48"]
    assert addresses.state == "not met"
    assert "frames of prefix-48 go to 2001:db8:fe00::/40" in addresses.reason


def test_a_link_that_is_narrower_than_the_others_breaks_the_clause_of_one_mtu() -> None:
    clause = "one MTU everywhere, of 1280 bytes and the overhead"
    assert decided("{mechanism: 6in4, mtu: 1500}", "8219")[clause].state == "met"
    narrow = decided("{mechanism: 4in6, mtu: 1310}", "8219")[clause]
    assert (narrow.state, narrow.reason) == (
        "not met",
        "all links have an MTU of 1310 bytes, by the experiment, which is less than 1320",
    )


def test_automatic_addresses_are_of_the_range_but_not_of_its_halves() -> None:
    judged_clauses = decided("native4", "2544")
    assert judged_clauses["addresses of 198.18.0.0/15"].state == "met"
    apart = judged_clauses["198.18 on the input side, 198.19 on the output side"]
    assert apart.state == "not met"
    assert "198.18.0.1" in apart.reason
    prefixes = decided("native6", "5180")["prefixes of the device's interfaces of 64 bits or fewer, or of 126"]
    assert (prefixes.state, prefixes.reason) == ("met", "prefixes of 64 bits")


def test_connections_are_for_devices_that_keep_state() -> None:
    clause = "stateful: connections of HTTP (RFC 3511 sections 5.2.2.2 and 5.3.2.2)"
    assert decided("{mechanism: {nat64: [r1]}}", "8219")[clause].state == "not met"
    assert decided("6in4", "8219")[clause].state == "not applicable"


def test_a_test_that_could_not_be_done_is_not_called_inapplicable() -> None:
    judged_clauses = decided("forwarding", "2544")
    for clause in ("back-to-back frames: the longest burst, 50 times", "system recovery after 110 % of the throughput"):
        assert judged_clauses[clause].state == "not met"
        assert "no throughput is known" in judged_clauses[clause].reason
