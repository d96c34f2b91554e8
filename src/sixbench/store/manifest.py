"""The manifest of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..model.bypass import Bypass
from ..model.calibration import Calibration
from ..model.experiment import Experiment
from ..model.procedure import Procedure
from ..model.survey import Survey

RunState = Literal["running", "complete", "interrupted", "partial"]
"""`partial`: the run ended by itself, and trials failed or could not be run."""


Clock = Literal["real", "virtual"]
"""`virtual`: the clock of a guest, which counts the instructions that it executes. No statistic mixes the two."""


@dataclass(frozen=True, kw_only=True)
class EmulatedMachine:
    """The emulated machine that a run took place in.

    Attributes:
        kernel: its name on the command line, such as `debian-6.1`.
        emulator: its name and version.
        accelerator: `tcg` or `kvm`.
        instruction_ns: how far an instruction moves the virtual clock; None on the real one.
        seed: the seed of the random numbers that the guest's kernel draws.
    """

    kernel: str
    emulator: str
    accelerator: str
    instruction_ns: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class ProcessorUse:
    """Use of the machine's processors by a run.

    Attributes:
        usable: those that it might use.
        kept_awake: those on which a thread of the idle class spun, so that they did not sleep.
        not_kept_awake: why there was no such thread, for a time or at all, where there should have been.
        latency_ns: how long processors might take to wake, by `/dev/cpu_dma_latency`. None: that was not set.
        governors: those of their frequency, where the machine shows any.
    """

    usable: tuple[int, ...] = ()
    kept_awake: tuple[int, ...] = ()
    not_kept_awake: str | None = None
    latency_ns: int | None = None
    governors: tuple[str, ...] = ()


CONTROL, PTP, LINK = "control", "ptp", "link"
"""The sources of clocks' readings: an exchange over the connection of control, the Precision Time Protocol, and an
exchange over the link of a trial, which is of two hosts and in the trial's record."""


@dataclass(frozen=True, kw_only=True)
class ClockReading:
    """Offset of a host's realtime clock from another one.

    Attributes:
        realtime_ns: when, by the machine of the run.
        low_ns, high_ns: it was ahead by no less and no more than this.
        round_trip_ns: how long the fastest exchange took. None: its source has none.
        source: what told it, a name of `bench/clock_sources`.
        reference: the other clock, such as a grandmaster of PTP. None: the realtime clock of the machine of the run.
        is_steered: whether the source keeps the clock to the other one. None: it does not tell.
    """

    realtime_ns: int
    low_ns: int
    high_ns: int
    round_trip_ns: int | None = None
    source: str = CONTROL
    reference: str | None = None
    is_steered: bool | None = None


@dataclass(frozen=True, kw_only=True)
class HostFacts:
    """A machine that nodes of a run were on.

    Attributes:
        kernel, machine: the system's names of them.
        clock: its clock before the first trial, once a minute, and at each end of the run, by every source that told.
        no_clock: why a source told nothing before the first trial, by the name of the source.
        hardware_clocks: the device of the PTP hardware clock of each interface that was borrowed, or `none`; None where
            that is not known.
        boot_id: what its kernel is known by (random(4)). Hosts with one are one machine. None: it is not known.
        processors: what was done with its processors. None: it is not known.
    """

    kernel: str
    machine: str
    clock: tuple[ClockReading, ...] = ()
    no_clock: dict[str, str] = field(default_factory=dict)
    hardware_clocks: dict[str, str | None] = field(default_factory=dict)
    boot_id: str | None = None
    processors: ProcessorUse | None = None


@dataclass(frozen=True, kw_only=True)
class UnderlayWay:
    """One direction of a network that is not ours.

    Attributes:
        path_mtu_bytes: the largest packet that arrives, by probing (RFC 8899). None: no probe was acknowledged.
        routers: how much of the hop limit it takes. None: it is not known.
        narrowest: the address of the router that has the narrowest link, if one said so.
    """

    path_mtu_bytes: int | None = None
    routers: int | None = None
    narrowest: str | None = None


@dataclass(frozen=True, kw_only=True)
class UnderlayReading:
    """Observations of such a network at one time.

    Attributes:
        realtime_ns: when, by the machine of the run.
        there, back: from the first host to the second, and back. None: it is not known.
        not_known: why.
    """

    realtime_ns: int
    there: UnderlayWay | None = None
    back: UnderlayWay | None = None
    not_known: str | None = None

    @property
    def path_mtu_bytes(self) -> int | None:
        """The largest packet that arrives in both directions. None: it is not known."""
        sizes = [None if direction is None else direction.path_mtu_bytes for direction in (self.there, self.back)]
        known = [size for size in sizes if size is not None]
        return min(known) if len(known) == len(sizes) else None


