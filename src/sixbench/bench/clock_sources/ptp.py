"""The clocks of hosts by PTP (IEEE 1588), where ptp4l of linuxptp runs on them.

ptp4l is asked by its own client, `pmc`. It says how far the clock that it compares is ahead of a grandmaster, and how
long packets take between the two. PTP takes it that they take as long there as back, so the truth is within that time
of what it says. The clock is the system's where packets are stamped in software. Where hardware stamps them it is the
hardware clock of an interface, and the agent reads the system's clock beside that one. Two hosts with the same
grandmaster have one difference.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ...agent import Agent, HardwareTimes
from ...agent.requests import Exec
from ...model.errors import CapabilityError
from ...model.host import MOST_DRIFT_PPM
from ...model.quoting import listed, printable
from ...store import PTP, ClockReading
from ..on_host import hardware_clock_of, lendable_of
from .looks import ahead_ns

_SETS = ("DEFAULT_DATA_SET", "CURRENT_DATA_SET", "TIME_STATUS_NP", "PORT_DATA_SET", "PORT_PROPERTIES_NP")
_ASK = ["pmc", "-u", "-b", "0", *(f"GET {name}" for name in _SETS)]
_IF_THERE = 'command -v pmc > /dev/null && "$@"; exit $?'
"""pmc is a child of the shell, which the kernel kills if the agent is killed. pmc then ends by itself, within a second,
and takes its socket in /run away."""

_SOCKET = "/var/run/ptp4l"
"""Socket at which it listens to pmc, unless it is configured otherwise."""
_ANSWER = re.compile(r"RESPONSE MANAGEMENT (\w+)")
_DEVICE = re.compile(r"/dev/ptp(\d+)")
_MOST_NS = 2.0**63
"""The year 2262, if they are since 1970."""
_SHOWN = 200
"""Characters of what a program said."""

Answers = dict[str, list[dict[str, str]]]
"""The output of pmc: by data set, the values of each answer."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """ptp4l's report about the clock that it compares.

    Attributes:
        grandmaster: its identity.
        offset_ns: how far the clock is ahead of that.
        path_ns: how long packets take from there.
        ingress_ns: when the last one came, by this clock. None: it is the grandmaster itself.
        is_steered: whether ptp4l keeps the clock to that of the grandmaster, or it is that.
        stamps: `SOFTWARE` for the system's clock, `HARDWARE` for that of the interface.
    """

    grandmaster: str
    offset_ns: float
    path_ns: float
    ingress_ns: int | None
    is_steered: bool
    stamps: str
    interface: str


def read_ptp(agent: Agent) -> ClockReading:
    """ptp4l's report there. Raises `CapabilityError` where there is none or it says too little, and `AgentError`."""
    done = agent.answer(Exec(argv=["sh", "-c", _IF_THERE, "pmc", *_ASK]))
    if done.exit != 0:
        text = printable(done.stderr.strip())[:_SHOWN]
        raise CapabilityError(f"ptp4l could not be asked: {text or 'the host has no pmc (Debian package linuxptp)'}")
    compared = compare(parse_pmc(done.stdout))
    if compared.stamps == "SOFTWARE":
        now_ns, low_ns, high_ns = int(agent.call("cpu")["realtime_ns"]), 0, 0
    else:
        now_ns, low_ns, high_ns = _system_beside_hardware(agent, compared.interface)
    low, high = bounds_ns(compared, now_ns)
    return ClockReading(
        realtime_ns=time.time_ns(),
        low_ns=low + low_ns,
        high_ns=high + high_ns,
        source=PTP,
        reference=f"{compared.grandmaster} ({compared.stamps.lower()} timestamps)",
        is_steered=compared.is_steered,
    )


def parse_pmc(text: str) -> Answers:
    """The output of pmc(8)."""
    texts: Answers = {}
    values: dict[str, str] | None = None
    for line in text.splitlines():
        answer = _ANSWER.search(line)
        words = line.split()
        if answer is not None:
            values = {}
            texts.setdefault(answer[1], []).append(values)
        elif values is not None and line.startswith("\t\t") and len(words) == 2:
            values[words[0]] = words[1]
    return texts


