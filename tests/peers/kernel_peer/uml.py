"""One user-mode Linux: started in a network namespace, given commands over a console, and gone when it is closed.

It is process 1 of a process namespace of its own, below `unshare --kill-child`, below this thread
(PR_SET_PDEATHSIG): whoever dies, and however, all its processes go too. Its files are in a mount namespace of its
own, its log in memory: nothing is left behind.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .initramfs import LINUX, MODULES, Initramfs, initramfs
from .process import PeerError, Result, execute, in_namespace_of

BOOT_TIMEOUT_S = 300.0
"""A boot takes 1.5 s on an idle machine. This limit and the next ones are for what hangs: no load comes near them."""
RUN_TIMEOUT_S = 300.0
CLOSE_TIMEOUT_S = 300.0
ANSWER_TIMEOUT_S = 300.0
"""Time beyond a command's own limit for the answer how the command ended."""
MEMORY = "256M"
"""The kernel permits as many threads as an eighth of it can hold the stacks of: some 600 with 128 MiB. While it boots
it starts one for each of its 700 devices, to execute /sbin/hotplug. On a busy machine most may be there at once. Its
first process then gets none ("can't fork"), and it panics: in 8 of 820 boots. With 256 MiB it was none of 1,238."""
SKIPPED_AT_BOOT = "raid6_select_algo,calibrate_xor_blocks,init_btrfs_fs"
"""It would measure which RAID code is the fastest: four fifths of the processor time of a boot."""
MAX_SCRIPT_BYTES = 3000
"""The terminal between us holds 4096 bytes, and some are escaped."""
MAX_OUTPUT_BYTES = 2**23
MARK = b"\x01\x02\x03\n"
"""Ends each output: as in init.sh."""

