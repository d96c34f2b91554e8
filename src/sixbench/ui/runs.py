"""The runs below a directory. Each is named by one component of a path, and no link is followed to it."""

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
from ..model.path import Path as NetworkPath
from ..model.quoting import printable, text_of
from ..model.topology import Link
from ..model.workloads import WORKLOADS
from ..report import words
from ..report.link_descriptions import direction_words
from ..report.listed_runs import ListedRun, listed, state_of
from ..report.page_loads import compared_paths
from ..report.palette import colours_of_paths, shade_name
from ..store import Folder, Run, RunDirectoryState, holds_run, read_run, run_directories
from .briefs import Briefs

FILES = {
    "report.html": "the report",
    "findings.json": "estimates and findings",
    "trials.parquet": "one row a trial, for pandas and DuckDB",
    "experiment.yaml": "the experiment as it was",
    "manifest.json": "machine, versions, settings and command",
}
"""The files of a run that can be downloaded, with their contents in words."""

MOST_LISTED = 500

MOST_KEPT = 4
"""Runs whose manifests and events are kept in memory. The events of 5,000 trials take some 10 MB."""

_Value = TypeVar("_Value")

REST = 20
"""Pause before a run that is under way is read again, in multiples of the time that reading it took: 10,000 trials take
seconds, and the page must not disturb measurements."""


@dataclass(frozen=True, kw_only=True)
class _Listed:
    """The description of a run as it was last read.

    Attributes:
        changes: the state of its directory at that time.
        again_s: the time from which a run that is under way may be read again.
    """

    changes: RunDirectoryState
    description: dict[str, Any]
    again_s: float


class Runs:
    """The runs directly below a directory, or the run that the directory itself holds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._is_one = holds_run(directory)
        self._listed: dict[str, _Listed] = {}
        self._kept: tuple[str, RunDirectoryState, Run] | None = None
        self._outlines: OrderedDict[str, tuple[object, Run]] = OrderedDict()
        self._briefs: OrderedDict[str, tuple[object, Briefs]] = OrderedDict()

    def folder(self, name: str) -> Folder:
        """The directory of a run. Raises `StoreError` where no directory here has that name, or it is a link."""
        try:
            if self._is_one:
                if name != self.directory.resolve().name:
                    raise StoreError(f"there is no run {printable(name)[:80]} here")
                return Folder.open(self.directory)
            return Folder.open(self.directory).folder(name)
        except OSError as error:
            raise StoreError(f"opening {self.directory}: {error.strerror}") from error

    def read(self, name: str) -> Run:
        """A run. Raises `StoreError`."""
        return read_run(self.folder(name))

    def with_trial(self, name: str, key: str) -> Run:
        """A run with only one of its trials, if it has that trial. Raises `StoreError`."""
        return read_run(self.folder(name), only=(key,))

    def outline(self, name: str) -> Run:
        """A run without its trials. Raises `StoreError`."""
        inside = self.folder(name)
        changes = RunDirectoryState.of(inside)
        return _recent(self._outlines, name, (changes.manifest, changes.directory), lambda: read_run(inside, only=()))

    def briefs(self, name: str) -> Briefs:
        """The trials of a run in brief. Raises `StoreError`."""
        inside = self.folder(name)
        return _recent(self._briefs, name, os.fstat(inside.descriptor).st_ino, lambda: Briefs(inside))

    def kept(self, name: str) -> Run:
        """A run, which is read again only after it has changed. Raises `StoreError`."""
        inside = self.folder(name)
        key = RunDirectoryState.of(inside)
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
            at_once: whether runs that have not been read yet are described by their manifests alone, and marked as
                `unread`.
        """
        try:
            folders = run_directories(self.directory)
        except UsageError:
            return []  # there is no such directory yet
        names = [folder.resolve().name if self._is_one else folder.name for folder in folders]
        descriptions = [self._at_once(name) if at_once else self.description(name) for name in names[-MOST_LISTED:]]
        return sorted(descriptions, key=lambda run: (run["started_realtime_ns"] or 0, run["run"]), reverse=True)

    def _at_once(self, name: str) -> dict[str, Any]:
        """The description of a run that was read, or else the one from its manifest."""
        try:
            known = self._listed.get(name)
            if known is not None and _is_current(known, RunDirectoryState.of(self.folder(name)), time.monotonic()):
                return known.description
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
            return self.description(name)  # with the problem
        facts = {"kernel": environment.kernel.split(" ")[0], "machine": environment.cpu, "unread": True}
        return _as_data(brief) | facts

    def changes(self, name: str) -> str:
        """A mark that differs after a run has continued or was reported. Raises `StoreError`."""
        return repr(RunDirectoryState.of(self.folder(name)))

    def learn(self, name: str, description: dict[str, Any], took_s: float) -> None:
        """Keeps the description of a run that another process has read. Raises `StoreError`."""
        again_s = time.monotonic() + REST * took_s
        self._listed[name] = _Listed(
            changes=RunDirectoryState.of(self.folder(name)), description=description, again_s=again_s
        )

    def description(self, name: str) -> dict[str, Any]:
        """The description of a run. The whole run is read, unless its description is current."""
        try:
            inside = self.folder(name)
            changes = RunDirectoryState.of(inside)
        except StoreError as error:
            return _as_data(ListedRun(run=text_of(name), directory=name, problem=str(error)))
        known = self._listed.get(name)
        began_s = time.monotonic()
        if known is not None and _is_current(known, changes, began_s):
            return known.description
        try:
            run = read_run(inside)
            environment = run.manifest.environment
            description = _as_data(listed(run)) | {
                "kernel": environment.kernel.split(" ")[0],
                "machine": environment.cpu,
            }
        except StoreError as error:
            description = _as_data(ListedRun(run=text_of(name), directory=name, problem=str(error)))
        description["run"] = text_of(name)
        now_s = time.monotonic()
        self._listed[name] = _Listed(changes=changes, description=description, again_s=now_s + REST * (now_s - began_s))
        return description


