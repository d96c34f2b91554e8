"""The runs below a directory: each is named by one component, and reached without following a link."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..mechanisms import MechanismError, install
from ..model.errors import StoreError, UsageError
from ..model.experiment import Experiment
from ..model.metric import METRICS
from ..model.network import Network
from ..model.path import Path as Way
from ..model.quoting import printable, text_of
from ..model.topology import Link
from ..model.workloads import WORKLOADS
from ..report import words
from ..report.link_descriptions import direction_words
from ..report.listed_runs import ListedRun, listed, state_of
from ..report.palette import colours_of_paths, shade_name
from ..store import Changes, Folder, Run, holds_run, read_run, run_directories
from .briefs import Briefs

FILES = {
    "report.html": "the report",
    "findings.json": "estimates and findings",
    "trials.parquet": "one row a trial, for pandas and DuckDB",
    "experiment.yaml": "the experiment as it was",
    "manifest.json": "machine, versions, settings and command",
}
"""What can be downloaded of a run, with what it is."""

MOST_LISTED = 500

MOST_KEPT = 4
"""Runs of which something is kept in memory. The events of 5,000 trials take some 10 MB."""

_Value = TypeVar("_Value")

REST = 20
"""A run that goes on is not read again until so many times as long has passed as that took: 10,000 trials take seconds,
and the page is to disturb nobody."""


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """What was told of a run.

    Attributes:
        changes: what its directory had then.
        again_s: when a run that goes on may be read again.
    """

    changes: Changes
    told: dict[str, Any]
    again_s: float


class Runs:
    """The runs right below a directory, or the one that the directory is."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._is_one = holds_run(directory)
        self._listed: dict[str, _Listed] = {}
        self._kept: tuple[str, Changes, Run] | None = None
        self._outlines: OrderedDict[str, tuple[object, Run]] = OrderedDict()
        self._briefs: OrderedDict[str, tuple[object, Briefs]] = OrderedDict()

    def folder(self, name: str) -> Folder:
        """The directory of a run. Raises `StoreError` where the name is none of a directory here, or that is a link."""
        try:
            if self._is_one:
                if name != self.directory.resolve().name:
                    raise StoreError(f"{printable(name)[:80]} is no run here")
                return Folder.open(self.directory)
            return Folder.open(self.directory).folder(name)
        except OSError as error:
            raise StoreError(f"opening {self.directory}: {error.strerror}") from error

    def read(self, name: str) -> Run:
        """A run. Raises `StoreError`."""
        return read_run(self.folder(name))

    def with_trial(self, name: str, key: str) -> Run:
        """A run with one of its trials alone, if it has that. Raises `StoreError`."""
        return read_run(self.folder(name), only=(key,))

    def outline(self, name: str) -> Run:
        """A run without its trials. Raises `StoreError`."""
        inside = self.folder(name)
        changes = Changes.of(inside)
        return _recent(self._outlines, name, (changes.manifest, changes.directory), lambda: read_run(inside, only=()))

    def briefs(self, name: str) -> Briefs:
        """The trials of a run in brief. Raises `StoreError`."""
        inside = self.folder(name)
        return _recent(self._briefs, name, os.fstat(inside.descriptor).st_ino, lambda: Briefs(inside))

    def kept(self, name: str) -> Run:
        """A run, read once for as long as nothing is added to it. Raises `StoreError`."""
        inside = self.folder(name)
        key = Changes.of(inside)
        known = self._kept
        if known is None or known[:2] != (name, key):
            known = self._kept = name, key, read_run(inside)
        return known[2]

    def file(self, name: str, file: str) -> bytes | None:
        """One of `FILES`; None where the run has none. Raises `StoreError`."""
        inside = self.folder(name)
        return inside.read(file) if file in FILES and inside.has(file) else None

    def listed(self, *, at_once: bool = False) -> list[dict[str, Any]]:
        """The descriptions of all runs, the newest first.

        Args:
            at_once: whether of runs that are not known yet only that is told which their manifests say. They are
                marked as `unread`.
        """
        try:
            names = [one.resolve().name if self._is_one else one.name for one in run_directories(self.directory)]
        except UsageError:
            return []  # there is no such directory yet
        found = [self._at_once(name) if at_once else self.one(name) for name in names[-MOST_LISTED:]]
        return sorted(found, key=lambda one: (one["started_realtime_ns"] or 0, one["run"]), reverse=True)

    def _at_once(self, name: str) -> dict[str, Any]:
        """The description of a run that was read, or that of its manifest."""
        try:
            known = self._listed.get(name)
            if known is not None and _is_told(known, Changes.of(self.folder(name)), time.monotonic()):
                return known.told
            run = self.outline(name)
            manifest, environment = run.manifest, run.manifest.environment
            brief = ListedRun(
                run=text_of(name),
                directory=name,
                started_realtime_ns=manifest.started_realtime_ns,
                ended_realtime_ns=manifest.ended_realtime_ns,
                experiment=manifest.experiment.name,
                title=manifest.experiment.title,
                paper=manifest.paper,
                is_quick=manifest.quick,
                state=state_of(run),
            )
        except StoreError:
            return self.one(name)  # its problem
        facts = {"kernel": environment.kernel.split(" ")[0], "machine": environment.cpu, "unread": True}
        return _told(brief) | facts

    def changes(self, name: str) -> str:
        """A mark that differs once a run has gone on or was reported. Raises `StoreError`."""
        return repr(Changes.of(self.folder(name)))

    def learn(self, name: str, told: dict[str, Any], took_s: float) -> None:
        """Keeps what another process found of a run for the list. Raises `StoreError`."""
        again_s = time.monotonic() + REST * took_s
        self._listed[name] = _Listed(changes=Changes.of(self.folder(name)), told=told, again_s=again_s)

    def one(self, name: str) -> dict[str, Any]:
        """The description of a run. All of it is read, unless it is known."""
        try:
            inside = self.folder(name)
            changes = Changes.of(inside)
        except StoreError as error:
            return _told(ListedRun(run=text_of(name), directory=name, problem=str(error)))
        known = self._listed.get(name)
        began_s = time.monotonic()
        if known is not None and _is_told(known, changes, began_s):
            return known.told
        try:
            run = read_run(inside)
            environment = run.manifest.environment
            told = _told(listed(run)) | {"kernel": environment.kernel.split(" ")[0], "machine": environment.cpu}
        except StoreError as error:
            told = _told(ListedRun(run=text_of(name), directory=name, problem=str(error)))
        told["run"] = text_of(name)
        now_s = time.monotonic()
        self._listed[name] = _Listed(changes=changes, told=told, again_s=now_s + REST * (now_s - began_s))
        return told


