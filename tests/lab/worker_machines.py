"""Machines that play workers: hosts of a network of namespaces, each with processes of its own.

A run sees the others that measure on its machine by their processes. So a machine here has a namespace of processes:
its workers measure beside those of the others, as workers on real machines do.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab.commands import WITHOUT_FIGURES
from waiting import wait_for

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

TWO = ("lab1", "lab2")
PAGE = Path(__file__).parents[2] / "docs/many-machines.md"
PORT = 8786


class Machines:
    """`head` has the scheduler and the orchestrator, the others are workers.

    Args:
        scratch: for their key and what they say.
    """

    def __init__(self, lab: Laboratory, scratch: Path) -> None:
        self._lab = lab
        self._scratch = scratch
        self._begun: list[subprocess.Popen[bytes]] = []
        self.key = scratch / "workers.key"
        self.key.write_text("5a" * 32 + "\n")
        self.key.chmod(0o600)
        [link] = lab.topology.links_of("head")
        end = link.end_of("head")
        assert end.ipv4 is not None
        self.address = f"{end.ipv4.ip}:{PORT}"

    def begin(self, machine: str, *arguments: str | Path, log: str | None = None) -> subprocess.Popen[bytes]:
        """Starts the command on a machine. Its output is in a file that has the command's name, or that of `log`; a
        kill takes all that it started with it, as a machine does that loses its power. So does the end of this process,
        however it ends."""
        as_user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        where = ["nsenter", "-t", str(self._lab.agents[machine].pid), "-n", *as_user]
        tied = ["setpriv", "--pdeathsig", "KILL"]  # after nsenter: new rights in a user namespace would undo it
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        words = [*where, *tied, *alone, *WITHOUT_FIGURES, *map(str, arguments)]
        with (self._scratch / f"{machine}-{log or arguments[0]}.log").open("ab") as output:
            process = subprocess.Popen(words, stdout=output, stderr=output, cwd=self._scratch, start_new_session=True)
        self._begun.append(process)
        return process

    def output_of(self, machine: str, command: str) -> str:
        """Output of a command on a machine so far."""
        return (self._scratch / f"{machine}-{command}.log").read_text(errors="replace")

    def scheduler(self) -> subprocess.Popen[bytes]:
        """Starts the scheduler, and waits until it listens."""
        begun = self._count("head", "scheduler", "listens on")
        process = self.begin("head", *self.documented("head", "scheduler"))
        wait_for(lambda: self._count("head", "scheduler", "listens on") > begun)
        return process

    def workers(self, *names: str) -> dict[str, subprocess.Popen[bytes]]:
        """Starts workers, and waits until they have joined."""
        begun = {name: self.begin_worker(name) for name in names}
        wait_for(lambda: all(self._count(name, "worker", "is a worker") for name in names))
        return begun

    def begin_worker(self, name: str) -> subprocess.Popen[bytes]:
        """Starts a worker, which joins when it can."""
        words = self.documented(name if name in TWO else TWO[0], "worker")
        return self.begin(name, *words, "--name", name)  # they share the host's name

    def _count(self, machine: str, command: str, words: str) -> int:
        log = self._scratch / f"{machine}-{command}.log"
        return log.read_text(errors="replace").count(words) if log.exists() else 0

    def run(self, *arguments: str | Path, log: str | None = None) -> subprocess.Popen[bytes]:
        """Starts a run, or goes on with one."""
        return self.begin("head", *arguments, "--workers", self.address, "--key", self.key, "--quiet", log=log)

    def documented(self, machine: str, command: str) -> list[str]:
        """A command on a machine as the page has it, with the addresses and the key of this network."""
        of_workers = PAGE.read_text().partition("\n## Workers\n")[2]
        [match_] = re.findall(rf"^{machine}\$ sixbench ({command} .*?)(?: +#.*)?$", of_workers, re.MULTILINE)
        host = self.address.rpartition(":")[0]
        return [word.replace("192.0.2.1", host).replace("workers.key", str(self.key)) for word in match_.split()]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Ends it and all that it started, with no time to say anything."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """Ends all of them."""
        for process in self._begun:
            if process.poll() is None:
                self.kill(process)


@contextmanager
def machines(hub: AgentHub, scratch: Path, names: Sequence[str] = TWO) -> Iterator[Machines]:
    """The machines, up and with nothing on them yet."""
    star = {
        "nodes": {"head": "host", "r1": "router", **dict.fromkeys(names, "host")},
        "links": [{"endpoints": ["r1", name]} for name in ("head", *names)],
    }
    lab = Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(json.dumps(star), "star"))))
    machines = Machines(lab, scratch)
    try:
        yield machines
    finally:
        machines.close()
        lab.close()
