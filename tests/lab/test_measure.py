"""`sixbench measure` and `serve` as two machines would: in two namespaces, with a router between."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab.experiments import TESTERS

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

LINE = """
nodes: {h1: host, r1: router, h2: host}
links:
  - {endpoints: [h1, r1], rate: 100Mbit}
  - {endpoints: [r1, h2], rate: 100Mbit, mtu: MTU}
"""

NARROW_BYTES = 1300
TIMEOUT_S = 100
SHORT = ("-t", "0.3", "-O", "0.1")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two machines: commands run on either."""

    lab: Laboratory
    key: Path

    def words(self, node: str, *arguments: str | Path) -> list[str]:
        as_user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        where = ["nsenter", "-t", str(self.lab.agents[node].pid), "-n", *as_user]
        return [*where, sys.executable, "-m", "sixbench", *map(str, arguments)]

    @property
    def client(self) -> dict[int, str]:
        return self._addresses("h1")

    @property
    def server(self) -> dict[int, str]:
        return self._addresses("h2")

    def _addresses(self, node: str) -> dict[int, str]:
        [link] = self.lab.topology.links_of(node)
        end = link.end_of(node)
        assert end.ipv4 is not None
        assert end.ipv6 is not None
        return {4: str(end.ipv4.ip), 6: str(end.ipv6.ip)}

    @property
    def both(self) -> str:
        return f"{self.server[4]},{self.server[6]}"

    @contextmanager
    def serving(self, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
        """`sixbench serve` on the second machine, from when it listens."""
        words = self.words("h2", "serve", "-B", "0.0.0.0,::", "--key", self.key, *arguments)
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            try:
                assert json.loads(process.stdout.readline())["key"] is True
                yield process
            finally:
                process.terminate()

    def measure(self, *arguments: str | Path, key: Path | None = None) -> subprocess.CompletedProcess[str]:
        words = self.words("h1", "measure", *arguments, "--key", key or self.key)
        return subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    def document(self, *arguments: str | Path) -> dict[str, Any]:
        """Document that `-J` prints. Trials that a busy machine spoiled are no fault of ours: their reasons say so."""
        done = self.measure(*arguments, "-J")
        document: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
        wrong = [
            (trial["key"], reason)
            for trial in document["trials"]
            for reason in trial["reasons"]
            if reason["kind"] not in TESTERS
        ]
        assert wrong == [], done.stderr
        return document


@pytest.fixture
def pair(hub: AgentHub, tmp_path: Path, sixbench: Callable[..., Any]) -> Callable[..., Pair]:
    def make(mtu: int = 1500) -> Pair:
        text = LINE.replace("MTU", str(mtu))
        lab = Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(text, "test.yaml"))))
        key = tmp_path / "key"
        assert sixbench("key", key).returncode == 0
        return Pair(lab=lab, key=key)

    return make


@pytest.mark.parametrize("direction", [(), ("-R",), ("-u", "-b", "5M")])
def test_on_a_terminal_what_arrives_is_told_while_it_does(
    pair: Callable[..., Pair], direction: tuple[str, ...]
) -> None:
    machines = pair()
    terminal, its_other_end = os.openpty()
    with machines.serving(), os.fdopen(terminal, "rb", buffering=0) as shown:
        words = machines.words(
            "h1", "measure", machines.server[6], "--key", machines.key, "-t", "2", "-i", "0.2", *direction
        )
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=its_other_end, text=True) as process:
            os.close(its_other_end)
            content, lines = b"", re.compile(rb"\[ipv6\](?: back)? [\d.]+ to [\d.]+ s  [\d.]+ [kMG]?bit/s")
            while not lines.search(content):
                content += shown.read(4096)
            assert process.poll() is None, "it came before the end"
            assert process.stdout is not None
            assert "Interval" in process.stdout.read()


def test_both_families_in_turn_and_the_comparison(pair: Callable[..., Pair], tmp_path: Path, sixbench: Any) -> None:
    machines = pair()
    with machines.serving():
        document = machines.document(machines.both, "-46", *SHORT, "--blocks", "2")
        assert document["schema"] == "sixbench.measurement/1"
        assert sorted(trial["path"] for trial in document["trials"]) == ["ipv4", "ipv4", "ipv6", "ipv6"]
        order = [trial["path"] for trial in document["trials"]]
        assert order[:2] == order[2:][::-1], "the second block mirrors the first"
        for item in document["paths"]:
            assert item["client"] == machines.client[item["family"]]
            assert item["server"] == machines.server[item["family"]]
        goodput = [finding for finding in document["findings"] if finding["metric"] == "goodput"]
        assert [(finding["path"], finding["baseline"], finding["n"]) for finding in goodput] == [("ipv6", "ipv4", 2)]
        assert goodput[0]["ci_low"] <= goodput[0]["ratio"] <= goodput[0]["ci_high"]
        assert document["proved"] is False
        kept = machines.measure(machines.both, "-46", *SHORT, "--blocks", "2", "--out", tmp_path / "run")
        assert kept.returncode == 0, kept.stderr
        assert "ipv6 against ipv4" in kept.stdout
        assert "Not proved" in kept.stdout
    reported = sixbench("report", tmp_path / "run")
    assert reported.returncode == 0
    assert "4 trials: 4 ok" in reported.stdout
    assert sixbench("resume", tmp_path / "run").returncode == 2