def _recent(
    known: OrderedDict[str, tuple[object, _Value]], name: str, key: object, make: Callable[[], _Value]
) -> _Value:
    """The value made of a run with that key, or made now. Those of the runs that were asked for last are kept."""
    found = known.pop(name, None)
    value = found[1] if found is not None and found[0] == key else make()
    known[name] = key, value
    while len(known) > MOST_KEPT:
        known.popitem(last=False)
    return value


def _told(one: ListedRun) -> dict[str, Any]:
    told = asdict(one)
    del told["directory"]
    return told


def _is_told(known: _Listed, changes: Changes, now_s: float) -> bool:
    if known.told["state"] != "running":
        return known.changes == changes
    is_same = (known.changes.manifest, known.changes.findings) == (changes.manifest, changes.findings)
    return is_same and now_s < known.again_s


def described(name: str, run: Run, files: list[str]) -> dict[str, Any]:
    """What the screens of one run show of it, besides its events."""
    experiment = run.manifest.experiment
    environment = run.manifest.environment
    return {
        "run": name,
        "title": experiment.title or experiment.name,
        "description": experiment.description,
        "experiment": experiment.name,
        "state": state_of(run),
        "kernel": environment.kernel.split(" ")[0],
        "machine": environment.cpu,
        "command": run.manifest.command,
        "baseline": experiment.baseline,
        "blocks": {"min": experiment.blocks.minimum, "max": experiment.blocks.maximum},
        "topology": topology(experiment),
        "paths": [path_steps(experiment, path) for path in experiment.paths],
        "combinations": [combination(experiment, number) for number in range(len(experiment.combinations))],
        "files": [{"name": one, "what": FILES[one]} for one in files],
    }


