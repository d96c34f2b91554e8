"""Tables of the paths and of their BPF programs, for every format that people read."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.finding import Analysis, Estimate
from ..model.units import scale
from . import rows, words
from .evidence.packets import PacketSum
from .path_descriptions import PathDescription
from .tables import Table, left, right, without_empty


def paths_table(paths: Sequence[PathDescription], *, addresses: bool = True) -> Table:
    """A row a path; `addresses`: whether there is room for them."""
    columns = [
        *left("path", "mechanism", "engine", "nodes"),
        *left(*(("addresses", "tunnel ends") if addresses else ())),
        *left("headers"),
        *right("tunnel MTU", "installed in"),
        *left("role"),
    ]
    return without_empty(
        Table(
            title="Paths",
            columns=columns,
            rows=[
                [
                    described.path.name,
                    described.path.mechanism,
                    ", ".join(described.engines),
                    ", ".join(dict.fromkeys([*described.path.nodes, *(tunnel.node for tunnel in described.tunnels)])),
                    *([_ends(described), _outer(described)] if addresses else []),
                    headers(described),
                    " / ".join(f"{mtu}" for mtu in described.mtu_bytes),
                    installed(described),
                    described.role,
                ]
                for described in paths
            ],
        )
    )


def programs_table(analysis: Analysis) -> Table | None:
    """Time of the BPF programs for each packet or segment. None where this was not measured."""
    shown = [estimate for estimate in analysis.estimates if estimate.metric in rows.PROGRAM_METRICS]
    if not shown:
        return None
    levels = rows.varying(shown)
    estimates: dict[tuple[str, str, str], dict[str, Estimate]] = {}
    for estimate in shown:
        estimates.setdefault((estimate.workload, estimate.combination, estimate.path), {})[estimate.metric] = estimate
    names = []
    for (workload, _, path), of_place in estimates.items():
        first = next(iter(of_place.values()))
        names.append(
            [
                workload,
                *(words.level(column, first.levels.get(column)) for column in levels),
                path,
                *(_value(of_place.get(metric)) for metric in rows.PROGRAM_METRICS),
                str(first.n),
            ]
        )
    columns = [
        *left("workload"),
        *right(*(words.factor(column) for column in levels)),
        *left("path"),
        *right("encapsulating", "decapsulating", "trials"),
    ]
    return without_empty(Table(title="Run time of the BPF programs", columns=columns, rows=names))


def headers(described: PathDescription) -> str:
    """The headers on the link that has most of them: `IPv6 in IPv4`. Where nodes translate or relay packets on the way,
    those of all links: `IPv6, then IPv4`."""
    route = described.route
    if route is not None and (route.network.translators or route.network.relays):
        return ", then ".join(words.stack(stretch.headers) for stretch in route.stretches)
    if route is not None:
        return words.stack(route.deepest.headers)
    middle = described.evidence.of(PacketSum).middle
    return ", ".join(words.protocols(claimed) for claimed in middle.claimed) if middle else ""


def installed(described: PathDescription) -> str:
    """The median time that it took to install the path."""
    median_ns = described.install_median_ns
    if median_ns is None:
        return ""
    scaled, unit = scale(median_ns, "ns")
    return f"{words.number(scaled, 3)} {unit}"


def _ends(described: PathDescription) -> str:
    if described.route is None:
        return ""
    first, last = described.route.network.legs[0], described.route.network.legs[-1]
    seen = f" (seen as {last.source})" if last.source != first.source else ""
    last_destination = f" ({last.destination})" if last.destination != first.destination else ""
    return f"{first.source}{seen} to {first.destination}{last_destination}"


def _outer(described: PathDescription) -> str:
    return ", ".join(dict.fromkeys(f"{tunnel.node}\u00a0{tunnel.local}" for tunnel in described.tunnels))


def _value(estimate: Estimate | None) -> str:
    if estimate is None:
        return words.MISSING
    low, high = words.finite(estimate.ci_low), words.finite(estimate.ci_high)
    interval = "" if low is None or high is None else f" ({words.number(low, 3)} to {words.number(high, 3)})"
    return f"{words.number(estimate.value, 3)} {estimate.unit}{interval}"
