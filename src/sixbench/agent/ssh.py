"""Hosts over SSH: their agents are those of this machine, with a connection between them and their pipes.

A host gets the program once (`_INSTALL`), and no daemon, port or file else. When the connection goes, sshd closes the
agent's input, and the agent ends with its namespace. All connections of a hub are in one thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import platform
import shlex
import threading
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ..model.errors import CapabilityError
from ..model.host import Host, split_destination
from ..model.quoting import one_line, printable
from .machine import AgentProcess
from .remote_process import RemoteProcess

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHReader, SSHWriter

KEEPALIVE_S, KEEPALIVES = 2, 4
"""A read waits for ever after a cut, so that both sides ask whether the other is there: after 8 s without any answer a
host counts as gone."""
CONNECT_TIMEOUT_S = 20.0
INSTALL_TIMEOUT_S = 300.0
MOST_SHELL_BYTES = 2**16
"""The most that a host's shell may write while the host is prepared, on either of its outputs. It has five lines to
write, and may greet."""
SESSIONS = 8
"""Number of agents that share a connection: sshd allows ten sessions each unless it is configured otherwise
(MaxSessions)."""

_LOOK = """d="${XDG_CACHE_HOME:-$HOME/.cache}/sixbench"; f="$d/agent-HASH"
if [ -x "$f" ] && [ "$(sha256sum < "$f" | cut -c 1-64)" = HASH ]; then echo has; else echo lacks; fi
echo "$f"; uname -m; echo "$PATH"; echo "$SSH_CONNECTION" """
_INSTALL = """umask 077; f=FILE; mkdir -p "$(dirname "$f")" && cat > "$f.$$" && chmod 700 "$f.$$" && mv "$f.$$" "$f" ||
{ rm -f "$f.$$"; exit 1; }"""

_T = TypeVar("_T")


def why_missing() -> str | None:
    """That what hosts need is not installed, in words; None where it is."""
    if find_spec("asyncssh") is not None:
        return None
    return "hosts need asyncssh, which is not installed; install with: pip install 'sixbench[hosts]'"


class SshHosts:
    """The hosts that a hub is connected to, by name."""

    def __init__(self, binary: Path) -> None:
        self._program = binary.read_bytes()
        self._hash = hashlib.sha256(self._program).hexdigest()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self._thread.start()
        self._hosts: dict[str, SshHost] = {}

    def join(self, hosts: Iterable[Host]) -> None:
        """Connects to hosts, to all at once, unless it is connected. Raises `CapabilityError`."""
        missing = why_missing()
        if missing is not None:
            raise CapabilityError(missing)
        new = [host for host in hosts if not self.is_connected(host.name)]
        joining = [self._submit(self._joined(host)) for host in new]
        failures = [failure for future in joining if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]

    def is_connected(self, name: str) -> bool:
        """True if there is a connection to a host, as far as is known."""
        return name in self._hosts and self._hosts[name].is_connected

    def __getitem__(self, name: str) -> SshHost:
        return self._hosts[name]

    def close(self) -> None:
        """Ends all connections, and the thread."""
        self._submit(self._closed()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CONNECT_TIMEOUT_S)
        self._loop.close()

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _joined(self, host: Host) -> None:
        ssh_host = SshHost(host, self._loop)
        try:
            await ssh_host.open(self._program, self._hash)
        except BaseException:
            await ssh_host.shut()
            raise
        self._hosts[host.name] = ssh_host

    async def _closed(self) -> None:
        await asyncio.gather(*(host.shut() for host in self._hosts.values()), return_exceptions=True)
        rest = asyncio.all_tasks(self._loop) - {asyncio.current_task(self._loop)}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


class SshHost:
    """A host, connected."""

    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        assert host.ssh is not None, f"{host.name} is this machine"
        self.host = host
        self._destination = host.ssh
        self._loop = loop
        self._connections: list[_Shared] = []
        self._opening = asyncio.Lock()
        self._command: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def is_connected(self) -> bool:
        """True if it is there, as far as is known."""
        return any(not item.connection.is_closed() for item in self._connections)

    def start(self, name: str, arguments: Sequence[str]) -> AgentProcess:
        """Starts an agent. Where that fails, its end tells so."""
        process = RemoteProcess(self.host.name, self._loop, self._by_hand)
        command = "exec " + shlex.join([*self._command, *arguments])

        def begin() -> None:
            task = self._loop.create_task(self._run(process, command))
            self._tasks.add(task)
            task.add_done_callback(end)

        def end(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                process.ended(None, f"ended because the connection to {self.host.name} was closed")
            process.release()

        try:
            self._loop.call_soon_threadsafe(begin)
        except BaseException:
            process.release()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
            raise
        return process

    def close(self) -> None:
        """Its hub ends its connections."""

    async def open(self, program: bytes, program_hash: str) -> None:
        """Connects, and sees to it that the host has the program. Raises `CapabilityError`."""
        shared = await self._connected()
        looked = await self._ask(shared.connection, _LOOK.replace("HASH", program_hash))
        has, file, machine, path, ssh, *_ = [*looked.splitlines(), "", "", "", "", ""]
        if machine != platform.machine():
            raise CapabilityError(
                f"{self.host.name} is a machine of kind {printable(machine) or 'unknown'} and this one is "
                f"{platform.machine()}, so that the agent does not run there; give a host of the same kind"
            )
        if has != "has":
            await self._ask(shared.connection, _INSTALL.replace("FILE", shlex.quote(file)), program)
        sudo = ["sudo", "-n"] if self.host.sudo else []
        # Debian's sshd gives ordinary users no folder with ip and tc in it, and sudo forgets the connection.
        self._command = [*sudo, "env", f"PATH={path}:/usr/sbin:/sbin", f"SSH_CONNECTION={ssh}", file]

    async def shut(self) -> None:
        """Ends its connections, and with them its agents."""
        # An agent that is being started may be about to open another one.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for item in self._connections:
            item.connection.abort()
        for item in self._connections:
            await item.connection.wait_closed()

    async def _connected(self) -> _Shared:
        """A connection with room for one more session. Raises `CapabilityError`."""
        async with self._opening:
            self._connections = [item for item in self._connections if not item.connection.is_closed()]
            free = next((item for item in self._connections if item.sessions < SESSIONS), None)
            if free is None:
                free = _Shared(await connect(self.host.name, self._destination))
                self._connections.append(free)
            return free

    async def _ask(self, connection: SSHClientConnection, script: str, data: bytes = b"") -> str:
        """The output of a script. Raises `CapabilityError`."""
        import asyncssh

        doing = f"preparing {self.host.name}"
        try:
            message, error_output, status = await asyncio.wait_for(
                _conversation(connection, f"sh -c {shlex.quote(script)}", data), INSTALL_TIMEOUT_S
            )
        except TimeoutError as error:
            raise CapabilityError(f"{doing}: no answer after {INSTALL_TIMEOUT_S:g} s") from error
        except (OSError, asyncssh.Error) as error:
            raise CapabilityError(f"{doing}: {error}; {self._by_hand}") from error
        except OverflowError:
            raise CapabilityError(
                f"{doing}: its shell wrote more than {MOST_SHELL_BYTES} bytes, where some lines were expected; "
                f"{self._by_hand}"
            ) from None
        if status != 0:
            why = one_line(error_output) or "its shell ended with an error"
            raise CapabilityError(f"{doing}: {why}; {self._by_hand}")
        return message.decode(errors="replace")

    @property
    def _by_hand(self) -> str:
        """Help with a host that does not answer as it should."""
        return by_hand(self._destination)

    async def _run(self, process: RemoteProcess, command: str) -> None:
        """Runs an agent to its end."""
        import asyncssh

        shared = None
        try:
            shared = await self._connected()
            shared.sessions += 1
            begun = await shared.connection.create_process(command, encoding=None)
            process.begun(begun)
            requests = self._loop.create_task(feed(process.theirs["stdin"], begun.stdin))
            try:
                await begun.redirect_stdout(process.theirs["stdout"])
                del process.theirs["stdout"]  # Its transport closes it, when all is written.
                await begun.redirect_stderr(process.theirs["stderr"])
                del process.theirs["stderr"]
                await begun.wait_closed()
            finally:
                requests.cancel()
                await asyncio.gather(requests, return_exceptions=True)
            process.ended(begun.returncode, f"ended because the connection to {self.host.name} was lost")
        except (OSError, asyncssh.Error, CapabilityError) as error:
            process.ended(None, f"could not be started: {error}")
        finally:
            if shared is not None:
                shared.sessions -= 1


async def _conversation(connection: SSHClientConnection, command: str, data: bytes) -> tuple[bytes, bytes, int | None]:
    """Runs a command. Returns its output, its errors, and its exit status, None where it has none. Raises
    `OverflowError` where it writes more than `MOST_SHELL_BYTES`: the rest is not read."""
    process = await connection.create_process(command, encoding=None)

    async def feed() -> None:
        with contextlib.suppress(BrokenPipeError):  # the end of the process has the reason
            process.stdin.write(data)
            await process.stdin.drain()
            process.stdin.write_eof()

    try:
        _, message, error_output = await asyncio.gather(feed(), _bounded(process.stdout), _bounded(process.stderr))
        await process.wait_closed()
    except BaseException:
        process.close()
        raise
    return message, error_output, process.exit_status


async def _bounded(stream: SSHReader[bytes]) -> bytes:
    """All that is to be read. Raises `OverflowError` where it is more than `MOST_SHELL_BYTES`."""
    data = bytearray()
    while chunk := await stream.read(MOST_SHELL_BYTES):
        data += chunk
        if len(data) > MOST_SHELL_BYTES:
            raise OverflowError
    return bytes(data)


async def feed(pipe: IO[bytes], writer: SSHWriter[bytes]) -> None:
    """Hands on what comes out of a pipe until the pipe or the channel ends, and closes the pipe. Of a channel that ends
    first it says nothing, as an agent does that has ended: what the end was is told by who waits for it."""
    import asyncssh

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    except BaseException:
        pipe.close()
        raise
    try:
        with contextlib.suppress(OSError, asyncssh.Error):
            while chunk := await reader.read(2**16):
                writer.write(chunk)
                await writer.drain()
            writer.write_eof()
    finally:
        transport.close()


class _Shared:
    """A connection, and how many sessions it has."""

    def __init__(self, connection: SSHClientConnection) -> None:
        self.connection = connection
        self.sessions = 0


async def connect(name: str, destination: str) -> SSHClientConnection:
    """Connects as ssh(1) does: with the user's keys, agent and `~/.ssh/config`, to a host whose key is known. Raises
    `CapabilityError`.

    Args:
        name: of the host, for messages.
    """
    import asyncssh

    user, host, port = split_destination(destination)
    given: dict[str, Any] = ({"username": user} if user else {}) | ({"port": port} if port else {})
    doing = f"reaching {name} ({destination})"
    helps = by_hand(destination)
    try:
        return await asyncio.wait_for(
            asyncssh.connect(
                host, **given, keepalive_interval=KEEPALIVE_S, keepalive_count_max=KEEPALIVES, encoding=None
            ),
            CONNECT_TIMEOUT_S,
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise CapabilityError(
            f"{doing}: its host key is not the one that known_hosts has for it, or there is none; {helps}"
        ) from error
    except asyncssh.PermissionDenied as error:
        raise CapabilityError(f"{doing}: it accepts none of your keys; {helps}") from error
    except TimeoutError as error:
        raise CapabilityError(f"{doing}: no answer after {CONNECT_TIMEOUT_S:g} s; {helps}") from error
    except OSError as error:
        raise CapabilityError(f"{doing}: {error.strerror or error}; {helps}") from error
    except (asyncssh.Error, ValueError) as error:
        raise CapabilityError(f"{doing}: {error}; {helps}") from error


def by_hand(destination: str) -> str:
    """The command with which people see what ssh says of a host."""
    return f"see what this says: ssh {_as_command(*split_destination(destination))} true"


def _as_command(user: str | None, host: str, port: int | None) -> str:
    return (f"-p {port} " if port else "") + (f"{user}@" if user else "") + host
