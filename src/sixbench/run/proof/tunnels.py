"""The tunnels' ends in a trial: packets in and out, drops with their reasons, and costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.device import QUIET_DROPS
from ...model.network import Network
from ...model.reason import Reason, ReasonKind
from ...model.workload import Traffic

Counters = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""The answers to `tunnel-counters`, by node and device."""


def tunnel_evidence(
    network: Network, before: Counters, after: Counters, interfaces: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """By node and device: `encapsulated`, `decapsulated` and their `slow_` forms as packets and bytes, `slow` and
    `drops` by reason; what is zero is left out of the last two.

    Args:
        interfaces: the changes of the interfaces' counters, by node, for the kernel's own tunnels.
    """
    found: dict[str, dict[str, Any]] = {}
    for tunnel in network.tunnels:
        late = after.get(tunnel.node, {}).get(tunnel.device)
        if late is not None:
            early = before.get(tunnel.node, {}).get(tunnel.device, {})
            found.setdefault(tunnel.node, {})[tunnel.device] = _difference(early, late)
            continue
        counted = interfaces.get(tunnel.node, {}).get(tunnel.device)
        if counted is not None:
            drops = {
                name: {"packets": counted[name], "bytes": 0}
                for name in ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors")
                if counted.get(name)
            }
            found.setdefault(tunnel.node, {})[tunnel.device] = {
                "encapsulated": {"packets": counted.get("tx_packets", 0), "bytes": counted.get("tx_bytes", 0)},
                "decapsulated": {"packets": counted.get("rx_packets", 0), "bytes": counted.get("rx_bytes", 0)},
                "drops": drops,
            }
    return found


def check_tunnels(network: Network, evidence: Mapping[str, Mapping[str, Any]], traffic: Traffic) -> list[Reason]:
    """The reasons against the trial: ends on the path that did not carry what arrived."""
    wrong = []
    for tunnel in network.passed_tunnels:
        for node, forward, reverse in (
            (tunnel.near, "encapsulated", "decapsulated"),
            (tunnel.far, "decapsulated", "encapsulated"),
        ):
            device = tunnel.link.end_of(node).name
            counted = evidence.get(node, {}).get(device)
            if counted is None:
                words = f"{node} could not be asked for the counters of its tunnel {device}"
                wrong.append((ReasonKind.NOT_COUNTED, words))
                continue
            for what, payload in (
                (forward, traffic.forward_payload_bytes),
                (reverse, traffic.reverse_payload_bytes),
            ):
                carried = _bytes(counted, what)
                if carried < payload:
                    words = f"{payload} bytes of payload arrived, but {node} {what} only {carried} bytes in {device}"
                    wrong.append((ReasonKind.TUNNEL_COUNTERS, f"{words}: they took another way"))
    return [Reason(kind=kind, text=words) for kind, words in wrong]


def drop_notes(evidence: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Remarks on packets that tunnels dropped."""
    return [
        f"{device} of {node} dropped {count['packets']} packets: {reason}"
        for node, devices in evidence.items()
        for device, counted in devices.items()
        for reason, count in counted.get("drops", {}).items()
        if reason not in QUIET_DROPS
    ]


def program_times(measured: Counters) -> dict[str, float]:
    """Mean run time of each BPF program over all tunnels, as metrics; absent where none ran.

    Args:
        measured: answers to `tunnel-counters` with `run_time: stop`.
    """
    metrics = {}
    times = [device.get("programs") or {} for devices in measured.values() for device in devices.values()]
    for program in ("encapsulate", "decapsulate"):
        found = [time[program] for time in times if program in time]
        runs, time_ns = (sum(time[name] for time in found) for name in ("runs", "run_time_ns"))
        if runs > 0 and time_ns > 0:
            metrics[f"bpf_{program}_ns"] = time_ns / runs
    return metrics


def _bytes(counted: Mapping[str, Any], what: str) -> int:
    return int(counted[what]["bytes"]) + int((counted.get(f"slow_{what}") or {}).get("bytes", 0))


def _difference(early: Mapping[str, Any], late: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("encapsulated", "decapsulated", "slow_encapsulated", "slow_decapsulated"):
        found[name] = _count_difference(early.get(name), late.get(name))
    for name in ("slow", "drops"):
        before = early.get(name) or {}
        counts = {
            reason: _count_difference(before.get(reason), count) for reason, count in (late.get(name) or {}).items()
        }
        found[name] = {reason: count for reason, count in counts.items() if count["packets"]}
    return found


def _count_difference(early: Mapping[str, int] | None, late: Mapping[str, int] | None) -> dict[str, int]:
    early, late = early or {}, late or {}
    return {key: int(late.get(key, 0)) - int(early.get(key, 0)) for key in ("packets", "bytes")}
