"""Hosts over SSH that say or do what no host should: a server of SSH on loopback that plays them."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncssh
import pytest

from sixbench.agent import AgentHub, ssh
from sixbench.agent.machine import Seat
from sixbench.agent.remote_process import RemoteProcess
from sixbench.model.errors import AgentError, CapabilityError, SixbenchError
from sixbench.model.host import Host

Process = asyncssh.SSHServerProcess[bytes]
Behaviour = Callable[[Process], Awaitable[None]]

PROGRAM = b"#!/bin/sh\n"
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r\nsixbench: all is well"


class Pretender:
    """A server that runs no commands. `shell` answers what prepares a host, `agent` is the agent."""

    def __init__(self, folder: Path) -> None:
        self.shell: Behaviour = has_agent
        self.agent: Behaviour = silent
        self.sent = 0
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(20)
        self.port = self._server.sockets[0].getsockname()[1]
        key = (folder / "host_key.pub").read_text()
        (folder / ".ssh/known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}")

    async def _listen(self) -> asyncssh.SSHAcceptor:
        (self._folder / ".ssh").mkdir()
        for name in ("host_key", ".ssh/id_ed25519"):
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(str(self._folder / name))
            (self._folder / name).chmod(0o600)
            key.write_public_key(str(self._folder / f"{name}.pub"))
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[str(self._folder / "host_key")],
            authorized_client_keys=str(self._folder / ".ssh/id_ed25519.pub"),
            process_factory=self._process,
            encoding=None,
        )

    async def _process(self, process: Process) -> None:
        behaviour = self.shell if (process.command or "").startswith("sh -c") else self.agent
        try:
            await behaviour(process)
        except (BrokenPipeError, ConnectionError, asyncssh.Error):
            process.close()

    def close(self) -> None:
        async def end() -> None:
            self._server.close()
            await self._server.wait_closed()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()


async def has_agent(process: Process) -> None:
    """A host that has the program."""
    process.stdout.write(f"has\n/tmp/agent\n{platform.machine()}\n/bin\n\n".encode())
    process.exit(0)


async def silent(process: Process) -> None:
    """An agent that reads and says nothing."""
    await process.stdin.read()
    process.exit(0)


def says(text: bytes, code: int = 0, *, to_errors: bytes = b"") -> Behaviour:
    """One that says this and ends."""

    async def behave(process: Process) -> None:
        process.stdout.write(text)
        process.stderr.write(to_errors)
        process.exit(code)

    return behave


async def at_once(process: Process) -> None:
    """One that ends before anything was said."""
    process.exit(1)


async def closes(process: Process) -> None:
    """One whose channel closes without a word of how it ended."""
    process.close()


async def after_the_request(process: Process) -> None:
    """One that ends with the first request."""
    await process.stdin.read(1)
    process.exit(7)


async def cut(process: Process) -> None:
    """One whose whole connection goes."""
    process.channel.get_connection().abort()


async def killed(process: Process) -> None:
    """One that a signal kills."""
    process.exit_with_signal("KILL", False, EVIL)


@pytest.fixture
def pretender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretender]:
    """A host, and a home that knows it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    pretender = Pretender(tmp_path)
    yield pretender
    pretender.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[AgentHub]:
    """A hub, whose program is none."""
    program = tmp_path / "program"
    program.write_bytes(PROGRAM)
    with AgentHub(program) as agent_hub:
        yield agent_hub


def host(pretender: Pretender) -> Host:
    return Host(name="lab1", ssh=f"root@127.0.0.1:{pretender.port}", interfaces={})


def prints(error: SixbenchError) -> bool:
    """True if a message steers no terminal."""
    return str(error).isprintable()


