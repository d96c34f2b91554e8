"""Machines that play hosts: namespaces with an sshd, an interface for control, and cables between them.

Each has processes, `/run` and root's home of its own, as machines have. Keys are made for one test.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import asyncssh
from lab.commands import WITHOUT_FIGURES
from lab.wrong_clock import WrongClock
from processes import children
from waiting import PATIENCE_S, wait_for

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.laboratory import Laboratory
from sixbench.model.network import Blueprint
from sixbench.model.topology import Family
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

TWO, FOUR = (("lab1", "lab2"), ("lab1", "lab2", "lab3", "lab4"))
"""The names of hosts. Each has a cable to the next one."""
INTERFACES = ("left", "right")
"""Names of eth1 and eth2 of a host in experiments: the ends of its cables."""
PORT = 2222
_SERVING = ("sshd: root", "sshd-session: root")
"""Names of the processes that serve connections, before OpenSSH 9.8 and since."""

_SSHD = """
Port {port}
ListenAddress 0.0.0.0
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
"""
_SETTLE = (
    "mount -t tmpfs tmpfs /run && mkdir -p /run/sshd && mount -t tmpfs tmpfs /root && exec /usr/sbin/sshd -D -e -f {}"
)


class Machines:
    """`head` has the orchestrator, the others are hosts.

    Args:
        scratch: for keys, and for what they say.
        names: of the hosts.
        clocks: of the hosts whose clocks are not right.
    """

    def __init__(self, lab: Laboratory, scratch: Path, names: Sequence[str], clocks: Mapping[str, WrongClock]) -> None:
        self.lab = lab
        self.names = names
        self.scratch = scratch
        self._begun: list[subprocess.Popen[bytes]] = []
        self._commands: list[subprocess.Popen[str]] = []
        self._home = scratch / "home"
        (self._home / ".ssh").mkdir(parents=True)
        for name in ("host_key", "home/.ssh/id_ed25519"):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(str(scratch / name))
            (scratch / name).chmod(0o600)
            key.write_public_key(str(scratch / f"{name}.pub"))
        (scratch / "authorized_keys").write_bytes((self._home / ".ssh/id_ed25519.pub").read_bytes())
        self._clocks = clocks
        for name in names:
            set_wrong = f"SetEnv {clocks[name].environment(scratch)}\n" if name in clocks else ""
            (scratch / f"{name}.conf").write_text(_SSHD.format(port=PORT, folder=scratch) + set_wrong)
        self.know(scratch / "host_key.pub")
        self.sshd = {name: self._sshd(name) for name in names}
        for name in self.sshd:
            wait_for(lambda name=name: "Server listening" in self.output_of(name))

    def know(self, key: Path) -> None:
        """Lets the user's known_hosts have that key for all hosts."""
        text = key.read_text()
        lines = [f"[{self.address(name)}]:{PORT} {text}" for name in self.names]
        (self._home / ".ssh/known_hosts").write_text("".join(lines))

    def address(self, name: str, family: Family = 4) -> str:
        """The address for control of a machine; or that of its other family, by which machines reach each other."""
        address = self.lab.topology.links_of(name)[0].end_of(name).address(family)
        assert address is not None
        return str(address.ip)

    def hosts(self, **more: str) -> str:
        """The `hosts` part of an experiment. `more` has further keys of each host."""
        lines = "".join(
            f"  {name}: {{ssh: 'root@{self.address(name)}:{PORT}', interfaces: {{{self._cables(name)}}}"
            f"{more.get(name, '')}}}\n"
            for name in self.names
        )
        return f"hosts:\n{lines}"

    def _cables(self, name: str) -> str:
        """The ends of cables that a host has, as an experiment lists them."""
        _, *cables = [link.end_of(name).name for link in self.lab.topology.links_of(name)]
        return ", ".join(f"{known}: {device}" for known, device in zip(INTERFACES, cables, strict=False))

    def inside(self, name: str, *command: str) -> str:
        """Output of a command in the namespace of a machine."""
        words = ["nsenter", "-t", str(self.lab.agents[name].pid), "-n", *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False).stdout

    def interfaces(self, name: str) -> str:
        """The interfaces and addresses that a machine has."""
        return "".join(
            self.inside(name, "ip", "-o", family, "address", "show") for family in ("-4", "-6")
        ) + self.inside(name, "ip", "-o", "link", "show")

    def begin(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Starts the command on `head`, as a user with keys of its own."""
        words = ["nsenter", "-t", str(self.lab.agents["head"].pid), "-n", *WITHOUT_FIGURES, *map(str, arguments)]
        environment = {**os.environ, "HOME": str(self._home)}
        environment.pop("SSH_AUTH_SOCK", None)
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.scratch, env=environment
        )
        self._commands.append(process)
        return process

    def end_what_was_begun(self) -> None:
        """Kills the commands that still run, as they do after a test that failed: they have what the next one needs."""
        for process in self._commands:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self._commands.clear()

    def run(self, *arguments: str | Path, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        process = self.begin(*arguments)
        stdout, stderr = process.communicate(timeout=timeout_s)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def output_of(self, name: str) -> str:
        """Output of the sshd of a machine so far."""
        return (self.scratch / f"{name}.log").read_text(errors="replace")

    def agents(self, name: str) -> dict[int, str]:
        """The command lines of the agents of nodes on a machine, by process."""
        return {pid: words for pid, words in self._processes(name).items() if " node --name " in words}

    def awake(self, name: str) -> list[str]:
        """The threads on a machine that keep processors awake, by the names that they have."""
        collected = []
        for pid in self._processes(name):
            for thread in Path(f"/proc/{pid}/task").glob("*/comm"):
                with contextlib.suppress(OSError):  # it has ended since
                    collected.append(thread.read_text().strip())
        return sorted(item for item in collected if item.startswith("awake-"))

    def serving(self, name: str) -> list[int]:
        """The processes that serve the connections to a machine."""
        return sorted(pid for pid, words in self._processes(name).items() if words.startswith(_SERVING))

    def disconnect(self, name: str) -> None:
        """Kills what serves the connections to a machine. It takes new ones."""
        for pid in self.serving(name):
            os.kill(pid, signal.SIGKILL)

    def _processes(self, name: str) -> dict[int, str]:
        """The command lines of what the machine's sshd has started."""
        processes: dict[int, str] = {}
        rest = [self.sshd[name].pid]
        while rest:
            pid = rest.pop()
            with contextlib.suppress(OSError):
                for child in children(pid):
                    words = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    processes[child] = words
                    rest.append(child)
        return processes

    def close(self) -> None:
        """Ends all of them."""
        self.end_what_was_begun()
        for process in self._begun:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _sshd(self, name: str) -> subprocess.Popen[bytes]:
        where = ["nsenter", "-t", str(self.lab.agents[name].pid), "-n", "setpriv", "--pdeathsig", "KILL"]
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if name in self._clocks:
            alone += ["--time", "--monotonic", str(self._clocks[name].up_s), "--boottime", str(self._clocks[name].up_s)]
        words = [*where, *alone, "sh", "-c", _SETTLE.format(self.scratch / f"{name}.conf")]
        with (self.scratch / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        self._begun.append(process)
        return process


@contextmanager
def machines(
    scratch: Path,
    names: Sequence[str] = TWO,
    clocks: Mapping[str, WrongClock] = MappingProxyType({}),
    far_mtu_bytes: int | None = None,
) -> Iterator[Machines]:
    """The machines, up.

    Args:
        far_mtu_bytes: of the link between two routers, of which the second one has the last host; None: there is one.
    """
    nodes = {"head": "host", "r1": "router", **dict.fromkeys(names, "host")}
    links = [{"endpoints": ["r1", name]} for name in ("head", *names)]
    if far_mtu_bytes is not None:
        nodes["r2"] = "router"
        links[-1] = {"endpoints": ["r2", names[-1]]}
        links.append({"endpoints": ["r1", "r2"], "mtu": far_mtu_bytes})
    network = {"nodes": nodes, "links": [*links, *({"endpoints": list(ends)} for ends in pairwise(names))]}
    with AgentHub(find_agent()) as hub:
        lab = Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(json.dumps(network), "network"))))
        machines = Machines(lab, scratch, names, clocks)
        try:
            yield machines
        finally:
            machines.close()
            lab.close()
