"""Tables of what the paths are and of what their tunnels did, for every format that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model.device import QUIET_DROPS
from ..model.evidence.devices import Count
from ..model.finding import Analysis, Estimate
from ..model.units import scale
from . import rows, words
from .path_descriptions import PathDescription
from .tables import Table, left, right, table_of, without_empty
from .tunnel_counts import TranslatorSum, TunnelEnd, total

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


def tunnels_table(paths: Sequence[PathDescription]) -> Table | None:
    """A row for each end of a tunnel, over the trials of its path; None where no tunnel was counted."""
    names = [
        [
            described.path.name,
            ", ".join(described.engines),
            f"{end.node} {end.device}",
            str(end.trials),
            words.whole(end.encapsulated.packets),
            _slow(end.slow_encapsulated),
            words.whole(end.decapsulated.packets),
            _slow(end.slow_decapsulated),
            slow_share([end]),
            _dropped(end),
            reasons(end.drops),
            reasons(end.slow),
        ]
        for described in paths
        for end in described.evidence.tunnels
    ]
    columns = [
        *left("path", "engine", "end"),
        *right("trials", "encapsulated", "by slow path", "decapsulated", "by slow path", "slow share", "dropped"),
        *left("dropped by reason", "to the slow path by reason"),
    ]
    return table_of("Packets at the ends of the tunnels", columns, names)


def translators_table(paths: Sequence[PathDescription]) -> Table | None:
    """A row for each translator, over the trials of its path; None where none was counted."""
    names = [
        [
            described.path.name,
            ", ".join(described.engines),
            f"{translator.node} {translator.device}",
            str(translator.trials),
            words.whole(translator.to_ipv6.packets),
            words.whole(translator.to_ipv4.packets),
            words.share(translator.slow_packets, translator.translated_packets),
            reasons(translator.slow),
            reasons(translator.answered),
            reasons(translator.drops),
            _left_waiting(translator),
        ]
        for described in paths
        for translator in described.evidence.translators
    ]
    columns = [
        *left("path", "engine", "translator"),
        *right("trials", "to IPv6", "to IPv4", "slow share"),
        *left("by the slow path, by clause", "answered by clause", "dropped by clause"),
        *right("fragments left waiting"),
    ]
    return table_of("Packets at the translators", columns, names)


def _left_waiting(translator_sum: TranslatorSum) -> str:
    """Number of fragments that waited when trials ended; empty where there were none, or nobody counted."""
    return (
        words.whole(translator_sum.waiting.packets)
        if translator_sum.waiting is not None and translator_sum.waiting.packets
        else ""
    )


def translators_summary(paths: Sequence[PathDescription]) -> Summary | None:
    """Counts of each translator; None where none was counted."""
    names, remarks = [], []
    for described in paths:
        for translator in described.evidence.translators:
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
            if waiting := _left_waiting(translator):
                text += f"{'; ' if text else ''}fragments left waiting: {waiting}"
            remarks += [f"{described.path.name}, {translator.node}: {text}"] if text else []
    if not names:
        return None
    columns = [*left("path", "engine", "translator"), *right("to IPv6", "to IPv4", "slow", "answered", "dropped")]
    return Summary(
        table=without_empty(Table(title="Translators", columns=columns, rows=names)), remarks=remarks, note=""
    )


def sessions_table(paths: Sequence[PathDescription]) -> Table | None:
    """A row for each node that tracks connections; None where there is none."""
    names = [
        [
            described.path.name,
            session_sum.node,
            str(session_sum.trials),
            words.whole(session_sum.before),
            words.whole(session_sum.after),
            words.whole(session_sum.most),
            words.MISSING
            if session_sum.failed is None
            else ", ".join(f"{name} {count}" for name, count in session_sum.failed.items()),
        ]
        for described in paths
        for session_sum in described.evidence.sessions
    ]
    columns = [*left("path", "node"), *right("trials", "before", "at the end", "at most"), *left("refused or given up")]
    return table_of("Sessions of nodes that keep state", columns, names)


def programs_under_test_table(paths: Sequence[PathDescription]) -> Table | None:
    """A row for each program under test and workload; None where there is none."""
    names = [
        [
            described.path.name,
            program.node if program.emulator is None else f"{program.node}, of its emulator ({program.emulator})",
            program.traffic,
            str(len(program.cpu_ns)),
            words.quantity(program.median_cpu_ns, "ns"),
            words.MISSING if program.most_cores is None else f"{program.most_cores:.2f}",
            words.quantity(program.peak_memory_bytes, "B"),
            str(program.processes),
            ", ".join(program.listening),
        ]
        for described in paths
        for program in described.evidence.programs
    ]
    columns = [
        *left("path", "node", "in"),
        *right("trials", "CPU time", "cores", "memory", "processes"),
        *left("listens at"),
    ]
    return table_of("Resources of programs under test", columns, names)


def losses_table(paths: Sequence[PathDescription]) -> Table | None:
    """A row for each place at which trials of a path lost something; None where nothing was lost."""
    names = []
    for described in paths:
        for place in described.evidence.losses.places:
            counts = [words.whole(packets) if packets else "" for packets in (place.datagrams, place.other_packets)]
            names.append([described.path.name, place.where, place.what, *counts, str(place.trials)])
        names.extend(
            [described.path.name, "not known", reason, "", "", ""] for reason in described.evidence.losses.not_told
        )
    columns = [*left("path", "where", "why"), *right("datagrams", "unnamed packets", "trials")]
    return table_of("Where packets were lost", columns, names)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A table with a line for each path, remarks on some of them, and a note on drops that mean nothing."""

    table: Table
    remarks: list[str]
    note: str


