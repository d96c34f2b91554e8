"""Emulated links: what was configured beside what the emulator did, over the trials of a run.

This is no sum of a path: a link is emulated alike whatever crosses it, and in trials that are not valid too.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from ...model.emulation import WAYS
from ...model.evidence.emulation import EmulatedWay
from ...model.experiment import LinkChange
from ...model.topology import Link
from ...model.units import format_duration
from ...store import Run
from .. import words
from ..link_descriptions import impairments_words
from ..tables import Table, left, right, without_empty

TITLE = "Links with a known truth"
NOT_BRIEF = ("emulator", "trials", "packets")


def emulation_table(run: Run, *, brief: bool = False) -> Table | None:
    """A row for each direction of an emulated link and each way it was configured; None where there is no such link.
    `brief`: for narrow pages."""
    experiment = run.manifest.experiment
    if not any(link.is_emulated for topology in experiment.topologies for link in topology.links):
        return None
    combinations = {combination.name: combination for combination in experiment.combinations}
    emulated_ways: dict[tuple[str, ...], list[EmulatedWay]] = {}
    for trial in run.trials:
        emulation = trial.evidence.emulation
        if emulation is None:
            continue
        combination = combinations[trial.combination]
        for link in experiment.topologies[combination.topology_of(trial.path)].links:
            emulated = emulation.get(link.name)
            if emulated is None:
                continue
            for number, (way, end) in enumerate(zip(WAYS, link.ends, strict=True)):
                configured = _configured(link, number, combination.events)
                if configured:
                    place = (link.name, end.node, emulated.emulator, configured)
                    emulated_ways.setdefault(place, []).append(emulated.way(way))
    if not emulated_ways:
        return None
    columns = [
        *left("link", "from", "emulator", "configured"),
        *right("trials", "packets", "lost", "delay", "late by", "late by, 99 %"),
    ]
    names = [[*place, *_did(ways)] for place, ways in emulated_ways.items()]
    kept = [index for index, column in enumerate(columns) if not (brief and column.name in NOT_BRIEF)]
    rows = [[row[index] for index in kept] for row in names]
    return without_empty(Table(title=TITLE, columns=[columns[index] for index in kept], rows=rows))


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


def _did(ways: list[EmulatedWay]) -> list[str]:
    packets, lost = (sum(filter(None, counts)) for counts in ((w.packets for w in ways), (w.lost for w in ways)))
    delays = [way.delay for way in ways if way.delay is not None]
    late_by = [way.lateness for way in ways if way.lateness is not None]
    return [
        str(len(ways)),
        words.whole(packets) if packets else "",
        f"{words.whole(lost)} ({words.share(lost, packets)})" if lost and packets else "",
        _median(delay.p50 for delay in delays),
        _median(summary.p50 for summary in late_by),
        _median(summary.p99 for summary in late_by),
    ]


def _median(values_ns: Iterable[int | None]) -> str:
    known = [value for value in values_ns if value is not None]
    return words.duration(median(known)) if known else ""
