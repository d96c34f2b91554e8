"""The path MTU of each direction, three ways, as a text table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..model.trial import TrialRecord
from ..model.workloads.pmtu import direction_verdict, verdict
from . import words
from .aligned import aligned


def path_mtu_table(records: Sequence[TrialRecord]) -> str:
    """A column a direction and path, and below it the verdict on each path."""
    ways = [(f"{record.path} {name}", way) for record in records for name, way in directions(record)]
    if not ways:
        return ""
    rows = [["", *(name for name, _ in ways)]]
    for label, cell in _ROWS:
        rows.append([label, *(cell(way) for _, way in ways)])
    verdicts = [
        f"  verdict on {record.path}: "
        f"{verdict(record.client, record.server) or 'none, for a direction could not be judged'}\n"
        for record in records
    ]
    return aligned(rows, left=1) + "".join(verdicts)


def directions(record: TrialRecord) -> list[tuple[str, Mapping[str, Any]]]:
    """What was found of each direction, as seen from this machine."""
    return [("sent", record.client["forward"]), ("received", record.server["reverse"])]


def facts(way: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All that was found of a direction: label and value."""
    return [(label, cell(way)) for label, cell in _ROWS]


def _bytes(way: Mapping[str, Any], key: str) -> str:
    return words.MISSING if way.get(key) is None else f"{way[key]} B"


def _kernel(way: Mapping[str, Any]) -> str:
    if way.get("kernel_bytes") is None:
        return words.MISSING
    return f"{way['kernel_bytes']} B" + ("" if way["kernel"]["confirmed"] else " (not confirmed)")


def _tcp(way: Mapping[str, Any]) -> str:
    return "stalled" if way["tcp"]["stalled"] else _bytes(way, "tcp_bytes")


def _hop(hop: Mapping[str, Any] | None, address: str) -> str:
    """Where a hop is, as far as it is known."""
    if hop is None:
        return "none"
    known_as = f" ({hop[address]})" if hop.get(address) else ""
    if hop.get("index") == 0:
        return "this machine's link"
    if "index" in hop:
        return f"hop {hop['index']}{known_as}"
    if "between" in hop:
        return f"hops {hop['between'][0]} to {hop['between'][1]}"
    return known_as.strip(" ()") or "unknown hop"


def _time(way: Mapping[str, Any], name: str) -> str:
    return words.quantity(way.get("converged_ns", {}).get(name), "ns")


def _count(way: Mapping[str, Any], key: str) -> str:
    return words.MISSING if way.get(key) is None else str(way[key])


_ROWS = (
    ("interface's MTU", lambda way: _bytes(way, "interface_bytes")),
    ("kernel learned from ICMP", _kernel),
    ("probing found", lambda way: _bytes(way, "probed_bytes")),
    ("TCP settled on", _tcp),
    ("limited by", lambda way: _hop(way.get("limiting_hop"), "address")),
    ("black hole after", lambda way: _hop(way.get("black_hole"), "before")),
    ("routers on the way", lambda way: _count(way, "routers")),
    ("time to learn from ICMP", lambda way: _time(way, "kernel")),
    ("time to find by probing", lambda way: _time(way, "probed")),
    ("time until TCP fits", lambda way: _time(way, "tcp")),
    ("probes", lambda way: _count(way, "probes")),
    ("bytes of probes", lambda way: _count(way, "probe_bytes")),
    ("lost probes", lambda way: _count(way, "lost_probes")),
    ("verdict", lambda way: direction_verdict(way) or words.MISSING),
)
