"""The tunnels' ends in a trial: packets in and out, drops with their reasons, and costs."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.device import QUIET_DROPS
from ...model.evidence.counts import CountIncrease
from ...model.evidence.packets import Changes
from ...model.evidence.tunnels import TunnelCounters
from ...model.network import Network
from ...model.observation import TunnelState
from ...model.reason import Reason, ReasonKind
from ...model.workload import Traffic
from .rises import NO_PACKETS, rise, rises

KERNEL_DROPS = ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
"""The counters of an interface that mean that a packet went no further."""

Counters = Mapping[str, Mapping[str, TunnelState]]
"""The answers to `tunnel-counters`, by node and device."""

NOTHING = TunnelState(encapsulated=NO_PACKETS, decapsulated=NO_PACKETS)
"""Counts of a new tunnel end."""


def tunnel_evidence(
    network: Network, before: Counters, after: Counters, interfaces: Mapping[str, Mapping[str, Changes]]
) -> dict[str, dict[str, TunnelCounters]]:
    """Counts of the ends of tunnels, by node and device.

    Args:
        interfaces: the changes of the interfaces' counters, by node, for the kernel's own tunnels.
    """
    tunnel_counters: dict[str, dict[str, TunnelCounters]] = {}
    for tunnel in network.tunnels:
        late = after.get(tunnel.node, {}).get(tunnel.device)
        if late is not None:
            early = before.get(tunnel.node, {}).get(tunnel.device, NOTHING)
            tunnel_counters.setdefault(tunnel.node, {})[tunnel.device] = _difference(early, late)
            continue
        counted = interfaces.get(tunnel.node, {}).get(tunnel.device)
        if counted is not None:
            tunnel_counters.setdefault(tunnel.node, {})[tunnel.device] = TunnelCounters(
                encapsulated=CountIncrease(packets=counted.get("tx_packets", 0), bytes=counted.get("tx_bytes", 0)),
                decapsulated=CountIncrease(packets=counted.get("rx_packets", 0), bytes=counted.get("rx_bytes", 0)),
                drops={
                    name: CountIncrease(packets=counted[name], bytes=0) for name in KERNEL_DROPS if counted.get(name)
                },
            )
    return tunnel_counters


def check_tunnels(network: Network, ends: Mapping[str, Mapping[str, TunnelCounters]], traffic: Traffic) -> list[Reason]:
    """The reasons against the trial: ends on the path that did not carry what arrived."""
    wrong = []
    for tunnel in network.passed_tunnels:
        for node, forward, reverse in (
            (tunnel.near, "encapsulated", "decapsulated"),
            (tunnel.far, "decapsulated", "encapsulated"),
        ):
            device = tunnel.link.end_of(node).name
            counted = ends.get(node, {}).get(device)
            if counted is None:
                words = f"{node} could not be asked for the counters of its tunnel {device}"
                wrong.append((ReasonKind.NOT_COUNTED, words))
                continue
            carried_bytes = {
                "encapsulated": _bytes(counted.encapsulated, counted.slow_encapsulated),
                "decapsulated": _bytes(counted.decapsulated, counted.slow_decapsulated),
            }
            for what, payload in (
                (forward, traffic.forward_payload_bytes),
                (reverse, traffic.reverse_payload_bytes),
            ):
                carried = carried_bytes[what]
                if carried < payload:
                    words = f"{payload} bytes of payload arrived, but {node} {what} only {carried} bytes in {device}"
                    wrong.append((ReasonKind.TUNNEL_COUNTERS, f"{words}: they went another way"))
    return [Reason(kind=kind, text=words) for kind, words in wrong]


def drop_notes(ends: Mapping[str, Mapping[str, TunnelCounters]]) -> list[str]:
    """Remarks on packets that tunnels dropped."""
    return [
        f"{device} of {node} dropped {count.packets} packets: {reason}"
        for node, devices in ends.items()
        for device, counted in devices.items()
        for reason, count in counted.drops.items()
        if reason not in QUIET_DROPS
    ]


def program_times(measured: Counters) -> dict[str, float]:
    """Mean run time of each BPF program over all tunnels, as metrics; absent where none ran.

    Args:
        measured: answers to `tunnel-counters` with `run_time: stop`.
    """
    metrics = {}
    times = [device.programs or {} for devices in measured.values() for device in devices.values()]
    for program in ("encapsulate", "decapsulate"):
        results = [time[program] for time in times if program in time]
        runs, time_ns = sum(result.runs for result in results), sum(result.run_time_ns for result in results)
        if runs > 0 and time_ns > 0:
            metrics[f"bpf_{program}_ns"] = time_ns / runs
    return metrics


def _bytes(fast: CountIncrease, slow: CountIncrease | None) -> int:
    return fast.bytes + (0 if slow is None else slow.bytes)


def _difference(early: TunnelState, late: TunnelState) -> TunnelCounters:
    return TunnelCounters(
        encapsulated=rise(early.encapsulated, late.encapsulated),
        decapsulated=rise(early.decapsulated, late.decapsulated),
        slow_encapsulated=rise(early.slow_encapsulated, late.slow_encapsulated),
        slow_decapsulated=rise(early.slow_decapsulated, late.slow_decapsulated),
        slow=rises(early.slow, late.slow),
        drops=rises(early.drops, late.drops),
    )
