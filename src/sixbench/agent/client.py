"""An agent as a process, and requests to it. `hub.AgentHub` starts agents and reads their answers."""

from __future__ import annotations

import json
import os
import select
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from ..model.errors import AgentError
from ..model.json_object import JsonObject
from ..model.quoting import one_line, visible
from .machine import AgentProcess
from .requests import REQUESTS
from .requests.request import Answered, Request

PROTOCOL = 1
MAX_REQUEST_BYTES = 2**20
MAX_LINE_BYTES = 64 * 2**20
MAX_VALUES = 2**22
"""The most values of an answer, by the characters that begin them. A series has a million intervals at most. Each value
takes up to 120 bytes of memory, so that 64 MiB of braces would take gigabytes."""
CALL_TIMEOUT_S = 40.0
SEND_TIMEOUT_S = 10.0
STOP_TIMEOUT_S = 10.0
"""Time that an agent has to end after the end of its output. One that was killed has closed it, and is not gone before
the kernel has taken away what it had loaded there: each of its programs and events takes a grace period, and on a busy
machine all of them take seconds."""
_STDERR_TAIL_BYTES = 4096


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
    def last_sentence(self) -> str:
        """Its last words without the program's name before them."""
        return self.last_words.removeprefix("sixbench-agent: ")

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
                pass  # the reader notices the end of the agent, and fails pending requests with the cause
            except BaseException:
                if 0 < len(rest) < len(line):
                    self._break("agent-broken", "got only half a request, because sending it was interrupted")
                raise

    def _received(self, data: bytes) -> None:
        if not self.alive:
            return  # nobody asks this agent any more, and its output may never end
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
        for item in pending:
            item.future.set_exception(self._ended)

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
        while data := read_some(stderr.fileno()):
            self._keep_stderr(data)

    def _keep_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_STDERR_TAIL_BYTES:]


def read_some(descriptor: int) -> bytes:
    """The bytes that are there; empty at the end, or where they cannot be read."""
    try:
        return os.read(descriptor, 2**20)
    except OSError:
        return b""
