"""Ends of tunnels over the trials of a path: packets by the fast and the slow path, and what was dropped and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from ...model.device import QUIET_DROPS
from ...model.evidence.counts import CountIncrease
from ...model.evidence.tunnels import TunnelCounters
from ...model.finding import Analysis
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import rows, words
from ..tables import ColumnOf, Table, left, number_column, right, table_of, without_empty, words_column
from .counts import NOTHING, added, reasons, risen, risen_by_reason, total, with_reasons
from .evidence_sum import BriefTable, EvidenceData, EvidenceSection, EvidenceSum, PathSums

_HEADERS = "packets are"


@dataclass(frozen=True, kw_only=True)
class TunnelEnd:
    """One end of a tunnel over the trials of a path.

    Attributes:
        trials: how many say something of it.
        encapsulated, decapsulated: by the fast path.
        slow_encapsulated, slow_decapsulated: by the slow path; None: the engine has none (`kernel`).
        slow: why packets were given to the slow path.
        drops: by reason.
    """

    node: str
    device: str
    trials: int = 0
    encapsulated: CountIncrease = NOTHING
    decapsulated: CountIncrease = NOTHING
    slow_encapsulated: CountIncrease | None = None
    slow_decapsulated: CountIncrease | None = None
    slow: dict[str, CountIncrease] = field(default_factory=dict)
    drops: dict[str, CountIncrease] = field(default_factory=dict)

    @property
    def slow_packets(self) -> int | None:
        """Packets that the slow path carried; None where there is none."""
        if self.slow_encapsulated is None and self.slow_decapsulated is None:
            return None
        return sum(count.packets for count in (self.slow_encapsulated, self.slow_decapsulated) if count is not None)

    @property
    def carried_packets(self) -> int:
        """Packets that went into the tunnel or came out of it, by either path."""
        return self.encapsulated.packets + self.decapsulated.packets + (self.slow_packets or 0)

    @property
    def dropped_packets(self) -> int:
        """The packets dropped for any reason."""
        return sum(count.packets for count in self.drops.values())


class TunnelSum(EvidenceSum):
    """The ends of tunnels, added up one trial at a time."""

    def __init__(self) -> None:
        """No end was counted so far."""
        self._ends: dict[tuple[str, str], TunnelEnd] = {}

    def add(self, trial: TrialRecord) -> None:
        for node, devices in (trial.evidence.tunnels or {}).items():
            for device, counted in devices.items():
                known = self._ends.get((node, device)) or TunnelEnd(node=node, device=device)
                self._ends[node, device] = _with(known, counted)

    @property
    def ends(self) -> list[TunnelEnd]:
        """The ends in the order of the records."""
        return list(self._ends.values())

    def to_json(self) -> JsonObject:
        return {"tunnels": [asdict(end) for end in self.ends]}


def _with(end: TunnelEnd, counted: TunnelCounters) -> TunnelEnd:
    return replace(
        end,
        trials=end.trials + 1,
        encapsulated=end.encapsulated + risen(counted.encapsulated),
        decapsulated=end.decapsulated + risen(counted.decapsulated),
        slow_encapsulated=added(end.slow_encapsulated, counted.slow_encapsulated),
        slow_decapsulated=added(end.slow_decapsulated, counted.slow_decapsulated),
        slow=with_reasons(end.slow, risen_by_reason(counted.slow or {})),
        drops=with_reasons(end.drops, risen_by_reason(counted.drops)),
    )


def tunnels_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each end of a tunnel, over the trials of its path; None where no tunnel was counted."""
    columns: list[ColumnOf[tuple[PathSums, TunnelEnd]]] = [
        words_column("path", lambda item: item[0].path),
        words_column("engine", lambda item: ", ".join(item[0].engines)),
        words_column("end", lambda item: f"{item[1].node} {item[1].device}"),
        number_column("trials", lambda item: str(item[1].trials)),
        number_column("encapsulated", lambda item: words.whole(item[1].encapsulated.packets)),
        number_column("by slow path", lambda item: _slow(item[1].slow_encapsulated)),
        number_column("decapsulated", lambda item: words.whole(item[1].decapsulated.packets)),
        number_column("by slow path", lambda item: _slow(item[1].slow_decapsulated)),
        number_column("slow share", lambda item: slow_share([item[1]])),
        number_column("dropped", lambda item: _dropped(item[1])),
        words_column("dropped by reason", lambda item: reasons(item[1].drops)),
        words_column("to the slow path by reason", lambda item: reasons(item[1].slow)),
    ]
    items = [(sums, end) for sums in paths for end in sums.of(TunnelSum).ends]
    return table_of("Packets at the ends of the tunnels", columns, items)


