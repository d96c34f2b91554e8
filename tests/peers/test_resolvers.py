"""Debian's unbound and BIND 9 in the place of our resolver: the same names, the same questions, the same answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network, ip_address
from pathlib import Path

import pytest

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.laboratory import Laboratory
from sixbench.engines import EBPF
from sixbench.mechanisms import MECHANISMS, install
from sixbench.mechanisms.resolving import with_dns64
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

OURS, OTHERS = "own", {"unbound": "unbound", "bind9": "named"}
NETWORK = """\
topology:
  nodes: {client: host, r1: router, server: host}
  links: [{endpoints: [client, r1]}, {endpoints: [r1, server]}]
between: [client, server]
paths:
  own: {nat64: {nodes: [r1], dns64: r1}}
  unbound: {nat64: {nodes: [r1], dns64: r1, resolver: unbound}}
  bind9: {nat64: {nodes: [r1], dns64: r1, resolver: bind9}}
workloads: [ping]
"""
QUESTIONS = (
    *("server AAAA", "SERVER AAAA", "server A", "client AAAA", "client A", "r1 AAAA", "r1 A"),
    *("nobody AAAA", "nobody A", "server.nobody AAAA", "server TXT", "client-eth0 AAAA", "client-eth0 A"),
    *("ipv4only.arpa AAAA", "ipv4only.arpa A", "-x 198.18.1.2", "-x 2001:2::1"),
    *("+tcp server AAAA", "+dnssec server AAAA", "+cdflag +dnssec r1 AAAA"),
)
"""Questions of `dig`: synthesis, addresses that are kept, pointers, the name of RFC 7050, and what is not there."""
CHECKED = "+cdflag +dnssec server AAAA"
POINTER = "-x 2001:db8:64::c612:102"

Answer = tuple[str, list[list[str]]]
Ask = Callable[[str, tuple[str, ...]], list[Answer]]


@pytest.fixture(autouse=True)
def _programs() -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    missing = [name for name in (*OTHERS.values(), "dig") if shutil.which(name, path=path) is None]
    if missing:
        if os.environ.get("SIXBENCH_EXPECT_RESOLVERS") == "1":
            pytest.fail(f"{missing[0]} is not installed")
        pytest.skip(f"{missing[0]} is not installed; its package starts a resolver, so make does not install it")


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Asks a path's resolver from the client: the status of each answer and its records, sorted, without how long they
    may be kept."""
    file = tmp_path / "network.yaml"
    file.write_text(NETWORK)
    command = [sys.executable, "-m", "sixbench", "lab"]

    def asked(path: str, questions: tuple[str, ...]) -> list[Answer]:
        lab = f"names-by-{path}"
        subprocess.run([*command, "up", str(file), "--path", path, "--lab", lab], check=True, capture_output=True)
        try:
            dig = "dig @2001:2::2 +noall +answer +comments"
            script = "".join(f"{dig} {question}; echo =====\n" for question in questions)
            words = [*command, "exec", "--lab", lab, "client", "--", "sh", "-c", script]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
        finally:
            subprocess.run([*command, "down", "--lab", lab], check=True, capture_output=True)
        return [read(text) for text in done.stdout.split("=====\n")[:-1]]

    return asked


def read(text: str) -> Answer:
    [status] = [line.partition("status: ")[2].partition(",")[0] for line in text.splitlines() if "status: " in line]
    records = [line.split() for line in text.splitlines() if line and not line.startswith(";")]
    return status, sorted([owner.lower(), kind, data] for owner, _, _, kind, data in records)


