"""Reports of the agent's own program about a host, beside the answers of agents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..agent import HARDWARE_CLOCK, LENDABLE, Agent, HardwareTimes, Lendable, read_hardware_clock, read_lendable
from ..agent.requests import Exec
from ..lab.kernel_files import numbers
from ..lab.placement import PROCESSORS
from ..lab.steering import INTERRUPTS, best_first
from ..model.errors import AgentError, CapabilityError
from ..model.quoting import printable
from .kernels import BOOT_ID, CPUINFO, VENDOR, KernelProcessors

_STATUS = Path("/proc/self/status")
_ALLOWED = "Cpus_allowed_list"
_READ = f"""
grep -sH ^{_ALLOWED}: {_STATUS}
grep -sH '' {BOOT_ID} {VENDOR} {PROCESSORS}/cpu[0-9]*/topology/thread_siblings_list \\
  {PROCESSORS}/cpu[0-9]*/topology/physical_package_id {PROCESSORS}/cpu[0-9]*/cpufreq/scaling_governor
grep -sHm 1 ^flags {CPUINFO}
grep -sH '' {INTERRUPTS}
exit 0
"""
"""The longest is the last: an answer ends after 1 MiB."""


def lendable_of(machine: Agent) -> list[Lendable]:
    """The interfaces of a host. Raises `CapabilityError` where it cannot tell, and `AgentError`.

    Args:
        machine: an agent in the host's own network namespace.
    """
    return read_lendable(_output_of(machine, LENDABLE, doing="looking at its interfaces"))


def hardware_clock_of(machine: Agent, number: int) -> list[HardwareTimes]:
    """Time of `/dev/ptpN` of a host. Raises as `lendable_of`."""
    return read_hardware_clock(_output_of(machine, HARDWARE_CLOCK, str(number), doing="reading its hardware clock"))


def kernel_of(agent: Agent, known: Iterable[KernelProcessors] = ()) -> KernelProcessors:
    """The kernel of a host, by what the files of its machine say: one that is known, where it is the same and has the
    same processors. Raises `AgentError`.

    Args:
        agent: any one that is there.
    """
    texts = files_in(agent.answer(Exec(argv=["sh", "-c", _READ])).stdout)
    _, _, allowed = texts.get(_STATUS, "").partition(":")
    try:
        usable = best_first(numbers(allowed), texts.get(INTERRUPTS, ""))
    except ValueError as error:
        raise AgentError("system", f"{agent.host}: its processors cannot be read in {_STATUS} ({_ALLOWED})") from error
    alike = [kernel for kernel in known if kernel.boot_id is not None and kernel.boot_id == texts.get(BOOT_ID)]
    same = next((kernel for kernel in alike if set(kernel.usable) == set(usable)), None)
    return same or KernelProcessors(
        usable, texts.get, taken={processor for kernel in alike for processor in kernel.usable}
    )


def files_in(message: str) -> dict[Path, str]:
    """The texts of files, from lines such as `grep -H` prints: the name, a colon, and a line of the file."""
    lines: dict[Path, list[str]] = {}
    for line in message.splitlines():
        name, _, text = line.partition(":")
        lines.setdefault(Path(name), []).append(text)
    return {file: "\n".join(text).strip() for file, text in lines.items()}


def _output_of(machine: Agent, *words: str, doing: str) -> str:
    done = machine.answer(Exec(argv=["sh", "-c", 'exec /proc/$PPID/exe "$@"', "agent", *words]))
    if done.exit != 0:
        raise CapabilityError(f"{doing}: {printable(done.stderr.strip()) or f'the agent ended with {done.exit}'}")
    return done.stdout
