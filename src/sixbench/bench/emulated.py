"""Nodes that are emulated machines: whether this machine can start them, and how their agents are told to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..guest import DeviceGuest, device_fields, device_guest, find_kernel, find_qemu, kept_kernels, not_kept
from ..mechanisms import install
from ..model.errors import CapabilityError, ExperimentError, Problem
from ..model.experiment import Experiment
from ..model.guest import GuestCommand, GuestNode, GuestPort
from ..model.kernels import DEBIAN_KERNELS
from ..model.network import Blueprint
from ..model.stage import DEVICE_DIRECTORY


def check_guests(experiment: Experiment) -> None:
    """Raises `ExperimentError` at a path whose guest this machine cannot start: one whose kernel is not kept here,
    for instance."""
    for path in experiment.paths:
        network = install(path, experiment.topologies[0], experiment.between)
        check_guests_of(network, experiment.file, path.line, f"paths.{path.name}")


def check_guests_of(network: Blueprint, file: str, line: int | None, key: str) -> None:
    """Does so for one network. Raises `ExperimentError`."""
    for guest in network.guests.values():
        try:
            guest_files(guest.kernel)
        except CapabilityError as error:
            raise ExperimentError([Problem(file=file, line=line, key=key, message=str(error))]) from None


def why_no_guest(network: Blueprint) -> str | None:
    """The reason why a network's machines cannot be started now; None if they can."""
    try:
        find_qemu()
    except CapabilityError as error:
        return str(error)
    kept = {kernel.name for kernel in kept_kernels()}
    wanted = (guest.kernel for guest in network.guests.values() if guest.kernel in DEBIAN_KERNELS)
    lacking = next((kernel for kernel in wanted if kernel not in kept), None)
    return lacking and not_kept(lacking)


def guest_files(kernel: str) -> DeviceGuest:
    """The files from which a machine with a kernel starts. Raises `CapabilityError`."""
    return device_guest(find_kernel(kernel))


def device_start(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The `device-start` that a `guest-start` is on this machine. Raises `CapabilityError`."""
    answers = device_fields(
        guest_files(str(fields["kernel"])),
        DEVICE_DIRECTORY,
        [GuestPort(**port) for port in fields["ports"]],
        [GuestCommand(**command) for command in fields["commands"]],
        int(fields["memory_bytes"]),
    )
    return {**answers, "ready_timeout_ns": fields["ready_timeout_ns"]}


def guest_versions(guests: Iterable[tuple[str, GuestNode]]) -> dict[str, dict[str, str]]:
    """The versions of emulator and kernel, by node. Raises `CapabilityError`."""
    device_guests = {node: guest_files(guest.kernel) for node, guest in guests}
    return {
        node: {"QEMU": guest.version.removeprefix("qemu "), "Linux": guest.kernel.release}
        | {name: version for name, _, version in (built.partition(" ") for built in guest.kernel.built)}
        for node, guest in device_guests.items()
    }
