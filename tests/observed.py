"""Observations of agents, in the forms in which they answer, from as much of them as a test is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sixbench.model.form import Form
from sixbench.model.observation import CaptureAnswer, CountersAnswer, DeviceTimers, Drop, Packet, TunnelState

_INTERFACE = [f"{direction}_{what}" for direction in ("rx", "tx") for what in ("bytes", "packets", "errors", "dropped")]
_NONE = {"packets": 0, "bytes": 0}


def counted(node: Mapping[str, Any]) -> CountersAnswer:
    """The counters of a node. What an interface did not count is 0."""
    interfaces = {
        name: dict.fromkeys(_INTERFACE, 0) | interface for name, interface in node.get("interfaces", {}).items()
    }
    return CountersAnswer.model_validate({"snmp": {}, **node, "interfaces": interfaces})


def by_node(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, CountersAnswer]:
    """The counters of nodes."""
    return {name: counted(node) for name, node in nodes.items()}


def packet(data: Mapping[str, Any]) -> Packet:
    """A captured packet."""
    return Packet.model_validate({"layers": [], "data": "", **data})


def captured(packets: Iterable[Mapping[str, Any]] = (), dropped: int = 0) -> CaptureAnswer:
    """A capture of these packets."""
    return CaptureAnswer(packets=[packet(each_packet) for each_packet in packets], matched=0, dropped=dropped)


def drops(reports: Sequence[Mapping[str, Any]] | None) -> list[Drop] | None:
    """The kernel's reports of drops; a device or a protocol of None is not told."""
    if reports is None:
        return None
    return [
        Drop.model_validate({name: value for name, value in report.items() if value is not None}) for report in reports
    ]


def timers(devices: Iterable[Mapping[str, Any]]) -> list[DeviceTimers]:
    """Timers of devices."""
    return [DeviceTimers.model_validate(device) for device in devices]


AForm = TypeVar("AForm", bound=Form)


def answers(form: type[AForm], nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, AForm]:
    """Answers of that form, by node."""
    return {node: form.model_validate(answer) for node, answer in nodes.items()}


def devices(form: type[AForm], nodes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, AForm]]:
    """Counts of devices, by node and device."""
    return {node: answers(form, each_node) for node, each_node in nodes.items()}


def tunnels(nodes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, TunnelState]]:
    """The counters of tunnels' ends, by node and device."""
    none = {"encapsulated": _NONE, "decapsulated": _NONE}
    return {
        node: {device: TunnelState.model_validate(none | each_device) for device, each_device in devices.items()}
        for node, devices in nodes.items()
    }
