"""Agents as processes, and requests to them.

One `AgentHub` reads the answers of all its agents in one thread. Agents are started by the thread that makes them,
which must outlive them: the kernel kills a child when the *thread* that started it ends (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any

from .. import __version__
from ..model.errors import AgentError, CapabilityError

PROTOCOL = 1
MAX_LINE_BYTES = 64 * 2**20
HELLO_TIMEOUT_S = 10.0
CALL_TIMEOUT_S = 40.0
_STDERR_TAIL_BYTES = 4096


class Agent:
    """One agent: one node."""

    def __init__(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.pid = process.pid
        self.hello: dict[str, Any] = {}
        self._process = process
        self._lock = threading.Lock()
        self._next_id = 1
        self._pending: dict[int, Future[dict[str, Any]]] = {}
        self._buffer = bytearray()
        self._stderr = bytearray()
        self._ended: AgentError | None = None

    def submit(self, op: str, **fields: Any) -> Future[dict[str, Any]]:
        """Sends a request; the future gives its `ok` object or raises `AgentError`."""
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._ended is not None:
                future.set_exception(self._ended)
                return future
            request_id = self._next_id
            self._next_id += 1
            self._pending[request_id] = future
            line = json.dumps({"id": request_id, "op": op} | {k: v for k, v in fields.items() if v is not None}) + "\n"
            try:
                assert self._process.stdin is not None
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()
            except OSError:
                pass  # its end is noticed by the reader, which fails this future with the cause
        return future

    def call(self, op: str, *, timeout_s: float = CALL_TIMEOUT_S, **fields: Any) -> dict[str, Any]:
        """Sends a request and waits. Raises `AgentError`, of code `agent-silent` when nothing comes in time."""
        future = self.submit(op, **fields)
        return self.wait(future, op, timeout_s)

    def wait(self, future: Future[dict[str, Any]], op: str, timeout_s: float) -> dict[str, Any]:
        """Waits for a request sent before."""
        try:
            return future.result(timeout=timeout_s)
        except FutureTimeoutError:
            raise AgentError(
                "agent-silent",
                f"the agent of {self.name} (process {self.pid}) has not answered {op} after {timeout_s:.0f} s",
            ) from None

    @property
    def alive(self) -> bool:
        """Whether it still runs, as far as is known."""
        return self._ended is None

    def _received(self, data: bytes) -> None:
        self._buffer += data
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                break
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._answer(line)
        if len(self._buffer) > MAX_LINE_BYTES:
            self._end("agent-broken", f"answered with a line of more than {MAX_LINE_BYTES} bytes")
            self._process.kill()

    def _answer(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            request_id = message["id"]
        except (ValueError, KeyError, TypeError):
            self._end("agent-broken", f"answered with what is no response: {line[:100]!r}")
            self._process.kill()
            return
        with self._lock:
            future = self._pending.pop(request_id, None) if isinstance(request_id, int) else None
        if future is None:
            return
        if "ok" in message:
            future.set_result(message["ok"])
        else:
            error = message.get("error") or {}
            future.set_exception(
                AgentError(
                    str(error.get("code", "internal")), f"{self.name}: {error.get('message', 'no reason given')}"
                )
            )

    def _end(self, code: str, what: str) -> None:
        stderr = self._stderr.decode(errors="replace").strip()
        words = f"the agent of {self.name} (process {self.pid}) {what}" + (f": {stderr}" if stderr else "")
        with self._lock:
            if self._ended is None:
                self._ended = AgentError(code, words)
            pending = list(self._pending.values())
            self._pending.clear()
        for future in pending:
            future.set_exception(AgentError(code, words))


class AgentHub:
    """Starts agents and reads their answers. Use as a context manager: leaving it ends them all."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._agents: dict[str, Agent] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ, None)
        self._closing = False
        self._lock = threading.Lock()
        self._incoming: list[tuple[Any, tuple[Agent, str]]] = []
        self._thread = threading.Thread(target=self._read, name="agents", daemon=True)
        self._thread.start()

    def __enter__(self) -> AgentHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, names: list[str]) -> dict[str, Agent]:
        """Starts one agent a name, each with a network namespace of its own. Raises `AgentError` or `CapabilityError`;
        then none of them is left."""
        started: dict[str, Agent] = {}
        try:
            for name in names:
                started[name] = self._spawn(name)
            greetings = {
                name: agent.submit("hello", protocol=PROTOCOL, version=__version__) for name, agent in started.items()
            }
            for name, agent in started.items():
                agent.hello = agent.wait(greetings[name], "hello", HELLO_TIMEOUT_S)
        except BaseException:
            self.stop(list(started.values()))
            raise
        return started

    def stop(self, agents: list[Agent]) -> None:
        """Ends agents, and waits until they are gone with their namespaces."""
        for agent in agents:
            with contextlib.suppress(OSError):
                assert agent._process.stdin is not None
                agent._process.stdin.close()
        for agent in agents:
            try:
                agent._process.wait(timeout=2)
            except subprocess.TimeoutExpired:
                agent._process.kill()
                agent._process.wait()
            agent._end("agent-died", "was ended")

    def close(self) -> None:
        """Ends all agents and the reading thread."""
        processes = [agent._process for agent in self._agents.values()]
        self.stop(list(self._agents.values()))
        self._agents.clear()
        with self._lock:
            if self._closing:
                return
            self._closing = True
        os.write(self._wake_write, b"x")
        self._thread.join(timeout=5)
        self._selector.close()
        for process in processes:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _spawn(self, name: str) -> Agent:
        try:
            process = subprocess.Popen(
                [self._binary, "node", "--name", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise CapabilityError(f"starting {self._binary} for {name}: {error.strerror}") from error
        agent = Agent(name, process)
        self._agents[f"{name}/{process.pid}"] = agent
        with self._lock:
            self._incoming.append((process.stdout, (agent, "stdout")))
            self._incoming.append((process.stderr, (agent, "stderr")))
        os.write(self._wake_write, b"x")
        return agent

    def _read(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake_read, 4096)
                    continue
                agent, stream = key.data
                data = self._read_some(key.fd)
                if data:
                    if stream == "stdout":
                        agent._received(data)
                    else:
                        agent._stderr = (agent._stderr + data)[-_STDERR_TAIL_BYTES:]
                    continue
                self._selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                if stream == "stdout":
                    self._gone(agent)
            with self._lock:
                if self._closing:
                    return
                for opened, about in self._incoming:
                    self._selector.register(opened, selectors.EVENT_READ, about)
                self._incoming.clear()

    @staticmethod
    def _read_some(descriptor: int) -> bytes:
        try:
            return os.read(descriptor, 2**20)
        except OSError:
            return b""

    @staticmethod
    def _gone(agent: Agent) -> None:
        try:
            code = agent._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            agent._end("agent-died", "closed its output")
            return
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        agent._end("agent-died", how)
