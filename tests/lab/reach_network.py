"""Networks with servers that sixbench does not run, for tests of `sixbench reach`, and what it leaves of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.networks import execute

from sixbench.agent import AgentHub
from sixbench.bench import emulation
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

LINE = """
nodes: {h1: host, r1: router, h2: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, h2]}
"""
TIMEOUT_S = 300
NAME = "www.example.org"
SERVER = Path(__file__).with_name("reach_server.py")


@dataclass(frozen=True, kw_only=True)
class Internet:
    """A network with a server that sixbench does not run."""

    lab: Laboratory
    folder: Path
    resolver: str | None = None
    """The address of the resolver; None: the server answers look-ups, too."""

    def address(self, family: int, node: str = "h2") -> str:
        [link] = self.lab.topology.links_of(node)
        end = link.end_of(node)
        interface = end.ipv4 if family == 4 else end.ipv6
        assert interface is not None
        return str(interface.ip)

    def zone(self, records: dict[str, dict[str, Any]]) -> None:
        (self.folder / "zone.json").write_text(json.dumps(records))

    def execute(self, node: str, *argv: str) -> str:
        return execute(self.lab.agents[node], *argv)

    def within(self, node: str, *words: str | Path) -> list[str]:
        as_user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self.lab.agents[node].pid), "-n", *as_user, *map(str, words)]

    def words(self, *arguments: str, blocks: int = 3) -> list[str]:
        """The arguments of the command."""
        return [
            "reach",
            *arguments,
            "--resolver",
            self.resolver or self.address(4),
            "--blocks",
            str(blocks),
            "--mine",
            "-q",
        ]

    @property
    def trusted(self) -> str:
        """The file with the certificate that is trusted."""
        return str(self.folder / "ca.pem")

    def sixbench(self, *arguments: str) -> str:
        """The output of a command at the client."""
        done = subprocess.run(
            self.within("h1", sys.executable, "-m", "sixbench", *arguments),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            env=os.environ | {"SSL_CERT_FILE": self.trusted},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def reach(self, *arguments: str, blocks: int = 3, name: str = "run") -> dict[str, Any]:
        """The run's directory as data: manifest, trials and the terminal's report."""
        directory = self.folder / name
        text = self.sixbench(*self.words(*arguments, blocks=blocks), "--out", str(directory))
        return read(directory) | {"text": " ".join(text.split())}


def read(directory: Path) -> dict[str, Any]:
    """A run directory as data."""
    return {
        "manifest": json.loads((directory / "manifest.json").read_text()),
        "trials": read_trials(directory),
        "findings": json.loads((directory / "findings.json").read_text()),
    }


def read_trials(directory: Path) -> list[dict[str, Any]]:
    """The records of a run."""
    return [json.loads(path.read_text()) for path in sorted(directory.glob("trials/*/trial.json"))]


def network_of(hub: AgentHub, text: str) -> Laboratory:
    """The network of a description, without servers."""
    topology = read_topology_only(parse_yaml(text, "test.yaml"))
    probe = hub.start(["probe"])["probe"]
    [topology] = emulation.choose_emulators(probe, (topology,))
    hub.stop([probe])
    lab = Laboratory(hub, Blueprint(topology=topology))
    emulation.begin(lab, "reach")
    return lab


def with_client(lab: Laboratory, folder: Path, resolver: str | None = None) -> Internet:
    """The network with a client that may ping."""
    internet = Internet(lab=lab, folder=folder, resolver=resolver)
    internet.execute("h1", "sysctl", "-w", "net.ipv4.ping_group_range=0 2147483647")
    return internet


def started(hub: AgentHub, folder: Path, text: str, stack: ExitStack) -> Internet:
    """The network, with the servers up until the stack is closed."""
    lab = network_of(hub, text)
    internet = with_client(lab, folder)
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": [internet.address(6)]}})
    key, certificate = folder / "key.pem", folder / "ca.pem"
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl += ["-keyout", str(key), "-out", str(certificate), "-days", "30", "-subj", "/CN=test"]
    openssl += ["-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(openssl, check=True, capture_output=True)
    for node in lab.topology.nodes.values():
        if node.kind == "host" and node.name != "h1":
            words = internet.within(node.name, sys.executable, SERVER, folder / "zone.json", certificate, key, "443")
            process = stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            stack.callback(process.terminate)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
    return internet


def statuses(run: dict[str, Any], workload: str) -> dict[str, set[str]]:
    """The statuses of the trials of a workload, by path."""
    by_path: dict[str, set[str]] = {}
    for trial in run["trials"]:
        if trial["workload"] == workload:
            by_path.setdefault(trial["path"], set()).add(trial["status"])
    return by_path