@dataclass(frozen=True, kw_only=True)
class Underlay:
    """The network between two hosts, which is not ours.

    Attributes:
        hosts: their names.
        family: of the packets between them.
        readings: before the first trial, and at each end of the run.
    """

    hosts: tuple[str, str]
    family: Literal[4, 6] = 4
    readings: tuple[UnderlayReading, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The environment of a run.

    Attributes:
        kernel, machine, cpu, distribution: the system's names of them.
        cores, memory_bytes: the cores and the memory of the machine.
        versions: the versions of sixbench, the agent, Python, iproute2, the libraries that compute, and others' servers
            and clients.
        sysctls: the settings that the result depends on, as they were before any network was built. They are those of a
            new namespace, or of this machine if the measurement was between machines.
        nodes: the settings that held in the nodes, read back when each network was up. Values by node and setting;
            there are several where the networks of the run differ. Empty if they were not read.
        privileges: `root`, `user-namespace`, or `user` (for a measurement between machines).
        hardware_counters: whether cycles and instructions could be counted. None: this was not asked.
        no_hardware_counters: why they could not.
        clock: the clock of all times of the run.
        guest: the emulated machine. None: it was a real machine.
        processors: what was done with the processors. None: nothing, or it is not known.
        hosts: the other machines that nodes were on, or that an experiment with servers was measured from, by name.
        underlays: the networks between hosts that are not ours and that links went over, by the names of both.
        survey: the servers of an experiment with servers as this machine sees them. None: it has none, or vantages.
        surveys: the servers as each vantage of the experiment sees them, by its name.
    """

    kernel: str
    machine: str
    cpu: str
    distribution: str
    cores: int
    memory_bytes: int
    versions: dict[str, str]
    sysctls: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    privileges: str = "root"
    hardware_counters: bool | None = None
    no_hardware_counters: str | None = None
    clock: Clock = "real"
    guest: EmulatedMachine | None = None
    processors: ProcessorUse | None = None
    hosts: dict[str, HostFacts] = field(default_factory=dict)
    underlays: dict[str, Underlay] = field(default_factory=dict)
    survey: Survey | None = None
    surveys: dict[str, Survey] = field(default_factory=dict)

    @property
    def all_surveys(self) -> dict[str | None, Survey]:
        """The surveys by vantage. None as a vantage is this machine, where the experiment names no vantages."""
        if self.survey is not None:
            return {None: self.survey}
        return dict(self.surveys.items())

    def with_surveys(self, surveys: Mapping[str | None, Survey]) -> Environment:
        """The environment with the surveys of these vantages in place of the ones before."""
        by_name = {name: survey for name, survey in surveys.items() if name is not None}
        return replace(self, survey=surveys.get(None, self.survey), surveys=self.surveys | by_name)


def nowhere(clock: Clock = "real") -> Environment:
    """The facts about the environment of a run that another machine measures, known before it does."""
    return Environment(
        kernel="", machine="", cpu="", distribution="", cores=1, memory_bytes=0, versions={}, clock=clock
    )


@dataclass(frozen=True, kw_only=True)
class WorkerMachine:
    """A machine that measured blocks of a run.

    Attributes:
        environment: what it was like, with the settings of the nodes that it had.
        calibration: what was known of how far it may be trusted.
        bypass: what the tester achieved there without a path in between.
    """

    environment: Environment
    calibration: Calibration | None = None
    bypass: tuple[Bypass, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The identity and the course of a run.

    Attributes:
        run: its name, unique on this machine.
        paper: name of the paper that the experiment reproduces; None for others.
        quick: whether `--quick` shortened it.
        capture: whether the packets of every link are kept.
        command: the command line.
        measured_ns: sum of the trials' elapsed time.
        lab_build_ns: how long each build of a network took.
        install_ns: how long each installation of a path's mechanism took, by path.
        bypass: what the tester achieved without a path in between.
        guests: for a run on several kernels, the environment of each; `environment` is then the first of them.
        procedure: what is tested by an RFC, for a run whose trials a test chooses. None: the experiment plans them.
        calibration: what was known, when the run began, about how far the machine may be trusted.
        workers: for a run whose blocks were measured by workers, each of these by name; `environment` is then the
            first's.
        apart: how many trials came late or twice from workers. They are in the directory `apart` and enter nothing.
        accepted: the recorded trials by key, each with the SHA-256 of its files by name. Empty in the manifests of
            earlier versions.
        watched: whether a page of `sixbench ui` looked at the run during one of its trials. None: it is not known.
        overhead_ns: time between trials that was spent outside them.
    """

    run: str
    experiment: Experiment
    environment: Environment
    state: RunState
    started_realtime_ns: int
    ended_realtime_ns: int | None = None
    paper: str | None = None
    quick: bool = False
    capture: bool = False
    command: list[str] = field(default_factory=list)
    lab_build_ns: list[int] = field(default_factory=list)
    install_ns: dict[str, list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bypass: tuple[Bypass, ...] = ()
    procedure: Procedure | None = None
    calibration: Calibration | None = None
    guests: dict[str, Environment] = field(default_factory=dict)
    workers: dict[str, WorkerMachine] = field(default_factory=dict)
    apart: int = 0
    accepted: dict[str, dict[str, str]] = field(default_factory=dict)
    watched: bool | None = None