@pytest.mark.parametrize("behave", [at_once, closes, after_the_request, cut, killed, says(b"nonsense\n"), says(b"")])
def test_an_agent_that_ends_early_is_told_with_its_host(
    pretender: Pretender, hub: AgentHub, behave: Behaviour, capfd: pytest.CaptureFixture[str]
) -> None:
    hub.join([host(pretender)])
    pretender.agent = behave
    with pytest.raises(SixbenchError, match="lab1") as caught:
        hub.start(["h1"], {"h1": Seat(on="lab1")})
    assert prints(caught.value), str(caught.value)
    assert "see what this says: ssh -p" in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("behave", [at_once, closes, cut, killed, says(b"", 1, to_errors=EVIL.encode())])
def test_a_shell_that_ends_early_is_told_with_its_host(
    pretender: Pretender, hub: AgentHub, behave: Behaviour, capfd: pytest.CaptureFixture[str]
) -> None:
    pretender.shell = behave
    with pytest.raises(CapabilityError, match=r"lab1.*see what this says: ssh -p") as caught:
        hub.join([host(pretender)])
    assert prints(caught.value), str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_shell_that_writes_for_ever_is_not_read_for_ever(pretender: Pretender, hub: AgentHub, stream: str) -> None:
    async def endless(process: Process) -> None:
        writer = getattr(process, stream)
        while True:
            writer.write(bytes(2**16))
            await writer.drain()
            pretender.sent += 2**16

    pretender.shell = endless
    with pytest.raises(CapabilityError, match="its shell wrote more than 65536 bytes"):
        hub.join([host(pretender)])
    assert pretender.sent < 2**24, "what SSH's window holds, and no more"


def test_a_request_to_an_agent_that_has_just_ended_is_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    class Ended:
        def write(self, _: bytes) -> None:
            raise BrokenPipeError("Channel not open for sending")

    ours, theirs = os.pipe()
    os.write(theirs, b"a request\n")
    asyncio.run(ssh.feed(os.fdopen(ours, "rb", buffering=0), Ended()))  # type: ignore[arg-type]
    with pytest.raises(BrokenPipeError):
        os.write(theirs, b"another\n")
    os.close(theirs)
    assert capfd.readouterr().err == ""


def test_an_agent_that_is_to_start_when_its_host_is_left_ends_and_holds_nothing() -> None:
    loop = asyncio.new_event_loop()
    left = ssh.SshHost(Host(name="lab1", ssh="127.0.0.1"), loop)
    before = set(os.listdir("/proc/self/fd"))

    async def start_and_leave() -> RemoteProcess:
        process = left.start("h1", [])
        await asyncio.sleep(0)
        await left.shut()
        return process

    process = loop.run_until_complete(start_and_leave())
    assert process.wait(60)
    assert process.how_it_ended == "ended because the connection to lab1 was closed"
    assert process.stdout.read() == process.stderr.read() == b""
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    assert set(os.listdir("/proc/self/fd")) <= before
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        left.start("h1", [])
    assert set(os.listdir("/proc/self/fd")) <= before


def greets(**words: object) -> Behaviour:
    """One that greets so, and ends with the next request."""

    async def behave(process: Process) -> None:
        request = json.loads(await process.stdin.readline())
        answer = {"protocol": 1, "version": "x", "pid": 5} | words
        process.stdout.write(json.dumps({"id": request["id"], "ok": answer}).encode() + b"\n")
        await process.stdin.readline()
        process.exit(9)

    return behave


def test_a_greeting_that_lacks_something_is_told(pretender: Pretender, hub: AgentHub) -> None:
    hub.join([host(pretender)])
    pretender.agent = greets()
    agent = hub.start(["h1"], {"h1": Seat(on="lab1")})["h1"]
    with pytest.raises(AgentError, match=r"the agent of h1 \(on lab1\) greeted without netns_inode"):
        _ = agent.namespace


def test_an_agent_that_ends_later_is_told_with_its_host(pretender: Pretender, hub: AgentHub) -> None:
    hub.join([host(pretender)])
    pretender.agent = greets(netns_inode=7)
    agent = hub.start(["h1"], {"h1": Seat(on="lab1")})["h1"]
    with pytest.raises(AgentError, match=r"the agent of h1 \(on lab1\) ended with code 9"):
        agent.call("cpu")
