"""Tables of the paths, and short ones of their tunnels and translators, for every format that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.device import QUIET_DROPS
from ..model.evidence.counts import CountIncrease
from ..model.finding import Analysis, Estimate
from ..model.units import scale
from . import rows, words
from .evidence.counts import reasons, total
from .evidence.packets import PacketSum
from .evidence.translators import TranslatorSum, left_waiting
from .evidence.tunnels import TunnelSum, expected_drops, slow_share
from .path_descriptions import PathDescription
from .tables import Table, left, right, without_empty

HEADERS = "packets are"
"""A column of the summary."""


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


def translators_summary(paths: Sequence[PathDescription]) -> PathSummary | None:
    """Counts of each translator; None where none was counted."""
    names, remarks = [], []
    for described in paths:
        for translator in described.evidence.of(TranslatorSum).translators:
            names.append(
                [
                    described.path.name,
                    ", ".join(described.engines),
                    f"{translator.node} {translator.device}",
                    _short(translator.to_ipv6.packets),
                    _short(translator.to_ipv4.packets),
                    words.share(translator.slow_packets, translator.translated_packets),
                    _short(sum(count.packets for count in translator.answered.values())),
                    _short(sum(count.packets for count in translator.drops.values())),
                ]
            )
            parts = [
                ("dropped", translator.drops),
                ("answered", translator.answered),
                ("by the slow path", translator.slow),
            ]
            text = "; ".join(f"{what}: {reasons(counts)}" for what, counts in parts if counts)
            if waiting := left_waiting(translator):
                text += f"{'; ' if text else ''}fragments left waiting: {waiting}"
            remarks += [f"{described.path.name}, {translator.node}: {text}"] if text else []
    if not names:
        return None
    columns = [*left("path", "engine", "translator"), *right("to IPv6", "to IPv4", "slow", "answered", "dropped")]
    return PathSummary(
        table=without_empty(Table(title="Translators", columns=columns, rows=names)), remarks=remarks, note=""
    )


@dataclass(frozen=True, kw_only=True)
class PathSummary:
    """A table with a line for each path, remarks on some of them, and a note on drops that mean nothing."""

    table: Table
    remarks: list[str]
    note: str


def tunnels_summary(paths: Sequence[PathDescription], analysis: Analysis) -> PathSummary | None:
    """Packets of each tunnel, both ends together; None where no tunnel was counted."""
    counted = [described for described in paths if described.evidence.of(TunnelSum).ends]
    if not counted:
        return None
    names, remarks = [], []
    quiet: dict[str, None] = {}
    for described in counted:
        ends = described.evidence.of(TunnelSum).ends
        names.append(
            [
                described.path.name,
                ", ".join(described.engines),
                headers(described),
                _short(sum(end.encapsulated.packets + _packets(end.slow_encapsulated) for end in ends)),
                _short(sum(end.decapsulated.packets + _packets(end.slow_decapsulated) for end in ends)),
                slow_share(ends),
                _short(sum(end.dropped_packets for end in ends)),
                _programs(analysis, described.path.name),
            ]
        )
        telling = total(end.drops for end in ends)
        quiet |= {reason: None for reason in telling if reason in QUIET_DROPS}
        text = _both(total(end.slow for end in ends), {r: c for r, c in telling.items() if r not in QUIET_DROPS})
        remarks += [f"{described.path.name}: {text}"] if text else []
    columns = [*left("path", "engine", HEADERS), *right("in", "out", "slow", "dropped", "BPF ns")]
    return PathSummary(
        table=without_empty(Table(title="Tunnels", columns=columns, rows=names)),
        remarks=remarks,
        note=expected_drops(quiet),
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


def _both(slow: Mapping[str, CountIncrease], drops: Mapping[str, CountIncrease]) -> str:
    parts = [("dropped", reasons(drops)), ("to the slow path", reasons(slow))]
    return "; ".join(f"{what}: {text}" for what, text in parts if text)


def _programs(analysis: Analysis, path: str) -> str:
    """Mean run times of both programs over all combinations."""
    means = []
    for metric in rows.PROGRAM_METRICS:
        values = [e.value for e in analysis.estimates if e.metric == metric and e.path == path]
        means.append(words.number(sum(values) / len(values), 3) if values else words.MISSING)
    return words.MISSING if set(means) == {words.MISSING} else "/".join(means)


def _short(packets: int) -> str:
    """All digits of a number under a million, three digits of a larger one."""
    return words.whole(packets) if packets < 10**6 else f"{words.number(packets / 10**6, 3)}\u00a0M"


def _packets(count: CountIncrease | None) -> int:
    return 0 if count is None else count.packets


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
