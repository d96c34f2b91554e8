"""The workload `dns64`: over which paths it goes, how, and what follows from the agents' results."""

from __future__ import annotations

from typing import Any

import pytest
from workload_results import GOOD

from sixbench.mechanisms import MECHANISMS, install
from sixbench.mechanisms.asking import asked_prefix, unasked, with_questions
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import TrialMeasurements
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

TEXT = """\
topology:
  nodes: {{client: host, r1: router, server: host}}
  links: [{{endpoints: [client, r1]}}, {{endpoints: [r1, server]}}]
between: [client, server]
paths:
  p: {path}
workloads:
  - dns64: {dns64}
"""
UNBOUND = "{nat64: {nodes: [r1], dns64: r1, resolver: unbound}}"


def read(path: str = UNBOUND, dns64: str = "{rate: 100}") -> Experiment:
    return read_experiment(parse_yaml("experiment: x\n" + TEXT.format(path=path, dns64=dns64), "x.yaml"), MECHANISMS)


@pytest.mark.parametrize(
    ("path", "dns64", "words"),
    [
        ("native6", "{rate: 100}", "it has no resolver with DNS64"),
        ("{nat64: [r1]}", "{rate: 100}", "it has no resolver with DNS64"),
        (UNBOUND, "{duration: 1s}", "rate is missing, such as rate: 1000"),
        (UNBOUND, "{rate: 60000}", "rate: it is too high: 50000 questions can be waited for at once"),
        (UNBOUND, "{rate: 300000}", "200000"),
        (UNBOUND, "{rate: 100, timeout: 2s}", "1s"),
    ],
)
def test_what_cannot_be_asked_is_refused(path: str, dns64: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        read(path, dns64)


def test_the_server_itself_can_be_asked_where_there_is_no_resolver() -> None:
    assert read("native6", "{rate: 100, self-test: true}").combinations


def test_questions_go_to_the_resolver_and_from_there_to_the_server_over_ipv4() -> None:
    experiment = read()
    [path] = experiment.paths
    network = with_questions(path, install(path, experiment.topologies[0], experiment.between))
    assert [(leg.family, leg.near, leg.far) for leg in network.legs] == [(6, "client", "r1"), (4, "r1", "server")]
    assert [str(leg.destination) for leg in network.legs] == ["2001:2::2", "198.18.1.2"]
    assert network.translators == ()
    limits = [(crossing.ip[0].hop_limit, crossing.ip[0].reverse_hop_limit) for crossing in network.crossings]
    assert limits == [(64, 64), (64, 64)], "the resolver's packets are its own"
    assert str(asked_prefix(path)) == "2001:db8:64::/96"
    assert unasked(path) is None


@pytest.mark.parametrize(
    ("path", "tracks"), [("{nat64: {nodes: [r1], dns64: r1}}", True), ("{trt: {nodes: [r1], dns64: r1}}", False)]
)
def test_our_own_resolver_asks_the_server_for_the_names_of_the_test(path: str, tracks: bool) -> None:
    experiment = read(path)
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    [started] = [
        (stage, request)
        for stages in network.stages
        for stage in stages.values()
        for request in stage.requests
        if request.op == "dns-start"
    ]
    stage, request = started
    assert request.fields["forward"] == {"zone": "dns64perf.test", "server": "198.18.1.2"}
    # Where nothing is tracked, nothing has to be left out, and nftables is not needed for it.
    assert ("ip daddr 198.18.1.2 udp dport 53 notrack" in stage.nft) is tracks
    assert unasked(experiment.paths[0]) is None


def test_clients_of_ipv4_ask_no_dns64() -> None:
    with pytest.raises(ExperimentError, match="its client has IPv4, and a DNS64 is for clients of IPv6"):
        read("{464xlat: {nodes: [client, r1], discovery: dns64, dns64: r1}}")


@pytest.mark.parametrize(
    ("resolver", "lines"),
    [
        ("unbound", ['name: "dns64perf.test"', "stub-addr: 198.18.1.2", 'local-zone: "test." nodefault']),
        ("bind9", ['zone "dns64perf.test" { type static-stub; server-addresses { 198.18.1.2; }; };']),
    ],
)
def test_the_resolver_knows_the_authority_and_its_questions_are_not_tracked(resolver: str, lines: list[str]) -> None:
    experiment = read(UNBOUND.replace("unbound", resolver))
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    stages = [stage for stages in network.stages for stage in stages.values() if stage.programs]
    [program] = stages[0].programs
    assert all(line in (program.stdin or "") for line in lines)
    assert "ip daddr 198.18.1.2 udp dport 53 notrack" in stages[0].nft


def measured(**client: Any) -> TrialMeasurements:
    params, good, server = GOOD["dns64"]
    return WORKLOADS["dns64"].summarise(params, {**good, **client}, server)


def test_only_right_answers_in_time_count() -> None:
    actual_measured = measured()
    assert actual_measured.invalid == []
    assert actual_measured.metrics["questions_answered_ratio"] == 0.7
    assert actual_measured.metrics["questions_wrong_ratio"] == 0.1
    assert actual_measured.metrics["questions_failed_ratio"] == 0.1
    assert actual_measured.metrics["questions_unanswered_ratio"] == 0.1
    assert actual_measured.notes == [
        "the resolver failed: 1 SERVFAIL",
        "1 answers did not have the one right address",
        "1 answers came after the timeout",
    ]


def test_questions_that_were_not_asked_when_due_say_nothing_of_the_resolver() -> None:
    [reason] = measured(sent=9, due=10, right=6).invalid
    assert reason.kind is ReasonKind.TESTER_LIMITED
    assert "9 questions were asked" in reason.text
    late = GOOD["dns64"][1]["lateness"] | {"p999": 20_000_000}
    [reason] = measured(lateness=late).invalid
    assert "asked 20 ms late or later" in reason.text