@pytest.mark.parametrize("family", [4, 6])
def test_letters(pair: Callable[..., Pair], family: int) -> None:
    machines = pair()
    options = (machines.server[family], f"-{family}")
    with machines.serving():
        [reverse] = machines.document(*options, *SHORT, "-R", "-i", "0.1")["trials"]
        assert "reverse_receiver" in reverse["series"]
        assert len(reverse["series"]["reverse_receiver"]["t_ns"]) == 3
        assert 50e6 < reverse["metrics"]["goodput_bps"] < 100e6
        [both] = machines.document(*options, *SHORT, "--bidir", "-P", "2")["trials"]
        assert {"goodput_bps", "goodput_reverse_bps"} <= both["metrics"].keys()
        [whole] = machines.document(*options, "-n", "100K", "-w", "64K", "-M", "1000", "-N", "-C", "reno")["trials"]
        assert whole["server"]["forward_receiver"]["received_bytes"] == 102_400
        [udp] = machines.document(*options, *SHORT, "-u", "-b", "5M", "-l", "500")["trials"]
        assert udp["metrics"]["loss_ratio"] == 0
        assert udp["params"]["datagram_bytes"] == 500
        assert not [name for name in udp["metrics"] if name.startswith("one_way_delay")]
        [rr] = machines.document(*options, *SHORT, "--workload", "udp-rr", "--set", "message=200B")["trials"]
        assert rr["metrics"]["transactions_rate_per_s"] > 0
        [ping] = machines.document(*options, "--workload", "ping", "-t", "0.2", "-i", "0.02")["trials"]
        assert ping["client"]["received"] >= 1


@pytest.mark.parametrize(
    ("workload", "settings", "protocol", "answers", "metric"),
    [
        ("http", ("version=3", "objects=3"), "h3", 15, "page_p50_ns"),
        ("dns", ("over=tls",), "dot", 5, "transaction_p50_ns"),
    ],
)
def test_applications_in_both_families(
    pair: Callable[..., Pair], workload: str, settings: tuple[str, ...], protocol: str, answers: int, metric: str
) -> None:
    machines = pair()
    words = [word for setting in settings for word in ("--set", setting)]
    with machines.serving():
        document = machines.document(
            machines.both, "-46", "--workload", workload, *words, "-k", "5", "-O", "0", "--blocks", "1"
        )
    assert sorted(trial["path"] for trial in document["trials"]) == ["ipv4", "ipv6"]
    for trial in document["trials"]:
        assert trial["client"]["protocols"] == {protocol: answers}
        assert trial["metrics"][metric] > 0
        assert trial["server"]["strays"] == {"connections": 0, "datagrams": 0}
        assert trial["evidence"]["server"] == machines.server[4 if trial["path"] == "ipv4" else 6]


@pytest.mark.parametrize("family", [4, 6])
def test_datagrams_from_the_server(pair: Callable[..., Pair], family: int) -> None:
    machines = pair()
    options = (machines.server[family], f"-{family}", *SHORT, "-u", "-b", "2M")
    with machines.serving():
        [reverse] = machines.document(*options, "-R")["trials"]
        assert reverse["metrics"]["loss_ratio"] == 0
        [both] = machines.document(*options, "--bidir")["trials"]
        assert {"goodput_bps", "goodput_reverse_bps"} <= both["metrics"].keys()


def test_the_path_mtu_behind_a_narrow_link(pair: Callable[..., Pair]) -> None:
    machines = pair(NARROW_BYTES)
    with machines.serving():
        document = machines.document(machines.both, "-46", "--pmtu")
        assert sorted(trial["path"] for trial in document["trials"]) == ["ipv4", "ipv6"]
        for trial in document["trials"]:
            forward, reverse = trial["client"]["forward"], trial["server"]["reverse"]
            assert (forward["probed_bytes"], forward["interface_bytes"]) == (NARROW_BYTES, 1500)
            assert (reverse["probed_bytes"], reverse["interface_bytes"]) == (NARROW_BYTES, NARROW_BYTES)
            assert forward["limiting_hop"]["index"] == 1
            assert trial["metrics"]["pmtu_kernel_bytes"] == NARROW_BYTES
            assert trial["notes"][0].startswith("verdict: discovered-by-icmp")
        text = machines.measure(machines.server[6], "--pmtu").stdout
    assert re.search(rf"probing found +{NARROW_BYTES} B +{NARROW_BYTES} B\n", text)
    assert re.search(r"limited by +hop 1 \(2001:[0-9a-f:]+\) +none\n", text)
    assert "verdict on ipv6: discovered-by-icmp" in text


