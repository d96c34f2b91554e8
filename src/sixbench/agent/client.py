"""Agents as processes, and requests to them.

One `AgentHub` reads the answers of all its agents in one thread. Agents are started by the thread that makes them,
which must outlive them: the kernel kills a child when the *thread* that started it ends (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import selectors
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..model.errors import AgentError, CapabilityError, UsageError
from ..model.host import Host
from ..model.json_object import JsonObject
from ..model.quoting import one_line, visible
from .machine import BORROW, ENDS_IN_SILENCE, LONGEST_SILENCE_S, AgentProcess, Machine, Seat, ThisMachine
from .requests import REQUESTS
from .requests.request import Answered, Request

if TYPE_CHECKING:
    from .ssh import SshHosts

PROTOCOL = 1
MAX_REQUEST_BYTES = 2**20
MAX_LINE_BYTES = 64 * 2**20
MAX_VALUES = 2**22
"""The most values of an answer, by the characters that begin them. A series has a million intervals at most. Each value
takes up to 120 bytes of memory, so that 64 MiB of braces would take gigabytes."""
HELLO_TIMEOUT_S = 60.0
"""Longest time that an agent may take to make its namespace and greet. It waits while the kernel removes other
namespaces: those of a network of 1,000 nodes that was taken down just before take over ten seconds."""
CONNECT_TIMEOUT_S = 20.0
"""Longest time that another machine may take from the connection to its greeting."""
CALL_TIMEOUT_S = 40.0
SEND_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 10.0
"""Time that an agent has to end after the end of its output. One that was killed has closed it, and is not gone before
the kernel has taken away what it had loaded there: each of its programs and events takes a grace period, and on a busy
machine all of them take seconds."""
KILL_TIMEOUT_S = 5.0
"""Longest time that a killed one may take to be gone."""

_STDERR_TAIL_BYTES = 4096
_EXIT_USAGE = 2
_EXIT_CANNOT = 3


@dataclass(frozen=True, kw_only=True)
class _Pending:
    """A request that is not answered yet.

    Attributes:
        is_read: whether the future gets the answer in its form, rather than as it came.
    """

    request: Request[Any]
    future: Future[Any]
    is_read: bool = True


class Agent:
    """One agent: one node."""

    def __init__(self, name: str, process: AgentProcess, machine: int = 0) -> None:
        self.name = name
        self._machine = machine
        self.hello: JsonObject = {}
        self._process = process
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._next_id = 1
        self._pending: dict[int, _Pending] = {}
        self._buffer = bytearray()
        self._stderr = bytearray()
        self._ended: AgentError | None = None

    def ask(self, request: Request[Answered]) -> Future[Answered]:
        """Sends a request. The future gives the answer in its form, or raises `AgentError`."""
        future: Future[Answered] = Future()
        self._submit(_Pending(request=request, future=future))
        return future

    def answer(self, request: Request[Answered], *, timeout_s: float = CALL_TIMEOUT_S) -> Answered:
        """Sends a request and waits. Raises `AgentError`, of code `agent-silent` when nothing comes in time."""
        return self.wait(self.ask(request), request.op, timeout_s)

    def submit(self, op: str, **fields: Any) -> Future[JsonObject]:
        """As `ask`, for a request that is data, as a stage has it: `requests.REQUESTS[op]` with these fields. The
        future gives its `ok` object as it came, once its form has been found right."""
        future: Future[JsonObject] = Future()
        self._submit(_Pending(request=REQUESTS[op](**fields), future=future, is_read=False))
        return future

    def call(self, op: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: Any) -> JsonObject:
        """As `answer`, for a request that is data."""
        return self.wait(self.submit(op, **fields), op, timeout_s)

    def _submit(self, pending: _Pending) -> None:
        with self._lock:
            if self._ended is not None:
                pending.future.set_exception(self._ended)
                return
            request_id = self._next_id
            self._next_id += 1
            self._pending[request_id] = pending
        line = json.dumps(pending.request.to_json(request_id)).encode()
        if len(line) > MAX_REQUEST_BYTES:
            words = f"the request {pending.request.op} of {len(line)} bytes is larger than {MAX_REQUEST_BYTES}"
            self._settle(request_id, AgentError("line-too-long", f"{self.name}: {words}"))
        else:
            self._send(line + b"\n")

    def wait(self, future: Future[Answered], op: str, timeout_s: float) -> Answered:
        """Waits for a request sent before. An agent that is silent is given up and killed. Only a `run` is left alone,
        because its caller may cancel it."""
        try:
            return future.result(timeout=timeout_s)
        except FutureTimeoutError:
            pass
        what = f"has not answered {op} after {timeout_s:g} s"
        if op != "run":
            self._break("agent-silent", what)
        raise AgentError("agent-silent", f"the agent of {self.name} ({self._process.where}) {what}")

    @property
    def pid(self) -> int:
        """Its process on the machine where it is."""
        return self._process.pid if self._process.pid is not None else int(self.greeting("pid"))

    def greeting(self, key: str) -> Any:
        """A value of its greeting. Raises `AgentError` where it has not said it."""
        if key not in self.hello:
            raise AgentError("agent-broken", f"the agent of {self.name} ({self._process.where}) greeted without {key}")
        return self.hello[key]

    @property
    def host(self) -> str | None:
        """The host on which it is; None: this machine."""
        return self._process.host

    @property
    def netns_inode(self) -> int:
        """The network namespace that it holds, as the kernel numbers it."""
        return int(self.greeting("netns_inode"))

    @property
    def namespace(self) -> int:
        """The network namespace that it holds, by a number that no other one has on any machine of the hub."""
        return self._machine << 64 | self.netns_inode

    @property
    def last_words(self) -> str:
        """Its last words on standard error, on one line; empty where there are none."""
        return one_line(bytes(self._stderr))

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.exit_code

    @property
    def ended(self) -> AgentError | None:
        """The way in which it ended; None while it runs, as far as is known."""
        return self._ended

    @property
    def alive(self) -> bool:
        """True if it still runs, as far as is known."""
        return self._ended is None

    def _send(self, line: bytes) -> None:
        """Writes a line, in turn. Never waits for longer than `SEND_TIMEOUT_S` for an agent that does not read."""
        stdin = self._process.stdin
        with self._sending:
            rest = memoryview(line)
            try:
                poller = select.poll()
                poller.register(stdin, select.POLLOUT)
                while rest:
                    if not poller.poll(SEND_TIMEOUT_S * 1000):
                        self._break("agent-silent", f"has not read its requests for {SEND_TIMEOUT_S:g} s")
                        return
                    rest = rest[stdin.write(rest) or 0 :]
            except (OSError, ValueError):
                pass  # its end is noticed by the reader, which fails what is pending with the cause
            except BaseException:
                if 0 < len(rest) < len(line):
                    self._break("agent-broken", "got only half a request, because sending it was interrupted")
                raise

    def _received(self, data: bytes) -> None:
        if not self.alive:
            return  # nobody asks it any more, and it may go on for ever
        searched = len(self._buffer)
        self._buffer += data
        while self._ended is None and (end := self._buffer.find(b"\n", searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            searched = 0
            self._answer(line)
        if len(self._buffer) > MAX_LINE_BYTES:
            self._buffer.clear()
            self._break("agent-broken", f"answered with a line of more than {MAX_LINE_BYTES} bytes")

    def _answer(self, line: bytes) -> None:
        if sum(map(line.count, (b",", b"[", b"{"))) > MAX_VALUES:
            self._break("agent-broken", f"answered with a line of more than {MAX_VALUES} values")
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        match message:
            case {"id": int(request_id), "ok": dict(result)} if type(request_id) is int and "error" not in message:
                self._settle(request_id, result)
            case {"id": int(request_id), "error": dict(error)} if type(request_id) is int and "ok" not in message:
                words = f"{self.name}: {error.get('message', 'no reason given')}"
                self._settle(request_id, AgentError(visible(str(error.get("code", "internal"))), words))
            case _:
                self._break("agent-broken", f"answered with something that is no response: {line[:100]!r}")

    def _settle(self, request_id: int, outcome: JsonObject | AgentError) -> None:
        """Gives a request its outcome. The outcome of an unknown request is dropped."""
        with self._lock:
            pending = self._pending.pop(request_id, None)
        if pending is None:
            return
        if isinstance(outcome, AgentError):
            pending.future.set_exception(outcome)
            return
        try:
            answer = pending.request.read(outcome)
        except AgentError as error:
            pending.future.set_exception(AgentError(error.code, f"{self.name}: {error}"))
        except Exception as mistake:  # noqa: BLE001, raised where the answer is waited for, not in the reading thread
            pending.future.set_exception(mistake)
        else:
            pending.future.set_result(answer if pending.is_read else outcome)

    def _break(self, code: str, what: str) -> None:
        """Gives up an agent that no longer takes requests."""
        self._end(code, what)
        self._process.kill()

    def _end(self, code: str, what: str) -> None:
        stderr = self.last_words
        error = AgentError(
            code, f"the agent of {self.name} ({self._process.where}) {what}" + (f": {stderr}" if stderr else "")
        )
        with self._lock:
            if self._ended is None:
                self._ended = error
            pending = list(self._pending.values())
            self._pending.clear()
        for one in pending:
            one.future.set_exception(self._ended)

    def _gone(self) -> None:
        """Waits for the end of an agent whose output has ended."""
        if not self._process.wait(STOP_TIMEOUT_S):
            self._break("agent-died", "closed its output")
            return
        self._drain_stderr()
        self._end("agent-died", self._process.how_it_ended)

    def _drain_stderr(self) -> None:
        """Reads its last words, which may not have been read yet."""
        stderr = self._process.stderr
        if stderr.closed:
            return
        os.set_blocking(stderr.fileno(), False)
        while data := _read_some(stderr.fileno()):
            self._said(data)

    def _said(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_STDERR_TAIL_BYTES:]


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
            return  # most networks have none, and then asyncssh need not be installed
        from .ssh import SshHosts

        if self._hosts is None:
            self._hosts = SshHosts(self._binary)
            threading.Thread(target=self._keep_hosts, name="hosts", daemon=True).start()
        self._hosts.join(wanted)

    def _keep_hosts(self) -> None:
        """Says something to agents on hosts from time to time, which otherwise take it that nobody is there."""
        while not self._is_closed.wait(LONGEST_SILENCE_S / 4):
            for agent in [one for one in list(self._agents) if one.host is not None and one.hello and one.alive]:
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
        found = {name: (seats or {}).get(name, Seat()) for name in names}
        return self._greeted(
            {name: (seat.on, ["node", "--name", name, *seat.arguments]) for name, seat in found.items()}
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
            said = agent.last_words.removeprefix("sixbench-agent: ")
            if error.code == "agent-died" and said:
                raise (UsageError if agent.exit_code == _EXIT_USAGE else CapabilityError)(said) from error
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
        began = time.monotonic()
        for agent in agents:
            process = agent._process
            if not process.wait(max(0.0, began + process.stop_timeout_s - time.monotonic())):
                process.kill()
                process.wait(KILL_TIMEOUT_S)
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
        self._thread.join(timeout=5)
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
                data = _read_some(key.fd)
                if data and stream == "stdout":
                    agent._received(data)
                elif data:
                    agent._said(data)
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


def _why_not(agent: Agent) -> str:
    """The last words of an agent that could not be a node, and advice."""
    said = agent.last_words.removeprefix("sixbench-agent: ")
    if agent.host is None:
        return said
    is_denied = "unshare(CLONE_NEWNET) failed" in said or "it takes root" in said
    help_ = "; log in as root, or let the experiment say sudo: true" if is_denied else ""
    return f"{agent.host}: {said}{help_}"


def _read_some(descriptor: int) -> bytes:
    """The bytes that are there; empty at the end, or where they cannot be read."""
    try:
        return os.read(descriptor, 2**20)
    except OSError:
        return b""


def _allow_many_files() -> None:
    """Raises the limit of open files. An agent has three pipes, so that hundreds of nodes need more than the usual
    1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
