"""Translators over the trials of a path: packets of each family, and those that were answered or dropped, by clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from ...model.evidence.counts import CountIncrease
from ...model.evidence.translators import TranslatorCounters
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import words
from ..tables import ColumnOf, Table, left, number_column, right, table_of, without_empty, words_column
from .counts import NOTHING, added, reasons, risen, risen_by_reason, with_reasons
from .evidence_sum import BriefTable, EvidenceSection, EvidenceSum, PathSums


@dataclass(frozen=True, kw_only=True)
class TranslatorTotal:
    """A translator over the trials of a path.

    Attributes:
        trials: how many say something of it.
        to_ipv6, to_ipv4: the packets that it translated.
        slow: of these, those that user space translated, by clause.
        answered: those whose source was told of an error, by clause.
        drops: by clause.
        waiting: fragments that still waited for the first one of their packet when a trial ended; None: not counted.
    """

    node: str
    device: str
    trials: int = 0
    to_ipv6: CountIncrease = NOTHING
    to_ipv4: CountIncrease = NOTHING
    slow: dict[str, CountIncrease] = field(default_factory=dict)
    answered: dict[str, CountIncrease] = field(default_factory=dict)
    drops: dict[str, CountIncrease] = field(default_factory=dict)
    waiting: CountIncrease | None = None

    @property
    def slow_packets(self) -> int:
        """The packets that user space translated."""
        return sum(count.packets for count in self.slow.values())

    @property
    def translated_packets(self) -> int:
        """All packets that were translated."""
        return self.to_ipv6.packets + self.to_ipv4.packets

    def with_trial(self, counted: TranslatorCounters) -> TranslatorTotal:
        """The same sum with what the translator did in one more trial."""
        return replace(
            self,
            trials=self.trials + 1,
            to_ipv6=self.to_ipv6 + risen(counted.to_ipv6),
            to_ipv4=self.to_ipv4 + risen(counted.to_ipv4),
            slow=with_reasons(self.slow, risen_by_reason(counted.slow)),
            answered=with_reasons(self.answered, risen_by_reason(counted.answered)),
            drops=with_reasons(self.drops, risen_by_reason(counted.drops)),
            waiting=added(self.waiting, counted.waiting),
        )


class TranslatorSum(EvidenceSum):
    """The translators, added up one trial at a time."""

    def __init__(self) -> None:
        """No translator was counted so far."""
        self._translators: dict[tuple[str, str], TranslatorTotal] = {}

    def add(self, trial: TrialRecord) -> None:
        for node, devices in (trial.evidence.translators or {}).items():
            for device, counted in devices.items():
                known = self._translators.get((node, device)) or TranslatorTotal(node=node, device=device)
                self._translators[node, device] = known.with_trial(counted)

    @property
    def translators(self) -> list[TranslatorTotal]:
        """The translators in the order of the records."""
        return list(self._translators.values())

    def to_json(self) -> JsonObject:
        return {"translators": [asdict(translator) for translator in self.translators]}


def translators_table(paths: Sequence[PathSums]) -> Table | None:
    """A row for each translator, over the trials of its path; None where none was counted."""
    columns: list[ColumnOf[tuple[PathSums, TranslatorTotal]]] = [
        words_column("path", lambda item: item[0].path),
        words_column("engine", lambda item: ", ".join(item[0].engines)),
        words_column("translator", lambda item: f"{item[1].node} {item[1].device}"),
        number_column("trials", lambda item: str(item[1].trials)),
        number_column("to IPv6", lambda item: words.whole(item[1].to_ipv6.packets)),
        number_column("to IPv4", lambda item: words.whole(item[1].to_ipv4.packets)),
        number_column("slow share", lambda item: words.share(item[1].slow_packets, item[1].translated_packets)),
        words_column("by the slow path, by clause", lambda item: reasons(item[1].slow)),
        words_column("answered by clause", lambda item: reasons(item[1].answered)),
        words_column("dropped by clause", lambda item: reasons(item[1].drops)),
        number_column("fragments left waiting", lambda item: left_waiting(item[1])),
    ]
    items = [(sums, translator) for sums in paths for translator in sums.of(TranslatorSum).translators]
    return table_of("Packets at the translators", columns, items)


def translators_brief(paths: Sequence[PathSums]) -> BriefTable | None:
    """Counts of each translator, and by which clauses; None where none was counted."""
    names, remarks = [], []
    for sums in paths:
        for translator in sums.of(TranslatorSum).translators:
            names.append(
                [
                    sums.path,
                    ", ".join(sums.engines),
                    f"{translator.node} {translator.device}",
                    words.short(translator.to_ipv6.packets),
                    words.short(translator.to_ipv4.packets),
                    words.share(translator.slow_packets, translator.translated_packets),
                    words.short(sum(count.packets for count in translator.answered.values())),
                    words.short(sum(count.packets for count in translator.drops.values())),
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
            remarks += [f"{sums.path}, {translator.node}: {text}"] if text else []
    if not names:
        return None
    columns = [*left("path", "engine", "translator"), *right("to IPv6", "to IPv4", "slow", "answered", "dropped")]
    return BriefTable(
        table=without_empty(Table(title="Translators", columns=columns, rows=names)),
        about="packets, all valid trials",
        remarks=remarks,
    )


def left_waiting(translator: TranslatorTotal) -> str:
    """Number of fragments that waited when trials ended; empty where there were none, or nobody counted."""
    return (
        words.whole(translator.waiting.packets) if translator.waiting is not None and translator.waiting.packets else ""
    )


TranslatorSum.section = EvidenceSection(
    name="translators",
    table=lambda data: translators_table(data.paths),
    brief=lambda data: translators_brief(data.paths),
    entries="translators",
    about="The translators counted these incoming packets over the valid trials of each path. The slow path runs "
    "in user space. The clause is the rule of RFC 7915 that applied. For a packet that cannot be translated, "
    "the source gets an error (answered), or the packet is dropped.",
)
