"""The path MTU of each direction, three ways, as a text table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..model.aligned import aligned, left_first
from ..model.form import ABSENT
from ..model.results import PathHop, PathMtu
from ..model.trial import TrialRecord
from ..model.workloads import pmtu
from ..model.workloads.pmtu import direction_verdict, verdict, verdict_notes
from . import words
from .result_text import ResultText


def path_mtu_table(records: Sequence[TrialRecord]) -> str:
    """A column a direction and path, and below it the verdict on each path."""
    results = [(f"{record.path} {name}", result) for record in records for name, result in directions(record)]
    if not results:
        return ""
    path_mtus = [PathMtu.model_validate(result) for _, result in results]
    rows = [["", *(name for name, _ in results)]]
    rows += [[label, *map(cell, path_mtus)] for label, cell in _ROWS]
    rows.append(["verdict", *(direction_verdict(result) or words.MISSING for _, result in results)])
    verdicts = [
        f"  verdict on {record.path}: "
        f"{verdict(record.client, record.server) or 'none, for a direction could not be judged'}\n"
        for record in records
    ]
    return aligned(rows, left_first(1, len(rows[0]))) + "".join(verdicts)


def directions(record: TrialRecord) -> list[tuple[str, Mapping[str, Any]]]:
    """Results of each direction, as seen from this machine."""
    return [("sent", record.client["forward"]), ("received", record.server["reverse"])]


def facts(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """All that was found of a direction: label and value."""
    path_mtu = PathMtu.model_validate(result)
    return [
        *((label, cell(path_mtu)) for label, cell in _ROWS),
        ("verdict", direction_verdict(result) or words.MISSING),
    ]


def _bytes(size_bytes: int | None) -> str:
    return words.MISSING if size_bytes is None else f"{size_bytes} B"


def _kernel(path_mtu: PathMtu) -> str:
    if path_mtu.kernel_bytes is None:
        return words.MISSING
    return _bytes(path_mtu.kernel_bytes) + ("" if path_mtu.kernel.confirmed else " (not confirmed)")


def _tcp(path_mtu: PathMtu) -> str:
    return "stalled" if path_mtu.tcp.stalled else _bytes(path_mtu.tcp_bytes)


def _hop(hop: PathHop) -> str:
    """Place of a hop, as far as it is known: by its own address, or by that of the router before it."""
    if hop == ABSENT:
        return "none"
    known_as = f" ({hop.address or hop.before})" if hop.address or hop.before else ""
    if hop.index == 0:
        return "this machine's link"
    if hop.index != ABSENT:
        return f"hop {hop.index}{known_as}"
    if hop.between != ABSENT:
        return f"hops {hop.between[0]} to {hop.between[1]}"
    return known_as.strip(" ()") or "unknown hop"


def _time(path_mtu: PathMtu, name: str) -> str:
    return words.quantity((path_mtu.converged_ns or {}).get(name), "ns")


def _count(count: int | None) -> str:
    return words.MISSING if count is None else str(count)


_ROWS: Sequence[tuple[str, Callable[[PathMtu], str]]] = (
    ("interface's MTU", lambda path_mtu: _bytes(path_mtu.interface_bytes)),
    ("kernel learned from ICMP", _kernel),
    ("probing found", lambda path_mtu: _bytes(path_mtu.probed_bytes)),
    ("TCP settled on", _tcp),
    ("limited by", lambda path_mtu: _hop(path_mtu.limiting_hop)),
    ("black hole after", lambda path_mtu: _hop(path_mtu.black_hole)),
    ("routers on the way", lambda path_mtu: _count(path_mtu.routers)),
    ("time to learn from ICMP", lambda path_mtu: _time(path_mtu, "kernel")),
    ("time to find by probing", lambda path_mtu: _time(path_mtu, "probed")),
    ("time until TCP fits", lambda path_mtu: _time(path_mtu, "tcp")),
    ("probes", lambda path_mtu: _count(path_mtu.probes)),
    ("bytes of probes", lambda path_mtu: _count(path_mtu.probe_bytes)),
    ("lost probes", lambda path_mtu: _count(path_mtu.lost_probes)),
)

PATH_MTU = ResultText(
    workload=pmtu.KIND.name,
    table=path_mtu_table,
    notes_in_table=lambda record: verdict_notes(record.client, record.server),
)
