"""The manifest of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from ..model.bypass import Bypass
from ..model.calibration import Calibration
from ..model.errors import StoreError
from ..model.experiment import Experiment

RUN_SCHEMA = "sixbench.run/2"

RunState = Literal["running", "complete", "interrupted", "partial"]
"""`partial`: ended by itself with trials that failed or could not be run."""


Clock = Literal["real", "virtual"]
"""`virtual`: a guest's, which counts the instructions that it executes. The two are never mixed in one statistic."""


@dataclass(frozen=True, kw_only=True)
class Guest:
    """The emulated machine that a run took place in.

    Attributes:
        kernel: as the command line named it, such as `debian-6.1`.
        emulator: its name and version.
        accelerator: `tcg` or `kvm`.
        instruction_ns: how far an instruction moves the virtual clock; None on the real one.
        seed: of the random numbers that the guest's kernel draws.
    """

    kernel: str
    emulator: str
    accelerator: str
    instruction_ns: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where a run took place.

    Attributes:
        kernel, machine, cpu, distribution: as the system names them.
        cores, memory_bytes: of the machine.
        versions: of sixbench, the agent, Python, iproute2 and the libraries that compute.
        sysctls: the settings that the result depends on, read in a node.
        privileges: `root`, `user-namespace`, or `user` (of a measurement between machines).
        hardware_counters: whether cycles and instructions could be counted; None where nobody asked.
        no_hardware_counters: why they could not.
        clock: what all times of the run are read from.
        guest: the emulated machine that it was; None: a machine.
    """

    kernel: str
    machine: str
    cpu: str
    distribution: str
    cores: int
    memory_bytes: int
    versions: dict[str, str]
    sysctls: dict[str, str] = field(default_factory=dict)
    privileges: str = "root"
    hardware_counters: bool | None = None
    no_hardware_counters: str | None = None
    clock: Clock = "real"
    guest: Guest | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a run is and how it went.

    Attributes:
        run: its name, unique on this machine.
        paper: name of the paper that the experiment reproduces; None for others.
        quick: whether `--quick` shortened it.
        capture: whether the packets of every link are kept.
        command: the command line.
        measured_ns: sum of the trials' elapsed time.
        lab_build_ns: how long each build of a network took.
        install_ns: how long each installation of a path's mechanism took, by path.
        bypass: what the tester could do with no path between.
        guests: of a run on several kernels, where it took place on each; `environment` is then the first.
        calibration: what was known of how far the machine may be trusted, when the run began.
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
    calibration: Calibration | None = None
    guests: dict[str, Environment] = field(default_factory=dict)


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """The form of `manifest.json`."""
    data: dict[str, Any] = _adapter().dump_python(manifest, mode="json", exclude_none=True)
    return {"schema": RUN_SCHEMA} | data


def manifest_from_json(data: dict[str, Any], where: str) -> Manifest:
    """Reads it back. Raises `StoreError`."""
    if data.get("schema") != RUN_SCHEMA:
        raise StoreError(
            f"{where}: schema {data.get('schema')!r} is not {RUN_SCHEMA}: written by another version of sixbench?"
        )
    try:
        return _adapter().validate_python({name: value for name, value in data.items() if name != "schema"})
    except ValueError as error:
        raise StoreError(f"{where}: damaged manifest: {error}") from error