def tunnels_summary(paths: Sequence[PathDescription], analysis: Analysis) -> Summary | None:
    """Packets of each tunnel, both ends together; None where no tunnel was counted."""
    counted = [described for described in paths if described.evidence.tunnels]
    if not counted:
        return None
    names, remarks = [], []
    quiet: dict[str, None] = {}
    for described in counted:
        ends = described.evidence.tunnels
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
    return Summary(
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
    way = described.way
    if way is not None and (way.network.translators or way.network.relays):
        return ", then ".join(words.stack(stretch.headers) for stretch in way.stretches)
    if way is not None:
        return words.stack(way.deepest.headers)
    middle = described.evidence.middle
    return ", ".join(words.protocols(claimed) for claimed in middle.claimed) if middle else ""


def installed(described: PathDescription) -> str:
    """The median time that it took to install the path."""
    median_ns = described.install_median_ns
    if median_ns is None:
        return ""
    scaled, unit = scale(median_ns, "ns")
    return f"{words.number(scaled, 3)} {unit}"


def slow_share(ends: Sequence[TunnelEnd]) -> str:
    """The share of packets that the slow path carried; empty where the engine has none."""
    slow = [end.slow_packets for end in ends]
    if any(packets is None for packets in slow):
        return words.MISSING
    return words.share(sum(packets or 0 for packets in slow), sum(end.carried_packets for end in ends))


def reasons(counts: Mapping[str, Count]) -> str:
    """Such as `no-route 12, ecn-invalid 1`."""
    return ", ".join(f"{reason} {words.whole(count.packets)}" for reason, count in counts.items() if count.packets)


def expected_drops(names: Iterable[str]) -> str:
    """A sentence on those of these reasons that are harmless. Empty where there are none."""
    known = [reason for reason in names if reason in QUIET_DROPS]
    if not known:
        return ""
    return (
        f"Packets dropped by {words.listing(known)} are harmless: nodes send them by themselves into a tunnel that "
        "does not carry them, such as multicast listener reports."
    )


def _both(slow: Mapping[str, Count], drops: Mapping[str, Count]) -> str:
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


def _packets(count: Count | None) -> int:
    return 0 if count is None else count.packets


def _dropped(end: TunnelEnd) -> str:
    """Number of packets, and their share of the packets that came."""
    dropped = end.dropped_packets
    return f"{words.whole(dropped)} ({words.share(dropped, dropped + end.carried_packets)})" if dropped else "0"


def _slow(count: Count | None) -> str:
    return words.MISSING if count is None else words.whole(count.packets)


def _ends(described: PathDescription) -> str:
    if described.way is None:
        return ""
    first, last = described.way.network.legs[0], described.way.network.legs[-1]
    seen = f" (seen as {last.source})" if last.source != first.source else ""
    own = f" ({last.destination})" if last.destination != first.destination else ""
    return f"{first.source}{seen} to {first.destination}{own}"


def _outer(described: PathDescription) -> str:
    return ", ".join(dict.fromkeys(f"{tunnel.node}\u00a0{tunnel.local}" for tunnel in described.tunnels))


def _value(estimate: Estimate | None) -> str:
    if estimate is None:
        return words.MISSING
    low, high = words.finite(estimate.ci_low), words.finite(estimate.ci_high)
    interval = "" if low is None or high is None else f" ({words.number(low, 3)} to {words.number(high, 3)})"
    return f"{words.number(estimate.value, 3)} {estimate.unit}{interval}"