def combination(experiment: Experiment, number: int) -> dict[str, Any]:
    """A combination in the words that reports use."""
    one = experiment.combinations[number]
    metric = METRICS[WORKLOADS[one.workload.kind].primary]
    title = ", ".join(part for part in (words.workload_title(one.workload.kind), words.levels(one.levels)) if part)
    return {
        "name": one.name,
        "workload": one.workload.kind,
        "title": title,
        "metric": words.metric_in_sentence(metric.name),
        "unit": metric.unit,
        "paths": [path.name for path in experiment.paths_of(one)],
    }


def topology(experiment: Experiment) -> dict[str, Any] | None:
    """The first form of the network: nodes, and links with their settings in all forms. None: it was between two
    machines.

    A link's `rates` has the rate, as `50/10 Mbit/s` where it is another in each direction, and `mtus` the MTU; levels
    stand one after the other. `words` has everything, direction by direction.
    """
    if not experiment.topologies:
        return None
    first = experiment.topologies[0]
    forms: dict[str, list[Link]] = {}
    for form in experiment.topologies:
        for link in form.links:
            forms.setdefault(link.name, []).append(link)
    return {
        "nodes": [{"name": node.name, "kind": node.kind} for node in first.nodes.values()],
        "between": list(experiment.between),
        "links": [
            {
                "name": link.name,
                "ends": [end.node for end in link.ends],
                "mtus": ", ".join(dict.fromkeys(str(form.mtu_bytes) for form in forms[link.name])),
                "rates": ", ".join(dict.fromkeys(filter(None, map(_rates, forms[link.name])))),
                "words": _settings(forms[link.name]),
            }
            for link in first.links
        ],
    }


def _rates(link: Link) -> str:
    """The rate of both directions; empty where neither has one."""
    rates_bps = [direction.rate_bps for direction in link.directions]
    divisor, unit = words.common_scale(rates_bps, "bit/s")
    texts = ["unlimited" if rate is None else f"{rate / divisor:.6g}" for rate in rates_bps]
    return "" if rates_bps == [None, None] else f"{'/'.join(dict.fromkeys(texts))} {unit}"


def _settings(forms: Sequence[Link]) -> str:
    """All settings of a link, with its direction where these differ."""
    found = []
    for link in forms:
        ways = [direction_words(direction) for direction in link.directions]
        if ways[0] == ways[1]:
            found.append(ways[0])
        else:
            found += [f"from {end.node}: {text}" for end, text in zip(link.ends, ways, strict=True) if text]
    return "; ".join(dict.fromkeys(filter(None, found)))


def network_of(experiment: Experiment, path: Way) -> Network | None:
    """A path in the first form of the network; None where there is none, or the path cannot be in it."""
    if not experiment.topologies:
        return None
    try:
        return install(path, experiment.topologies[0], experiment.between)
    except (MechanismError, ValueError):
        return None


def path_steps(experiment: Experiment, path: Way) -> dict[str, Any]:
    """A path, the name of its colour, and the wires that its packets cross with the headers that they have there."""
    network = network_of(experiment, path)
    return {
        "name": path.name,
        "colour": shade_name(colours_of_paths(experiment)[path.name]),
        "mechanism": path.mechanism,
        "aa_of": path.aa_of,
        "nodes": list(path.nodes),
        "steps": [
            {
                "link": crossing.link.name,
                "near": crossing.near,
                "far": crossing.far,
                "headers": list(crossing.headers),
            }
            for crossing in (network.crossings if network is not None else ())
        ],
    }
