"""A kernel that nodes are on: its processors, and that they do not sleep meanwhile.

A processor that sleeps has to be woken. On a virtual machine that takes until its host has time: 75 us in the median,
2.9 ms in one of a hundred (measured). An agent of its own therefore keeps every processor awake by a thread of the idle
class that yields to all others (docs/protocol.md, `awake-start`), and holds `/dev/cpu_dma_latency` open, which keeps
processors of a real machine out of deep sleep.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..agent import Agent, AgentHub, Seat
from ..agent.requests import Awake, AwakeStart
from ..lab.heat import governors
from ..lab.kernel_files import Read, read_here
from ..model.errors import AgentError, CapabilityError
from ..model.observation import AwakeAnswer
from ..store import ProcessorUse
from .asking import SentRequest, ask
from .environment import GUEST
from .session import ANSWER_TIMEOUT_S

AWAKE = "(processors)"
"""The name of the agent that keeps them awake."""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Identity of a kernel (random(4)): each start of one has another. Containers and namespaces have that of their
machine."""
CPUINFO = Path("/proc/cpuinfo")
VENDOR = Path("/sys/class/dmi/id/sys_vendor")
"""The maker of a machine, by its firmware."""

_MAKERS = ("QEMU", "Amazon EC2", "Google", "Microsoft Corporation", "VMware, Inc.", "Xen", "innotek GmbH")
"""Those of virtual machines."""


class KernelProcessors:
    """The processors of a kernel that nodes may be on.

    Attributes:
        boot_id: what it is known by; None where it does not tell.
        usable: the processors that there are, the best first.
        read: reads files of its machine.
        is_to_be_awake: whether threads were to keep its processors awake, wherever that succeeded.
    """

    def __init__(self, usable: Iterable[int], read: Read = read_here, taken: Iterable[int] = ()) -> None:
        """It is not touched yet.

        Args:
            usable: the processors that there are, the best first.
            read: reads files of its machine.
            taken: those among them that are kept awake for others already.
        """
        self.usable = tuple(usable)
        self.read = read
        self.boot_id = read(BOOT_ID)
        self.is_to_be_awake = False
        self._on: str | None = None
        self._request: bool | None = False
        self._wanted = tuple(sorted(set(self.usable) - set(taken)))
        self._agent: Agent | None = None
        self._awake: tuple[int, ...] = ()
        self._latency_ns: int | None = None
        self._refused: str | None = None
        self._governors = governors(self.usable, read=read)

    def keep_awake(self, hub: AgentHub, on: str | None, wanted: bool | None) -> None:
        """Keeps the processors awake from now on. Does nothing where that goes on, or was refused.

        Args:
            on: the host on which its agent is to be; None: this machine.
            wanted: None: where the machine is virtual.
        """
        is_over = self._agent is None or self._agent.ended is not None
        is_refused = self._agent is None and self._refused is not None
        if not is_over or is_refused or wanted is False or (wanted is None and GUEST in os.environ):
            return
        spinning = self._wanted if wanted or is_virtual(read=self.read) else ()
        self._on, self._request, self.is_to_be_awake = on, wanted, bool(spinning)
        agent = None
        try:
            [agent] = hub.start([AWAKE], {AWAKE: Seat(on=on)}).values()
            request = AwakeStart(processors=list(spinning))
            self._latency_ns = agent.answer(request, timeout_s=ANSWER_TIMEOUT_S).latency_ns
        except (AgentError, CapabilityError) as error:
            self._refused, self._agent = str(error), None
            if agent is not None:
                hub.stop([agent])
            return
        self._agent, self._awake = agent, spinning

    def renew(self, hub: AgentHub) -> None:
        """Keeps the processors awake again where the threads that did so have ended. Raises `AgentError` as
        `busy_times` does."""
        if self.is_to_be_awake and self._agent is not None:
            self.busy_times(self.ask())
            self.keep_awake(hub, self._on, self._request)

    @property
    def why_not(self) -> str | None:
        """The reason why the processors were last not kept awake; None where nothing ended and nothing was refused."""
        return self._refused

    @property
    def use(self) -> ProcessorUse:
        """Its part of the manifest."""
        return ProcessorUse(
            usable=tuple(sorted(self.usable)),
            kept_awake=self._awake,
            not_kept_awake=self._refused,
            latency_ns=self._latency_ns,
            governors=self._governors,
        )

    def ask(self) -> SentRequest[AwakeAnswer] | None:
        """Asks how long each was busy so far; None where no thread watches them."""
        return ask(self._agent, Awake()) if self._agent is not None and self._awake else None

    def busy_times(self, asked: SentRequest[AwakeAnswer] | None) -> AwakeAnswer | None:
        """Time for which each was busy so far, to the microsecond; None where no thread watches it.

        Where the agent that keeps them awake has died, they may sleep from then on, and the manifest says why. Raises
        `AgentError` where it lives, and refuses or gives an answer of another form.
        """
        if asked is None or self._agent is None:
            return None
        try:
            return asked.answer()
        except AgentError:
            if self._agent.ended is None:
                raise
            self._refused, self._awake, self._latency_ns = str(self._agent.ended), (), None
            return None

    def let_sleep(self, hub: AgentHub) -> None:
        """Ends it."""
        if self._agent is not None:
            hub.stop([self._agent])
            self._agent = None


def is_virtual(cpuinfo: Path = CPUINFO, vendor: Path = VENDOR, read: Read = read_here) -> bool:
    """True if a machine is virtual, and no emulated machine of ours. There the clock stands still while nothing runs,
    and a thread that spins would make it run.

    Args:
        cpuinfo: has the flag `hypervisor` where the processor says so (x86).
        vendor: as `VENDOR`.
        read: reads them.
    """
    if GUEST in os.environ:
        return False
    for line in (read(cpuinfo) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "flags":
            return "hypervisor" in value.split()
    return read(vendor) in _MAKERS