def test_interval_lines_and_a_summary(pair: Callable[..., Pair]) -> None:
    machines = pair()
    with machines.serving():
        done = machines.measure(machines.server[6], *SHORT, "-i", "0.1")
    assert done.returncode == 0, done.stderr
    assert f"[ipv6] local {machines.client[6]}, remote {machines.server[6]}" in done.stdout
    assert re.search(r"Interval +Transfer +Bitrate", done.stdout)
    assert len(re.findall(r"^  0\.[0-9]{2}-0\.[0-9]{2} s .* [kMG]bit/s", done.stdout, re.M)) == 4
    assert re.search(r"Goodput +[0-9.]+ Mbit/s", done.stdout)


def test_what_cannot_be_said_in_one_sentence(pair: Callable[..., Pair], tmp_path: Path, sixbench: Any) -> None:
    machines = pair()
    wrong, open_to_all = tmp_path / "wrong", tmp_path / "open"
    for key in (wrong, open_to_all):
        assert sixbench("key", key).returncode == 0
    open_to_all.chmod(0o644)
    host = machines.server[4]
    with machines.serving("--max-duration", "20"):
        output = {
            "another key": (3, machines.measure(host, *SHORT, key=wrong)),
            "a key for all to read": (2, machines.measure(host, *SHORT, key=open_to_all)),
            "no such port": (3, machines.measure(host, "-p", "5999", *SHORT)),
            "no such family": (3, machines.measure(host, "-6", *SHORT)),
            "over a limit": (3, machines.measure(host, "-t", "60")),
            "unlimited": (3, machines.measure(host, "-u", "-b", "0")),
            "pages over a limit": (3, machines.measure(host, "--workload", "http", "-l", "1G", "--set", "objects=9")),
            "a letter": (2, machines.measure(host, "-u", "-M", "1000")),
        }
        assert machines.measure(host, *SHORT).returncode == 0, "nothing of this harmed the server"
    for what, (code, done) in output.items():
        assert done.returncode == code, (what, done.stderr)
        assert done.stderr.startswith("sixbench: "), what
        assert len(done.stderr.splitlines()) == 1, what
        assert "Traceback" not in done.stderr
    assert "max-duration" in output["over a limit"][1].stderr
    assert "max-rate" in output["pages over a limit"][1].stderr


def link_local(machines: Pair, node: str, device: str) -> str:
    """A link-local address of an interface of a node."""
    inside = ["nsenter", "-t", str(machines.lab.agents[node].pid), "-n"]
    as_user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
    words = [*inside, *as_user, "ip", "-j", "-6", "address", "show", "dev", device, "scope", "link"]
    [interface] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return str(interface["addr_info"][-1]["local"])


def test_link_local_addresses_are_measured_on_their_interface(pair: Callable[..., Pair]) -> None:
    machines = pair()
    server, client = (link_local(machines, node, device) for node, device in (("h2", "eth0"), ("r1", "eth1")))
    with machines.serving("-B", f"{server}%eth0"):
        for options in (SHORT, ("-u", "-R", "-B", f"{client}%eth1", *SHORT), ("--workload", "connections", "-k", "10")):
            words = machines.words("r1", "measure", f"{server}%eth1", "--key", machines.key, "-J", *options)
            done = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
            assert done.returncode == 0, done.stderr
            [trial] = json.loads(done.stdout)["trials"]
            assert (trial["evidence"]["client"], trial["evidence"]["server"]) == (client, server)
        refused = machines.words("r1", "measure", server, "--key", machines.key)
        done = subprocess.run(refused, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 2
        assert "is a link-local address; add the interface of this machine, such as" in done.stderr


@contextmanager
def measuring(machines: Pair, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A measurement that has begun."""
    words = machines.words("h1", "measure", *arguments, "--key", machines.key)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "tcp-rr to" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def test_ctrl_c_ends_it_and_leaves_the_server_free(pair: Callable[..., Pair]) -> None:
    machines = pair()
    with machines.serving("--max-clients", "1"):
        with measuring(
            machines, machines.both, "-46", "--workload", "tcp-rr", "-k", "5", "--blocks", "1000"
        ) as process:
            assert process.stdout is not None
            while not process.stdout.readline().startswith("[   2/2000]"):
                pass
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=30)
        assert process.returncode == 130
        assert re.fullmatch("sixbench: stopped after [0-9]+ of 2000 trials\n", stderr)
        assert "Not proved" in stdout, "what was done is shown"
        assert machines.measure(machines.server[4], *SHORT).returncode == 0


def test_a_server_that_dies_in_mid_trial_is_named(pair: Callable[..., Pair]) -> None:
    machines = pair()
    host = machines.server[6]
    with machines.serving() as server, measuring(machines, host, "--workload", "tcp-rr", "-t", "20") as process:
        server.kill()
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 4, stderr
    assert f"failed: {host} was lost during the trial: " in stdout