def compare(answers: Answers) -> Compared:
    """ptp4l's report about its clock. Raises `CapabilityError` where that is not enough for an interval."""
    if not answers:
        raise CapabilityError(f"no ptp4l answers at {_SOCKET}")
    missing = [name for name in _SETS if not answers.get(name)]
    if missing:
        raise CapabilityError(f"ptp4l does not report its {missing[0]}; linuxptp 3.1 and later do")
    try:
        return _compared(answers)
    except (KeyError, ValueError) as error:
        raise CapabilityError(f"the answer of ptp4l cannot be read ({printable(str(error))[:_SHOWN]})") from error


def _compared(answers: Answers) -> Compared:
    [default_set], [current], [status] = (answers[name] for name in _SETS[:3])
    states = {answer["portIdentity"]: answer["portState"] for answer in answers["PORT_DATA_SET"]}
    ports = {answer["portIdentity"]: answer for answer in answers["PORT_PROPERTIES_NP"]}
    steps, path_ns = int(current["stepsRemoved"]), _time_ns(current["meanPathDelay"])
    followed = [name for name, state in states.items() if state in ("SLAVE", "UNCALIBRATED")]
    leading = [name for name, state in states.items() if state in ("MASTER", "GRAND_MASTER")]
    if steps > 1:
        raise CapabilityError(
            f"ptp4l is {steps} steps from its grandmaster, and the errors of the clocks between are unknown"
        )
    if steps == 0 and leading and status["gmIdentity"] == default_set["clockIdentity"]:
        [port, *_], path_ns, offset_ns = leading, 0.0, 0.0
    elif (
        steps == 1
        and followed
        and status["gmPresent"] == "true"
        and path_ns > 0
        and _time_ns(current["offsetFromMaster"])
    ):
        # Between its first delay and the next Sync, ptp4l reports 0.
        [port, *_], offset_ns = followed, _time_ns(current["offsetFromMaster"])
    else:
        raise CapabilityError(f"ptp4l has no time yet (its ports are {listed(states.values()).lower()})")
    stamps = ports[port]["timestamping"]
    if stamps not in ("SOFTWARE", "HARDWARE"):
        raise CapabilityError(f"ptp4l stamps packets by {printable(stamps)[:_SHOWN]}, of which no clock is known")
    return Compared(
        grandmaster=status["gmIdentity"],
        offset_ns=offset_ns,
        path_ns=path_ns,
        ingress_ns=None if steps == 0 else int(_time_ns(status["ingress_time"])),
        is_steered=steps == 0 or states[port] == "SLAVE",
        stamps=stamps,
        interface=ports[port]["interface"],
    )


def _time_ns(text: str) -> float:
    value = float(text)
    if not abs(value) < _MOST_NS:  # also false for NaN
        raise ValueError(f"{text} is no time")
    return value


def bounds_ns(compared: Compared, now_ns: int) -> tuple[int, int]:
    """Lead of the clock over the grandmaster's: no less and no more than this. One that is not steered may have drifted
    since the last packet came.

    Args:
        now_ns: what it says now.
    """
    either_ns = compared.path_ns
    if compared.ingress_ns is not None and not compared.is_steered:
        either_ns += abs(now_ns - compared.ingress_ns) * MOST_DRIFT_PPM / 10**6
    return round(compared.offset_ns - either_ns), round(compared.offset_ns + either_ns)


def system_ahead_ns(readings: Sequence[HardwareTimes]) -> tuple[int, int]:
    """Lead of the system's clock over a hardware clock: no less and no more than this."""
    low_ns, high_ns = ahead_ns(readings)  # lead of the hardware clock
    return -high_ns, -low_ns


def _system_beside_hardware(agent: Agent, interface: str) -> tuple[int, int, int]:
    """Current time of the hardware clock of an interface, and the lead of the system's clock over it."""
    devices = {lendable.interface: lendable.hardware_clock for lendable in lendable_of(agent)}
    device = _DEVICE.fullmatch(devices.get(interface) or "")
    if device is None:
        raise CapabilityError(f"ptp4l keeps a hardware clock of {printable(interface)} that cannot be found")
    readings = hardware_clock_of(agent, int(device[1]))
    return readings[-1][1], *system_ahead_ns(readings)
