"""A guest as a device under test: it stays up between two interfaces of this machine, and forwards or translates.

Its interfaces are taps of QEMU's, which go with it. It dies with whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import CapabilityError
from .boot import anonymous
from .image import find_image
from .initramfs import EXIT, UP, make_initramfs, second_script
from .jool import PROGRAMS
from .kernels import Kernel
from .kvm import why_no_kvm
from .machine import BOOT_S, Console, Start, command_line, find_qemu, last_lines
from .memory import lay_out, make_memory, parameters, total_bytes
from .programs import find_program

READY = "sixbench-device: ready"
"""The line on the console that says that the setup has ended."""

SETUP_S = 120.0
"""How long the setup may take once the guest is up."""

_LONGEST_S = 365 * 86_400
"""A device is up as long as its network. The kernel ends it with whoever holds that."""
_POLL_S = 0.05
_FILE = "device"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One of a device's two interfaces: eth0 is towards the client, eth1 towards the server.

    Attributes:
        tap: what the other end is called on this machine until somebody renames it.
        addresses: those of the device, with the lengths of their prefixes.
    """

    tap: str
    addresses: tuple[str, ...]
    mtu_bytes: int


class GuestDevice:
    """A guest that is up, until it is closed."""

    def __init__(self, kernel: Kernel, agent: Path, lines: tuple[Line, Line], setup: Sequence[str]) -> None:
        """Starts it, and waits until its setup has ended.

        Args:
            agent: the agent's program, which is part of every guest.
            setup: commands for its shell, after its interfaces have their addresses and it forwards.

        Raises:
            CapabilityError: QEMU is missing, the guest does not come up, or a command of the setup fails.
        """
        qemu = find_qemu()
        refusal = why_no_kvm(qemu, kernel.vmlinuz)
        disks = lay_out(find_image(agent), kernel.modules_image)
        script = _script(lines, setup)
        variables = {"PATH": f"/usr/sbin:/usr/bin:{PROGRAMS}", "HOME": "/run", "LC_ALL": "C.UTF-8"}
        second = second_script(["sh", f"job/{_FILE}"], variables, _LONGEST_S)
        memory = make_memory(disks)
        initramfs = anonymous(make_initramfs(kernel.boot_modules, second, {_FILE: script.encode()}))
        console = os.memfd_create("sixbench-console", 0)
        start = Start(
            kernel=kernel.vmlinuz,
            parameters=parameters(disks),
            initramfs=initramfs,
            memory=memory,
            memory_bytes=total_bytes(disks),
            accelerator="tcg" if refusal is not None else "kvm",
            is_virtual=False,
            seed=1,
        )
        argv = [str(find_program("setpriv", "util-linux")), "--pdeathsig", "KILL", *command_line(qemu, start, console)]
        for number, line in enumerate(lines):
            argv += ["-netdev", f"tap,id=line{number},ifname={line.tap},script=no,downscript=no,vnet_hdr=off"]
            argv += ["-device", f"virtio-net-pci,netdev=line{number},mac={_mac(number)},romfile="]
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(initramfs, memory, console),
            )
        finally:
            os.close(initramfs)
            os.close(memory)
        self._console = Console(console)
        self._descriptor = console
        try:
            self._await_ready(kernel.name)
        except BaseException:
            self.close()
            raise

    @property
    def failure(self) -> str | None:
        """Why it is up no more; None: it is."""
        self._console.read()
        if self._process.poll() is None and not any(line.startswith(EXIT) for line in self._console.lines):
            return None
        return f"the emulated machine has ended; {last_lines(self._console.lines)}"

    def close(self) -> None:
        """Ends it. Its interfaces go with it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        os.close(self._descriptor)

    def _await_ready(self, name: str) -> None:
        deadline_s, is_up = time.monotonic() + BOOT_S, False
        while True:
            for line in self._console.read():
                if line.startswith(READY):
                    return
                if line.startswith(UP) and not is_up:
                    deadline_s, is_up = time.monotonic() + SETUP_S, True
                if line.startswith(EXIT):
                    raise CapabilityError(
                        f"the emulated machine with {name}: its setup ended with {line.removeprefix(EXIT).strip()}; "
                        f"{last_lines(self._console.lines)}"
                    )
            if self._process.poll() is not None:
                said = self._process.stderr.read(2000).decode(errors="replace") if self._process.stderr else ""
                words = " ".join(said.split())[-400:] or last_lines(self._console.lines)
                raise CapabilityError(f"the emulated machine with {name} could not be started: {words}")
            if time.monotonic() > deadline_s:
                doing = "is not ready" if is_up else "does not come up"
                raise CapabilityError(f"the emulated machine with {name} {doing}; {last_lines(self._console.lines)}")
            time.sleep(_POLL_S)


def _mac(number: int) -> str:
    return f"02:00:00:ff:00:{number + 1:02x}"


def _script(lines: tuple[Line, Line], setup: Sequence[str]) -> str:
    """What runs in the guest. It stays for ever, reading what its kernel says."""
    made = [
        "set -e",
        "modprobe virtio_pci || true",
        "modprobe virtio_net",
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.all.accept_dad=0 "
        "net.ipv6.conf.default.accept_dad=0",
    ]
    for number, line in enumerate(lines):
        made += [f"ip address add {_address(address)} dev eth{number}" for address in line.addresses]
        made.append(f"ip link set dev eth{number} mtu {line.mtu_bytes} up")
    return "\n".join([*made, *setup, f'echo "{READY}" >&2', "exec cat /proc/kmsg >/dev/null"]) + "\n"


def _address(address: str) -> str:
    """Without a test for duplicates, which would take a second."""
    return f"{address} nodad" if ":" in address else address