def _recent(
    known: OrderedDict[str, tuple[object, _Value]], name: str, key: object, make: Callable[[], _Value]
) -> _Value:
    """The value that is kept for a run with that key, or a new value. Values of the runs used last are kept."""
    entry = known.pop(name, None)
    value = entry[1] if entry is not None and entry[0] == key else make()
    known[name] = key, value
    while len(known) > MOST_KEPT:
        known.popitem(last=False)
    return value


def _as_data(run: ListedRun) -> dict[str, Any]:
    data = asdict(run)
    del data["directory"]
    return data


def _is_current(known: _Listed, changes: RunDirectoryState, now_s: float) -> bool:
    if known.description["state"] != "running":
        return known.changes == changes
    is_same = (known.changes.manifest, known.changes.findings) == (changes.manifest, changes.findings)
    return is_same and now_s < known.again_s


def described(name: str, run: Run, files: list[str]) -> dict[str, Any]:
    """The data on the screens of one run, besides its events."""
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
        "compared_pages": compared_paths(experiment),
        "blocks": {"min": experiment.blocks.minimum, "max": experiment.blocks.maximum},
        "topology": topology(experiment),
        "servers": [server.label for server in experiment.servers],
        "is_resumable": _is_resumable(experiment),
        "paths": [path_steps(experiment, path) for path in experiment.paths],
        "combinations": [combination(experiment, number) for number in range(len(experiment.combinations))],
        "files": [{"name": file, "what": FILES[file]} for file in files],
    }


def _is_resumable(experiment: Experiment) -> bool:
    """True if the page can go on with an interrupted run: with all but measurements between two machines, and runs that
    connect to hosts over SSH, which takes consent."""
    hosts = [*experiment.vantages, *(host for topology in experiment.topologies for host in topology.hosts.values())]
    return bool(experiment.topologies or experiment.servers) and all(host.ssh is None for host in hosts)


def combination(experiment: Experiment, number: int) -> dict[str, Any]:
    """A combination in the words that reports use."""
    chosen = experiment.combinations[number]
    workload = chosen.workload.kind
    metric = METRICS[WORKLOADS[workload].primary]
    title = ", ".join(part for part in (words.workload_title(workload), words.levels(chosen.levels)) if part)
    return {
        "name": chosen.name,
        "workload": workload,
        "title": title,
        "metric": words.metric_in_sentence(metric.name),
        "unit": metric.unit,
        "paths": [path.name for path in experiment.paths_of(chosen)],
    }


def topology(experiment: Experiment) -> dict[str, Any] | None:
    """The first form of the network: nodes, and links with their settings in all forms. None: the measurement was
    between two machines.

    A link's `rates` has the rate, as `50/10 Mbit/s` where it differs by direction, and `mtus` the MTU, each level by
    level. `words` has all settings, direction by direction.
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
    """The rates of both directions; empty where neither is limited."""
    rates_bps = [direction.rate_bps for direction in link.directions]
    divisor, unit = words.common_scale(rates_bps, "bit/s")
    texts = ["unlimited" if rate is None else f"{rate / divisor:.6g}" for rate in rates_bps]
    return "" if rates_bps == [None, None] else f"{'/'.join(dict.fromkeys(texts))} {unit}"


def _settings(forms: Sequence[Link]) -> str:
    """All settings of a link, by direction where they differ."""
    texts = []
    for link in forms:
        directions = [direction_words(direction) for direction in link.directions]
        if directions[0] == directions[1]:
            texts.append(directions[0])
        else:
            texts += [f"from {end.node}: {text}" for end, text in zip(link.ends, directions, strict=True) if text]
    return "; ".join(dict.fromkeys(filter(None, texts)))


def network_of(experiment: Experiment, path: NetworkPath) -> Network | None:
    """The first form of the network with a path in it; None where there is no network, or it cannot hold the path."""
    if not experiment.topologies:
        return None
    try:
        return install(path, experiment.topologies[0], experiment.between)
    except (MechanismError, ValueError):
        return None


def path_steps(experiment: Experiment, path: NetworkPath) -> dict[str, Any]:
    """A path, the name of its colour, and the links that its packets cross with their headers there."""
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
