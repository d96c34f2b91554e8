"""Machines that play hosts: namespaces with an sshd, an interface for control, and cables between them.

Each has processes, `/run` and root's home of its own, as machines have. Keys are made for one test.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
from lab.commands import WITHOUT_FIGURES
from waiting import wait_for

from sixbench.agent import AgentHub, find_agent
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml
from sixbench.run.laboratory import Laboratory

NETWORK = """
nodes: {head: host, r1: router, lab1: host, lab2: host}
links:
  - {endpoints: [head, r1]}
  - {endpoints: [r1, lab1]}
  - {endpoints: [r1, lab2]}
  - {endpoints: [lab1, lab2]}
"""
"""The control network, and a cable: eth1 of both."""
PORT = 2222
START_S = 30

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
    """`head` has the orchestrator, `lab1` and `lab2` are hosts.

    Args:
        scratch: for keys, and for what they say.
    """

    def __init__(self, lab: Laboratory, scratch: Path) -> None:
        self.lab = lab
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
        (scratch / "sshd_config").write_text(_SSHD.format(port=PORT, folder=scratch))
        self.know(scratch / "host_key.pub")
        self.sshd = {name: self._sshd(name) for name in ("lab1", "lab2")}
        for name in self.sshd:
            wait_for(lambda name=name: "Server listening" in self.said(name), START_S)

    def know(self, key: Path) -> None:
        """Lets the user's known_hosts have that key for both hosts."""
        text = key.read_text()
        lines = [f"[{self.address(name)}]:{PORT} {text}" for name in ("lab1", "lab2")]
        (self._home / ".ssh/known_hosts").write_text("".join(lines))

    def address(self, name: str) -> str:
        """The address for control of a machine."""
        end = self.lab.topology.links_of(name)[0].end_of(name)
        assert end.ipv4 is not None
        return str(end.ipv4.ip)

    def hosts(self, **more: str) -> str:
        """The `hosts` part of an experiment. `more` has further keys of each host."""
        lines = "".join(
            f"  {name}: {{ssh: 'root@{self.address(name)}:{PORT}', interfaces: {{left: eth1}}{more.get(name, '')}}}\n"
            for name in ("lab1", "lab2")
        )
        return f"hosts:\n{lines}"

    def inside(self, name: str, *command: str) -> str:
        """What a command in the namespace of a machine prints."""
        words = ["nsenter", "-t", str(self.lab.agents[name].pid), "-n", *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=START_S, check=False).stdout

    def interfaces(self, name: str) -> str:
        """The interfaces and addresses that a machine has."""
        return "".join(
            self.inside(name, "ip", "-o", family, "address", "show") for family in ("-4", "-6")
        ) + self.inside(name, "ip", "-o", "link", "show", "eth1")

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

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        process = self.begin(*arguments)
        stdout, stderr = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def said(self, name: str) -> str:
        """What the sshd of a machine has said."""
        return (self.scratch / f"{name}.log").read_text(errors="replace")

    def agents(self, name: str) -> dict[int, str]:
        """The command lines of the agents of nodes on a machine, by process."""
        return {pid: words for pid, words in self._processes(name).items() if " node --name " in words}

    def disconnect(self, name: str) -> None:
        """Kills what serves the connections to a machine. It takes new ones."""
        for pid, words in self._processes(name).items():
            if words.startswith("sshd: root"):
                os.kill(pid, signal.SIGKILL)

    def _processes(self, name: str) -> dict[int, str]:
        """The command lines of what the machine's sshd has started."""
        found: dict[int, str] = {}
        rest = [self.sshd[name].pid]
        while rest:
            pid = rest.pop()
            with contextlib.suppress(OSError):
                for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                    words = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    found[int(child)] = words
                    rest.append(int(child))
        return found

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
        words = [*where, *alone, "sh", "-c", _SETTLE.format(self.scratch / "sshd_config")]
        with (self.scratch / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        self._begun.append(process)
        return process


@contextmanager
def machines(scratch: Path) -> Iterator[Machines]:
    """The machines, up."""
    with AgentHub(find_agent()) as hub:
        lab = Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(NETWORK, "network"))))
        found = Machines(lab, scratch)
        try:
            yield found
        finally:
            found.close()
            lab.close()
