"""Sweeps by workers and by hosts, in namespaces that play machines, and how each of their parts is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import lab.host_machines
import lab.worker_machines
from processes import children

from sixbench.agent import AgentHub, find_agent
from sixbench.model.exit_codes import Exit

WORKLOADS = "[{ping: {count: 3, interval: 1ms, warmup: 0s}}, {tcp-rr: {duration: 20ms, warmup: 0s}}]"
OF_A_BLOCK = 4
"""Trials: two workloads over two paths."""

SWEEP = """
experiment: sweep
topology: {{nodes: {{h1: host, h2: host}}, links: [{{endpoints: [h1, h2]}}]}}
paths: {{ipv4: native4, ipv6: native6}}
workloads: {workloads}
blocks: {blocks}
"""


class _Commands:
    """Files, commands and their output, in both kinds of sweeps."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.command: subprocess.Popen[bytes] | subprocess.Popen[str] | None = None
        self._read: dict[Path, int] = {}

    def experiment(self, trials: int) -> Path:
        """The experiment of a sweep with so many trials."""
        file = self.scratch / "sweep.yaml"
        file.write_text(SWEEP.format(workloads=WORKLOADS, blocks=max(1, trials // OF_A_BLOCK)))
        return file

    def code(self) -> int | None:
        return None if self.command is None else self.command.poll()

    def output(self) -> str:
        collected = []
        for file in sorted(self.scratch.glob("*.log")):
            content = file.read_bytes()
            collected.append(content[self._read.get(file, 0) :].decode(errors="replace"))
            self._read[file] = len(content)
        return "".join(collected)


class Workers(_Commands):
    """`run --workers`: a scheduler, and two workers."""

    def __init__(self, stack: ExitStack, scratch: Path) -> None:
        super().__init__(scratch)
        hub = stack.enter_context(AgentHub(find_agent()))
        self._machines = stack.enter_context(lab.worker_machines.machines(hub, scratch))
        self._nodes = {name: agent.pid for name, agent in self._machines._lab.agents.items()}
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._workers: dict[str, subprocess.Popen[bytes]] = {}

    def begin(self, directory: Path, experiment: Path) -> None:
        self._start()
        self.command = self._machines.run("run", experiment, "--out", directory)

    def resume(self, directory: Path) -> None:
        self._start()
        self.command = self._machines.run("resume", directory, "--no-report")

    def _start(self) -> None:
        if self._scheduler is None:
            self._scheduler = self._machines.scheduler()
            self._workers = self._machines.workers(*lab.worker_machines.TWO)

    def code(self) -> int | None:
        self._begin_refused_workers()
        return super().code()

    def _begin_refused_workers(self) -> None:
        """Begins workers again, as their owners would, that have ended in order: a worker does so whose scheduler was
        not there when it was begun. If both had, nobody would go on with the sweep."""
        for name, worker in self._workers.items():
            if worker.poll() == Exit.CANNOT:
                self._workers[name] = self._machines.begin_worker(name)

    def kill(self, victim: str, dice: random.Random) -> bool:
        name = dice.choice(lab.worker_machines.TWO)
        if victim == "agent":
            agents = [pid for pid in _below(self._workers[name].pid) if _name(pid).startswith("sixbench-agent")]
            return bool(agents) and _kill(dice.choice(sorted(agents)))
        if victim == "worker":
            self._machines.kill(self._workers[name])
            self._workers[name] = self._machines.begin_worker(name)
        elif victim == "scheduler":
            assert self._scheduler is not None
            self._machines.kill(self._scheduler)
            self._scheduler = self._machines.scheduler()
        else:
            assert self.command is not None
            if self.command.poll() is not None:
                return False
            self._machines.kill(self.command)  # type: ignore[arg-type]
        return True

    def places(self) -> dict[str, str]:
        return {name: _interfaces(pid) for name, pid in self._nodes.items()}

    def end(self) -> None:
        for process in (self._scheduler, *self._workers.values()):
            if process is not None and process.poll() is None:
                self._machines.kill(process)
        self._scheduler, self._workers = None, {}


class Hosts(_Commands):
    """`run --hosts`: each node on a host of its own, with a cable between them."""

    def __init__(self, stack: ExitStack, scratch: Path) -> None:
        super().__init__(scratch)
        self._machines = stack.enter_context(lab.host_machines.machines(scratch))
        self._places = scratch / "hosts.yaml"
        self._places.write_text(
            f"{self._machines.hosts()}nodes: {{h1: lab1, h2: lab2}}\nlinks: {{h1-h2: [left, left]}}\n"
        )

    def begin(self, directory: Path, experiment: Path) -> None:
        self._run("run", experiment, "--hosts", self._places, "--out", directory)

    def resume(self, directory: Path) -> None:
        self._run("resume", directory, "--allow-hosts", "--no-report")

    def _run(self, *words: str | Path) -> None:
        self.command = self._machines.begin(*words, "--quiet")

    def output(self) -> str:
        """Output of the machines since the last look, and of the command if it has ended."""
        rest = "" if self.command is None or self.command.poll() is None else "".join(self.command.communicate())
        return super().output() + rest

    def kill(self, victim: str, dice: random.Random) -> bool:
        name = dice.choice(self._machines.names)
        if victim == "agent":
            agents = self._machines.agents(name)
            return bool(agents) and _kill(dice.choice(sorted(agents)))
        if victim == "sshd":
            serving = self._machines.serving(name)
            return bool(serving) and _kill(dice.choice(serving))
        assert self.command is not None
        if self.command.poll() is not None:
            return False
        self.command.kill()
        self.command.communicate()
        return True

    def places(self) -> dict[str, str]:
        interfaces = {name: self._machines.interfaces(name) for name in self._machines.names}
        for name in self._machines.names:
            inside = _below(self._machines.sshd[name].pid)
            words = ["nsenter", "-t", str(min(inside)), "-m", "find", "/run", "!", "-type", "d"]
            interfaces[name] += subprocess.run(words, capture_output=True, text=True, check=False).stdout
        return interfaces

    def end(self) -> None:
        """The machines have nothing else."""


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _below(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    collected, rest = [], [pid]
    while rest:
        pop = rest.pop()
        try:
            started = children(pop)
        except OSError:
            continue
        collected += started
        rest += started
    return collected


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _interfaces(pid: int) -> str:
    """The interfaces and addresses of the namespace that a process is in."""
    text = ""
    for words in (["link"], ["-4", "address"], ["-6", "address"]):
        command = ["nsenter", "-t", str(pid), "-n", "ip", "-o", *words]
        text += subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return text