def tunnels_brief(data: EvidenceData) -> BriefTable | None:
    """Packets of each tunnel, both ends together, and what was dropped and why; None where no tunnel was counted."""
    counted = [sums for sums in data.paths if sums.of(TunnelSum).ends]
    if not counted:
        return None
    names, remarks = [], []
    quiet: dict[str, None] = {}
    for sums in counted:
        ends = sums.of(TunnelSum).ends
        names.append(
            [
                sums.path,
                ", ".join(sums.engines),
                data.headers[sums.path],
                words.short(sum(end.encapsulated.packets + _packets(end.slow_encapsulated) for end in ends)),
                words.short(sum(end.decapsulated.packets + _packets(end.slow_decapsulated) for end in ends)),
                slow_share(ends),
                words.short(sum(end.dropped_packets for end in ends)),
                _programs(data.analysis, sums.path),
            ]
        )
        telling = total(end.drops for end in ends)
        quiet |= {reason: None for reason in telling if reason in QUIET_DROPS}
        text = _both(total(end.slow for end in ends), {r: c for r, c in telling.items() if r not in QUIET_DROPS})
        remarks += [f"{sums.path}: {text}"] if text else []
    columns = [*left("path", "engine", _HEADERS), *right("in", "out", "slow", "dropped", "BPF ns")]
    return BriefTable(
        table=without_empty(Table(title="Tunnels", columns=columns, rows=names)),
        about="packets in (encapsulated) and out, both ends, all valid trials",
        remarks=remarks,
        note=expected_drops(quiet),
        folded=_HEADERS,
    )


def slow_share(ends: Sequence[TunnelEnd]) -> str:
    """The share of packets that the slow path carried; empty where the engine has none."""
    slow = [end.slow_packets for end in ends]
    if any(packets is None for packets in slow):
        return words.MISSING
    return words.share(sum(packets or 0 for packets in slow), sum(end.carried_packets for end in ends))


def expected_drops(names: Iterable[str]) -> str:
    """A sentence on those of these reasons that are harmless. Empty where there are none."""
    known = [reason for reason in names if reason in QUIET_DROPS]
    if not known:
        return ""
    return (
        f"Packets dropped by {words.listing(known)} are harmless: nodes send them by themselves into a tunnel that "
        "does not carry them, such as multicast listener reports."
    )


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


def _packets(count: CountIncrease | None) -> int:
    return 0 if count is None else count.packets


def _dropped(end: TunnelEnd) -> str:
    """Number of packets, and their share of the packets that came."""
    dropped = end.dropped_packets
    return f"{words.whole(dropped)} ({words.share(dropped, dropped + end.carried_packets)})" if dropped else "0"


def _slow(count: CountIncrease | None) -> str:
    return words.MISSING if count is None else words.whole(count.packets)


def _remark(data: EvidenceData) -> str:
    return expected_drops(total(end.drops for sums in data.paths for end in sums.of(TunnelSum).ends))


TunnelSum.section = EvidenceSection(
    name="tunnels",
    table=lambda data: tunnels_table(data.paths),
    brief=tunnels_brief,
    entries="ends of tunnels",
    about="The ends of the tunnels counted these packets over the valid trials of each path: by the fast path, by "
    "the slow path, and dropped, with the reason. A dash stands for engines without a slow path.",
    remark=_remark,
)
