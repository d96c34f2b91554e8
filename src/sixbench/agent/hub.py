"""All agents of a process: where they are started, what reads their answers, and how they end.

One `AgentHub` reads the answers of all its agents in one thread. Agents are started by the thread that makes them,
which must outlive them: the kernel kills a child when the *thread* that started it ends (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..model.errors import AgentError, CapabilityError, UsageError
from ..model.host import Host
from .client import PROTOCOL, Agent, read_some
from .machine import BORROW, ENDS_IN_SILENCE, LONGEST_SILENCE_S, AgentProcess, Machine, Seat, ThisMachine

if TYPE_CHECKING:
    from .ssh import SshHosts

HELLO_TIMEOUT_S = 60.0
"""Longest time that an agent may take to make its namespace and greet. It waits while the kernel removes other
namespaces: those of a network of 1,000 nodes that was taken down just before take over ten seconds."""
CONNECT_TIMEOUT_S = 20.0
"""Longest time that another machine may take from the connection to its greeting."""
KILL_TIMEOUT_S = 60.0
"""Longest time that a killed one may take to be gone: it is gone when the kernel has taken away what it had loaded
(`client.STOP_TIMEOUT_S`), and waits then for those of other agents."""

_EXIT_USAGE = 2
_EXIT_CANNOT = 3


class AgentHub(AbstractContextManager["AgentHub"]):
    """Starts agents and reads their answers. Use as a context manager: leaving it ends them all."""

    def __init__(self, binary: Path) -> None:
        _allow_many_files()
        self._binary = binary
        self._this_machine = ThisMachine(binary)
        self._hosts: SshHosts | None = None
        self._agents: dict[Agent, None] = {}
        self._machines: dict[str | None, int] = {None: 0}
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._closing = False
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
        self._incoming: list[tuple[Any, tuple[Agent, str]]] = []
        self._thread = threading.Thread(target=self._read, name="agents", daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def join(self, hosts: Iterable[Host]) -> None:
        """Makes hosts places for agents: connects to those that it is not connected to, and gives them the agent's
        program where they lack it. Raises `CapabilityError`."""
        wanted = list(hosts)
        if not wanted:
            return  # most networks have no remote hosts, and then asyncssh need not be installed
        from .ssh import SshHosts

        if self._hosts is None:
            self._hosts = SshHosts(self._binary)
            threading.Thread(target=self._keep_hosts, name="hosts", daemon=True).start()
        self._hosts.join(wanted)

    def _keep_hosts(self) -> None:
        """Says something to agents on hosts from time to time, which otherwise take it that nobody is there."""
        while not self._is_closed.wait(LONGEST_SILENCE_S / 4):
            for agent in [
                agent for agent in list(self._agents) if agent.host is not None and agent.hello and agent.alive
            ]:
                agent.submit("hello", protocol=PROTOCOL, version=__version__)

    def has_joined(self, host: str) -> bool:
        """True if it is connected to a host, as far as is known."""
        return self._hosts is not None and self._hosts.is_connected(host)

    def start(self, names: list[str], seats: Mapping[str, Seat] | None = None) -> dict[str, Agent]:
        """Starts one agent a name, each with a network namespace of its own. Raises `AgentError` or `CapabilityError`;
        then none of them is left.

        Args:
            seats: where they are, by name, on hosts that were joined; those that it lacks are on this machine.
        """
        seats_by_node = {name: (seats or {}).get(name, Seat()) for name in names}
        return self._greeted(
            {name: (seat.on, ["node", "--name", name, *seat.arguments]) for name, seat in seats_by_node.items()}
        )

    def start_here(self, name: str, on: str | None = None) -> Agent:
        """Starts an agent in its machine's own network namespace: it is this machine, or the host of that name, as it
        is. Raises as `start`."""
        silence = () if on is None else ENDS_IN_SILENCE
        return self._greeted({name: (on, ["node", "--name", name, "--here", *silence])})[name]

    def connect(self, host: str, arguments: list[str]) -> Agent:
        """Connects to the agent that serves on another machine, by `connect` with these arguments. Raises
        `CapabilityError` where it cannot be reached, refuses or speaks another version of the protocol, `UsageError`
        where the arguments or the key are wrong.

        Args:
            host: its name in messages.
        """
        agent = self._spawn(host, None, ["connect", *arguments])
        try:
            agent.hello = agent.call("hello", timeout_s=CONNECT_TIMEOUT_S, protocol=PROTOCOL, version=__version__)
        except AgentError as error:
            self.stop([agent])
            if error.code == "agent-died" and (reason := agent.last_sentence):
                raise (UsageError if agent.exit_code == _EXIT_USAGE else CapabilityError)(reason) from error
            what_helps = "; install the same version on both machines" if error.code == "protocol-mismatch" else ""
            raise CapabilityError(f"{error}{what_helps}") from error
        except BaseException:
            self.stop([agent])
            raise
        return agent

    def _greeted(self, invocations: Mapping[str, tuple[str | None, list[str]]]) -> dict[str, Agent]:
        started: dict[str, Agent] = {}
        try:
            for name, (on, arguments) in invocations.items():
                started[name] = self._spawn(name, on, arguments)
            greetings = {
                name: agent.submit("hello", protocol=PROTOCOL, version=__version__) for name, agent in started.items()
            }
            for name, agent in started.items():
                agent.hello = agent.wait(greetings[name], "hello", HELLO_TIMEOUT_S)
        except AgentError as error:
            self.stop(list(started.values()))
            for name, agent in started.items():
                on, arguments = invocations[name]
                if agent.exit_code == _EXIT_CANNOT and (on is not None or BORROW in arguments):
                    raise CapabilityError(_why_not(agent)) from error
            helps = next((agent._process.helps for agent in started.values() if agent.ended is error), "")
            if helps:
                raise AgentError(error.code, f"{error}; {helps}") from error
            raise
        except BaseException:
            self.stop(list(started.values()))
            raise
        return started

    def stop(self, agents: list[Agent]) -> None:
        """Ends agents, and waits until they are gone with their namespaces."""
        for agent in agents:
            agent._end("agent-died", "was ended")
            with contextlib.suppress(OSError):
                agent._process.stdin.close()
        processes = [agent._process for agent in agents]
        began = time.monotonic()
        late = [process for process in processes if not _has_ended(process, began + process.stop_timeout_s)]
        for process in late:
            process.kill()
        killed = time.monotonic()
        for process in late:
            _has_ended(process, killed + KILL_TIMEOUT_S)
        for agent in agents:
            self._agents.pop(agent, None)

    def close(self) -> None:
        """Ends all agents, the connections to hosts, and the reading thread."""
        self._is_closed.set()
        self.stop(list(self._agents))
        if self._hosts is not None:
            self._hosts.close()
        with self._lock:
            if self._closing:
                return
            self._closing = True
        os.write(self._wake_write, b"x")
        # It may wait for the end of an agent, for a bounded time. What it reads from is not closed under it: others
        # could get these descriptors.
        self._thread.join()
        registered = [key.fileobj for key in self._selector.get_map().values() if key.data is not None]
        for stream in (*registered, *(stream for stream, _ in self._incoming)):
            stream.close()
        self._selector.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _spawn(self, name: str, on: str | None, arguments: list[str]) -> Agent:
        process = self._machine(on).start(name, arguments)
        os.set_blocking(process.stdin.fileno(), False)
        agent = Agent(name, process, self._machines.setdefault(on, len(self._machines)))
        self._agents[agent] = None
        with self._lock:
            self._incoming.append((process.stdout, (agent, "stdout")))
            self._incoming.append((process.stderr, (agent, "stderr")))
        os.write(self._wake_write, b"x")
        return agent

    def _machine(self, on: str | None) -> Machine:
        if on is None:
            return self._this_machine
        assert self._hosts is not None, f"{on} was not joined"
        return self._hosts[on]

    def _read(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                    continue
                agent, stream = key.data
                data = read_some(key.fd)
                if data and stream == "stdout":
                    agent._received(data)
                elif data:
                    agent._keep_stderr(data)
                else:
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
                    if stream == "stdout":
                        agent._gone()
            with self._lock:
                if self._closing:
                    return
                for opened, about in self._incoming:
                    self._selector.register(opened, selectors.EVENT_READ, about)
                self._incoming.clear()


def _has_ended(process: AgentProcess, until: float) -> bool:
    """Waits for the end of an agent, until a time on the monotonic clock at most. Returns whether it has ended."""
    return process.wait(max(0.0, until - time.monotonic()))


def _why_not(agent: Agent) -> str:
    """The last words of an agent that could not be a node, and advice."""
    reason = agent.last_sentence
    if agent.host is None:
        return reason
    is_denied = "unshare(CLONE_NEWNET) failed" in reason or "this needs root" in reason
    help_ = "; log in as root, or let the experiment say sudo: true" if is_denied else ""
    return f"{agent.host}: {reason}{help_}"


def _allow_many_files() -> None:
    """Raises the limit of open files. An agent has three pipes, so that hundreds of nodes need more than the usual
    1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