_LOG_TAIL_BYTES = 2000
_PANIC = "Kernel panic"
_LOOK_FOR_PANIC_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command that runs in the peer beside others."""

    peer: UmlPeer
    number: int
    command: str

    def wait(self, timeout_s: float = RUN_TIMEOUT_S, *, check: bool = True) -> Result:
        """Waits for its end; both of its outputs are in `stdout`. Once."""
        script = f"read -r code </run/{self.number}.end; cat /run/{self.number}.out; exit $code"
        done = self.peer.run(script, timeout_s=timeout_s, check=False)
        result = Result(command=self.command, exit=done.exit, stdout=done.stdout, stderr=done.stderr)
        return result.checked(self.peer.name) if check else result


class UmlPeer:
    """A user-mode Linux. Use as a context manager, or `close` it."""

    @classmethod
    def boot(
        cls, node_pid: int, taps: list[str], modules: Iterable[str] = (), name: str = "peer", *, first: bool = False
    ) -> UmlPeer:
        """One in the network namespace of a process, with an interface `vec0`, `vec1` ... for each TAP device of that
        namespace (made there where it does not exist), and with modules loaded; `first`: in real time, before what
        else the machine does. Raises `PeerError`."""
        peer = cls(node_pid, taps, name, first=first)
        try:
            peer.wait_booted(modules)
        except BaseException:
            peer.close()
            raise
        return peer

    def __init__(self, node_pid: int, taps: list[str], name: str = "peer", *, first: bool = False) -> None:
        """Starts it and does not wait: `wait_booted` has to follow."""
        self.name = name
        self._initramfs: Initramfs = initramfs()
        self._loaded: set[str] = set()
        self._numbers = itertools.count(1)
        for tap in taps:
            _make_tap(node_pid, tap)
        self._buffer = b""
        self._log = os.memfd_create(f"{self.name} log", 0)
        guest_read, self._commands = os.pipe()
        self._answers, guest_write = os.pipe()
        theirs = (guest_read, guest_write, self._log)
        try:
            self._process = subprocess.Popen(
                [
                    *(("chrt", "--rr", "1") if first else ()),
                    *_command_line(node_pid, taps, self._initramfs.path, *theirs),
                ],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=theirs,
            )
        except OSError as error:
            for descriptor in (self._commands, self._answers, self._log):
                os.close(descriptor)
            raise PeerError(f"{self.name}: starting {LINUX}: {error}") from error
        finally:
            os.close(guest_read)
            os.close(guest_write)
        self._open = True

    def wait_booted(self, modules: Iterable[str] = ()) -> None:
        """Waits until it takes commands, and loads modules. Raises `PeerError`."""
        line = self._until(b"\n", time.monotonic() + BOOT_TIMEOUT_S, "boot")
        if line != "ready":
            raise self._broken(f"said {line!r} where it was to boot")
        self.load("ipv6", *modules)
        # Addresses are used at once, and there is nobody to have duplicates of.
        self.run("cd /proc/sys/net/ipv6/conf; for i in *; do echo 0 >$i/accept_dad; done; ip link set lo up")

    def load(self, *modules: str) -> None:
        """Loads modules of `initramfs.MODULES`, after those that they need."""
        unknown = [name for name in modules if name not in MODULES]
        if unknown:
            raise PeerError(
                f"{self.name}: {', '.join(unknown)} is not among the modules taken along: {', '.join(MODULES)}"
            )
        files = dict.fromkeys(file for name in modules for file in self._initramfs.module_files[name])
        fresh = [file for file in files if file not in self._loaded]
        self.run("cd /modules; " + " && ".join([f"insmod {file}" for file in fresh] or ["true"]))
        self._loaded.update(fresh)

    def run(self, command: str, *, timeout_s: float = RUN_TIMEOUT_S, check: bool = True) -> Result:
        """Runs a shell command inside, and kills what it leaves running. Raises `PeerError` where it does not end in
        time, where the peer does not answer, and, with `check`, where it fails."""
        script = command.encode()
        if len(_escaped(script)) > MAX_SCRIPT_BYTES:
            raise PeerError(f"{self.name}: a command of {len(script)} bytes is longer than {MAX_SCRIPT_BYTES}")
        number = next(self._numbers)
        request = b"%d %d %s\n" % (number, math.ceil(timeout_s), _escaped(script))
        deadline = time.monotonic() + timeout_s + ANSWER_TIMEOUT_S
        try:
            os.write(self._commands, request)
        except OSError as error:
            raise self._broken(f"takes no commands: {error}") from error
        words = self._until(b"\n", deadline, command).split()
        stdout, stderr = (self._until(MARK, deadline, command) for _ in range(2))
        if len(words) != 2 or words[0] != str(number):
            raise self._broken(f"answered {command!r} with {words}")
        if words[1] == "late":
            raise PeerError(f"{self.name}: {command!r} did not end within {timeout_s:g} s: {stdout} {stderr}")
        result = Result(command=command, exit=int(words[1]), stdout=stdout, stderr=stderr)
        return result.checked(self.name) if check else result

    def start(self, command: str) -> Job:
        """Starts a shell command inside that runs beside others."""
        number = next(self._numbers)
        # It says that it has left the process group of this run, which is killed at its end.
        body = f"echo >/run/{number}.begin; (\n{command}\n) >/run/{number}.out 2>&1; echo $? >/run/{number}.end"
        self.run(
            f"mkfifo /run/{number}.begin /run/{number}.end; "
            f"setsid dash -c {shlex.quote(body)} & read -r _ </run/{number}.begin"
        )
        return Job(peer=self, number=number, command=command)

    def counters(self, device: str) -> dict[str, int]:
        """The statistics of a device (`rx_packets`, `tx_errors` ...)."""
        stdout = self.run(f"cd /sys/class/net/{device}/statistics && grep . *").stdout
        return {name: int(value) for name, value in re.findall(r"^(\w+):(\d+)$", stdout, re.MULTILINE)}

    @property
    def log(self) -> str:
        """Output of its kernel."""
        return os.pread(self._log, 2**20, 0).decode(errors="replace")

    def close(self) -> None:
        """Kills it, and waits until all its processes are gone. Raises `PeerError` where they are not."""
        if not self._open:
            return
        self._open = False
        # Process 1 of its namespace first: the kernel then ends all others before unshare sees its end, and none is
        # left to be waited for by a process 1 of the machine that may not do so.
        children = _children(self._process.pid)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            self._process.wait(timeout=CLOSE_TIMEOUT_S if children else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        try:
            self._drain(time.monotonic() + CLOSE_TIMEOUT_S)
        finally:
            os.close(self._answers)
            os.close(self._log)

    def __enter__(self) -> UmlPeer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _until(self, end: bytes, deadline: float, asked: str) -> str:
        """Output up to a mark."""
        searched = 0
        while (match_ := self._buffer.find(end, searched)) < 0:
            searched = max(0, len(self._buffer) - len(end))
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._broken(f"has not answered in time: {asked!r}")
            if not select.select([self._answers], [], [], min(left, _LOOK_FOR_PANIC_S))[0]:
                if _PANIC in self.log:  # It stays, and does nothing more.
                    raise self._broken(f"panicked: {asked!r}")
                continue
            data = os.read(self._answers, 2**16)
            if not data:
                raise self._broken(f"ended: {asked!r}")
            self._buffer += data
            if len(self._buffer) > MAX_OUTPUT_BYTES:
                raise self._broken(f"said more than {MAX_OUTPUT_BYTES} bytes: {asked!r}")
        buffer = self._buffer[:match_]
        self._buffer = self._buffer[match_ + len(end) :]
        return buffer.decode(errors="replace")

    def _broken(self, what: str) -> PeerError:
        log = self.log
        begin = log.find(_PANIC)
        end = begin if begin >= 0 else len(log)
        return PeerError(f"{self.name} {what}; its kernel said: {log[max(0, end - _LOG_TAIL_BYTES) :]}")

    def _drain(self, deadline: float) -> None:
        """Reads the answers to their end, which comes when the last process that could write one is gone."""
        while select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not os.read(self._answers, 2**16):
                return
        raise PeerError(f"{self.name}: processes of {LINUX} are left after {CLOSE_TIMEOUT_S:g} s")


def _command_line(node_pid: int, taps: list[str], archive: Path, commands: int, answers: int, log: int) -> list[str]:
    kernel = [
        LINUX,
        *(
            f"mem={MEMORY}",
            f"initrd={archive}",
            "root=/dev/ram0",
            "quiet",
            f"initcall_blacklist={SKIPPED_AT_BOOT}",
            "umid=peer",
            "uml_dir=/mnt/",
        ),
        *("con=null", "ssl=null", f"con0=null,fd:{log}", f"con1=fd:{commands},fd:{answers}"),
        *(f"vec{index}:transport=tap,ifname={tap}" for index, tap in enumerate(taps)),
    ]
    script = f"mount -t tmpfs uml /mnt && exec {shlex.join(kernel)}"
    namespaces = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return in_namespace_of(node_pid, "setpriv", "--pdeathsig", "KILL", *namespaces, "sh", "-c", script)


def _escaped(script: bytes) -> bytes:
    """As `printf %b` reads it, on one line."""
    return re.sub(rb"[\\\x00-\x1f\x7f]", lambda result: b"\\0%03o" % result[0][0], script.strip())


def _make_tap(node_pid: int, tap: str) -> None:
    """A TAP device of the form that user-mode Linux opens; one that exists is taken as it is."""
    with contextlib.suppress(PeerError):
        execute(node_pid, "ip", "link", "show", "dev", tap)
        return
    execute(node_pid, "ip", "tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr")


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