@pytest.mark.parametrize("other", OTHERS)
def test_ours_and_others_answer_the_same(ask: Ask, other: str) -> None:
    questions = (*QUESTIONS, CHECKED, POINTER)
    *ours, checked, pointer = ask(OURS, questions)
    *theirs, other_checked, other_pointer = ask(other, questions)
    for question, our, its in zip(QUESTIONS, ours, theirs, strict=True):
        assert our == its, question
    # Who checks signatures gets nothing that was made up (RFC 6147 section 5.5). BIND makes it where nothing is signed.
    assert checked == ("NOERROR", [])
    synthesised = ("NOERROR", [["server.", "AAAA", "2001:db8:64::c612:102"]])
    assert other_checked == (synthesised if other == "bind9" else checked)
    # Ours and BIND's have a CNAME besides (RFC 6147 section 5.3.1 has both ways).
    records = [record[1:] for record in pointer[1]]
    assert sorted(records) == [["CNAME", "2.1.18.198.in-addr.arpa."], ["PTR", "server."]]
    expected = [["PTR", "server."]] if other == "unbound" else records
    assert (other_pointer[0], [record[1:] for record in other_pointer[1]]) == ("NOERROR", expected)


MIXED = {
    "r1": ["2001:2::2"],
    "both": ["198.18.1.3", "2001:db8::3"],
    "mapped": ["198.18.1.4", "::ffff:198.18.1.4"],
    "partly": ["198.18.1.5", "::ffff:198.18.1.5", "2001:db8::5"],
}
KEPT = {"both": ["2001:db8::3"]}
EXCLUDED = {"mapped": ["2001:db8:64::c612:104"], "partly": ["2001:db8::5"]}
NOT_EXCLUDED = {"mapped": ["::ffff:198.18.1.4"], "partly": ["2001:db8::5", "::ffff:198.18.1.5"]}


@pytest.mark.parametrize(("resolver", "message"), [(OURS, EXCLUDED), ("bind9", EXCLUDED), ("unbound", NOT_EXCLUDED)])
def test_ipv6_addresses_are_kept_and_mapped_ones_are_excluded(resolver: str, message: dict[str, list[str]]) -> None:
    """RFC 6147 sections 5.1.1 and 5.1.4. unbound has no setting for addresses that are excluded."""
    experiment = read_experiment(parse_yaml(f"experiment: names\n{NETWORK}", "test.yaml"), MECHANISMS)
    path = experiment.path(resolver)
    names = {name: [ip_address(address) for address in addresses] for name, addresses in MIXED.items()}
    plain = install(replace(path, options={}), experiment.topologies[0], experiment.between)
    prefix = IPv6Network("2001:db8:64::/96")
    network = with_dns64(path, plain, "r1", [IPv6Address("2001:2::2")], names, prefix)
    with AgentHub(find_agent()) as hub:
        laboratory = Laboratory(hub, network, EBPF.name)
        try:
            for name, expected in (KEPT | message).items():
                dig = ["dig", "@2001:2::2", "+short", name, "AAAA"]
                done = laboratory.agents["client"].call("exec", argv=dig)
                assert sorted(done["stdout"].split()) == sorted(expected), name
            assert [*laboratory.versions] == ([] if resolver == OURS else ["r1"])
        finally:
            laboratory.close()


def test_questions_of_the_workload_dns64_are_answered_rightly_by_each(tmp_path: Path) -> None:
    """RFC 8219 section 9: the server is the authority of names that nobody asked for before."""
    file = tmp_path / "questions.yaml"
    paths = NETWORK.replace("workloads: [ping]\n", "")
    file.write_text(f"{paths}workloads: [{{dns64: {{rate: 200, duration: 300ms}}}}]\nblocks: 1\n")
    command = [sys.executable, "-m", "sixbench", "run", str(file), "--out", str(tmp_path / "run"), "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    trials = [json.loads(item.read_text()) for item in (tmp_path / "run").glob("trials/*/trial.json")]
    assert sorted(trial["path"] for trial in trials) == sorted((OURS, *OTHERS))
    for trial in trials:
        # A busy machine may keep the client from asking in time, which is no fault of the resolver.
        wrong = [reason["text"] for reason in trial["reasons"] if reason["kind"] != "tester-limited"]
        assert wrong == []
        assert trial["metrics"]["questions_wrong_ratio"] == trial["metrics"]["questions_failed_ratio"] == 0
        assert trial["client"]["right"] > 0
