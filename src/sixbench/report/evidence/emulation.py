"""Emulated links: what was configured beside what the emulator did, over the trials of a run.

This is no sum of a path: a link is emulated alike whatever crosses it, and in trials that are not valid too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from ...model.emulation import WAYS
from ...model.evidence.emulation import EmulatedWay
from ...model.experiment import LinkChange
from ...model.topology import Link
from ...model.units import format_duration
from ...store import Run
from .. import words
from ..link_descriptions import impairments_words
from ..tables import ColumnOf, Table, number_column, table_in, without_empty, words_column
from .evidence_sum import EvidenceSection

TITLE = "Links with a known truth"


@dataclass(frozen=True, kw_only=True)
class EmulatedDirection:
    """A direction of an emulated link in one configuration, and what the emulator did in each trial."""

    link: str
    node: str
    emulator: str
    configured: str
    ways: list[EmulatedWay] = field(default_factory=list)

    @property
    def packets(self) -> int:
        """The packets of all trials that counted them."""
        return sum(filter(None, (direction.packets for direction in self.ways)))

    @property
    def lost(self) -> int:
        """The packets of these that were lost."""
        return sum(filter(None, (direction.lost for direction in self.ways)))

    @property
    def lost_text(self) -> str:
        """Such as `12 (0.1 %)`; empty where none was lost."""
        return (
            f"{words.whole(self.lost)} ({words.share(self.lost, self.packets)})" if self.lost and self.packets else ""
        )


_EMULATOR: ColumnOf[EmulatedDirection] = words_column("emulator", lambda item: item.emulator)
_TRIALS: ColumnOf[EmulatedDirection] = number_column("trials", lambda item: str(len(item.ways)))
_PACKETS: ColumnOf[EmulatedDirection] = number_column(
    "packets", lambda item: words.whole(item.packets) if item.packets else ""
)
_COLUMNS: tuple[ColumnOf[EmulatedDirection], ...] = (
    words_column("link", lambda item: item.link),
    words_column("from", lambda item: item.node),
    _EMULATOR,
    words_column("configured", lambda item: item.configured),
    _TRIALS,
    _PACKETS,
    number_column("lost", lambda item: item.lost_text),
    number_column(
        "delay", lambda item: _median(direction.delay.p50 for direction in item.ways if direction.delay is not None)
    ),
    number_column(
        "late by",
        lambda item: _median(direction.lateness.p50 for direction in item.ways if direction.lateness is not None),
    ),
    number_column(
        "late by, 99 %",
        lambda item: _median(direction.lateness.p99 for direction in item.ways if direction.lateness is not None),
    ),
)
_NOT_BRIEF = (_EMULATOR, _TRIALS, _PACKETS)


def emulation_table(run: Run, *, brief: bool = False) -> Table | None:
    """A row for each direction of an emulated link and each way it was configured; None where there is no such link.
    `brief`: for narrow pages."""
    directions = emulated_directions(run)
    columns = [column for column in _COLUMNS if not (brief and column in _NOT_BRIEF)]
    return without_empty(table_in(TITLE, columns, directions)) if directions else None


def emulated_directions(run: Run) -> list[EmulatedDirection]:
    """The directions of emulated links, in the order of the records."""
    experiment = run.manifest.experiment
    if not any(link.is_emulated for topology in experiment.topologies for link in topology.links):
        return []
    combinations = {combination.name: combination for combination in experiment.combinations}
    directions: dict[tuple[str, str, str, str], EmulatedDirection] = {}
    for trial in run.trials:
        emulation = trial.evidence.emulation
        if emulation is None:
            continue
        combination = combinations[trial.combination]
        for link in experiment.topologies[combination.topology_of(trial.path)].links:
            emulated = emulation.get(link.name)
            if emulated is None:
                continue
            for number, (direction, end) in enumerate(zip(WAYS, link.ends, strict=True)):
                configured = _configured(link, number, combination.events)
                if configured:
                    row = EmulatedDirection(
                        link=link.name, node=end.node, emulator=emulated.emulator, configured=configured
                    )
                    place = (link.name, end.node, emulated.emulator, configured)
                    directions.setdefault(place, row).ways.append(emulated.direction(direction))
    return list(directions.values())


def _configured(link: Link, number: int, events: Iterable[LinkChange]) -> str:
    """The settings of a direction, at first and from each event on. Empty where it had none."""
    now = impairments_words(link.impairments[number])
    names = [now]
    for event in events:
        text = impairments_words(event.directions[number].impairments)
        if event.link == link.name and text != now:
            names.append(f"after {format_duration(event.at_ns)} {text or 'nothing'}")
            now = text
    return "; ".join(filter(None, [names[0] or ("nothing" if names[1:] else ""), *names[1:]]))


def _median(values_ns: Iterable[int | None]) -> str:
    known = [value for value in values_ns if value is not None]
    return words.duration(median(known)) if known else ""


SECTION = EvidenceSection(
    name="emulation",
    table=lambda data: emulation_table(data.run),
    brief=lambda data: emulation_table(data.run, brief=True),
    entries="emulated links",
    trials="all trials",
    about="The settings of each emulated link, and the emulator's counts over all trials that recorded them. The "
    "delay runs from a packet's turn on the wire to the moment it was sent. Lateness is given as the median "
    "over trials of each trial's median and 99th percentile.",
)
