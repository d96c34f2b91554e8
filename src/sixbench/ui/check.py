"""Experiments from the page: read and described as `sixbench run` reads and describes them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from ..bench.estimate import estimate
from ..mechanisms import MECHANISMS, commands_of, commands_of_workloads, kernel_file_of
from ..model.errors import ExperimentError, Problem, UsageError
from ..model.experiment import Experiment
from ..plan.changes import ExperimentChanges
from ..plan.experiment_file import read_experiment
from ..plan.schedule import trial_counts
from ..plan.shipped import find_experiment, shipped_names
from ..plan.yaml_source import Source, parse_yaml
from .runs import path_steps, topology

NOWHERE = "sixbench-page-without-files/"
"""The folder of an experiment's other files. It does not exist: a page names no files of this machine."""

FILE = "experiment.yaml"

MOST_SETTINGS = 50


@dataclass(frozen=True, kw_only=True)
class CheckedExperiment:
    """An experiment from the page that can be run.

    Attributes:
        name: of a shipped experiment; None where it was written on the page.
        text: its file.
        changes: to that file, which have been made in `experiment`.
    """

    experiment: Experiment
    name: str | None
    text: str
    changes: ExperimentChanges

    @property
    def options(self) -> list[str]:
        """The options of `sixbench run` that make the changes. A value that begins with a dash is no option."""
        return self.changes.options(joined=True)


def gallery() -> list[dict[str, str]]:
    """The shipped experiments, `quickstart` first."""
    names = sorted(shipped_names(), key=lambda name: (name != "quickstart", name))
    entries = []
    for name in names:
        data = parse_yaml(find_experiment(name).read_text(), name).data
        keys = data if isinstance(data, dict) else {}
        entries.append({"name": name, "title": str(keys.get("title", name)), "text": str(keys.get("description", ""))})
    return entries


def shipped_text(name: str) -> str:
    """The file of a shipped experiment. Raises `UsageError` where there is none of that name."""
    if name not in shipped_names():
        raise UsageError("there is no shipped experiment of that name")
    return find_experiment(name).read_text()


def checked(data: Any) -> CheckedExperiment:
    """Reads an experiment from the page: the `name` of a shipped experiment or a `text`, and changes to it: `quick`,
    `blocks` (a number) and `settings` (a list of texts such as `seed=5`). Raises `UsageError` or `ExperimentError`."""
    if not isinstance(data, dict):
        raise UsageError("the request of the page is not an experiment")
    name, text = data.get("name"), data.get("text")
    quick, blocks, settings = data.get("quick", False), data.get("blocks"), data.get("settings", [])
    if not isinstance(quick, bool) or not (blocks is None or type(blocks) is int) or not _are_settings(settings):
        raise UsageError("the request of the page is not an experiment")
    changes = ExperimentChanges(assignments=tuple(settings), quick=quick, blocks=blocks)
    is_changed = bool(settings) or blocks is not None
    if isinstance(name, str) and text is None:
        text = shipped_text(name)
        # A change could name files beside a shipped experiment, which the page must not read.
        source = parse_yaml(text, NOWHERE + FILE if is_changed else str(find_experiment(name)))
    elif isinstance(text, str) and name is None:
        source = parse_yaml(text, NOWHERE + FILE)
    else:
        raise UsageError("the request of the page needs either the name of an experiment or its text")
    source = changes.apply_to(source)
    if name is None or is_changed:
        _refuse_files(source)
    experiment = read_experiment(source, MECHANISMS)
    vantages = any(host.ssh is not None for host in experiment.vantages)
    if vantages or any(topology.hosts for topology in experiment.topologies):
        raise UsageError("an experiment with hosts connects to other machines; start it with sixbench run")
    _refuse_programs(experiment)
    if experiment.kernels:
        raise UsageError("an experiment on other kernels runs in emulated machines; start it with sixbench run")
    return CheckedExperiment(experiment=experiment, name=name, text=text, changes=changes)


def _are_settings(given: Any) -> bool:
    return (
        isinstance(given, list) and len(given) <= MOST_SETTINGS and all(isinstance(setting, str) for setting in given)
    )


def described(checked: CheckedExperiment) -> dict[str, Any]:
    """The data that the page shows of a valid experiment."""
    experiment = checked.experiment
    least, most = trial_counts(experiment)
    estimated = estimate(experiment)
    return {
        "experiment": experiment.name,
        "title": experiment.title or experiment.name,
        "topology": topology(experiment),
        "paths": [path_steps(experiment, path) for path in experiment.paths],
        "trials": f"{least}" if least == most else f"{least} to {most}",
        "duration": ("at least " if estimated.open_ended else "about ") + _time_words(estimated.least_ns),
        "command": shlex.join(["sixbench", "run", checked.name or FILE, *checked.options]),
    }


def _time_words(time_ns: int) -> str:
    """Such as `25 s`, `12 min`, `3 h 20 min`."""
    minutes, seconds = divmod(max(1, round(time_ns / 1e9)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return (
        f"{minutes} min {seconds} s"
        if 0 < minutes < 10 and seconds
        else f"{minutes} min"
        if minutes
        else f"{seconds} s"
    )


def problem_lines(error: ExperimentError | UsageError) -> list[str]:
    """The problems of an experiment, in the lines that `sixbench run` prints."""
    return [line.replace(NOWHERE, "") for line in str(error).splitlines()]


_FILE_KEYS = ("file", "trace", "page")
"""The settings of links and workloads that name a file of this machine."""

_LIKE_FILES = ("/", "./", "../", "~")
"""Beginnings of texts that can name nothing but a file."""

_NAMED_FREELY = ("nodes", "paths")
"""Mappings whose keys are names that the experiment chooses."""


def _refuse_files(source: Source) -> None:
    """Raises `ExperimentError` where an experiment names a file of this machine."""
    problems: list[Problem] = []

    def look(value: Any, path: tuple[Any, ...]) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                look(inner, (*path, key))
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                look(inner, (*path, number))
        elif isinstance(value, str) and (value.startswith(_LIKE_FILES) or _is_file_key(path)):
            problems.append(source.problem(path, "the page cannot use files of this machine; use sixbench run instead"))

    look(source.data, ())
    if problems:
        raise ExperimentError(problems)


def _is_file_key(path: tuple[Any, ...]) -> bool:
    names = [part for part in path if isinstance(part, str)]
    return bool(names) and names[-1] in _FILE_KEYS and not (len(names) > 1 and names[-2] in _NAMED_FREELY)


def _refuse_programs(experiment: Experiment) -> None:
    """Raises `UsageError` where an experiment runs commands or a kernel of its own."""
    for path in experiment.paths:
        if kernel_file_of(path) is not None:
            raise UsageError(
                f"paths.{path.name} boots a kernel from files, and the page cannot use files of this machine; "
                "use sixbench run instead"
            )
        if commands_of(path):
            raise UsageError(
                f"paths.{path.name} runs commands, which the page does not allow; use sixbench run instead"
            )
    for workload in commands_of_workloads(experiment.combinations):
        raise UsageError(f"workloads.{workload} runs commands, which the page does not allow; use sixbench run instead")
