"""Experiments that the page is given: read by the reader that `sixbench run` has, and told with the same words."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from ..mechanisms import MECHANISMS, commands_of, kernel_file_of
from ..model.errors import ExperimentError, Problem, UsageError
from ..model.experiment import Experiment
from ..plan.experiment_file import read_experiment
from ..plan.overrides import apply, apply_quick, apply_set
from ..plan.schedule import trial_counts
from ..plan.shipped import find_experiment, shipped_names
from ..plan.yaml_source import Source, parse_yaml
from ..run.estimate import estimate
from .runs import path_steps, topology

NOWHERE = "sixbench-page-without-files/"
"""The folder of an experiment's other files, which is not there: a page names no files of this machine."""

FILE = "experiment.yaml"

MOST_SETTINGS = 50


@dataclass(frozen=True, kw_only=True)
class Checked:
    """An experiment of the page that can be run.

    Attributes:
        name: of a shipped one; None where it was written on the page.
        text: its file.
        options: what changes it, as `sixbench run` has it.
    """

    experiment: Experiment
    name: str | None
    text: str
    options: list[str]


def gallery() -> list[dict[str, str]]:
    """The shipped experiments, `quickstart` first."""
    names = sorted(shipped_names(), key=lambda name: (name != "quickstart", name))
    found = []
    for name in names:
        data = parse_yaml(find_experiment(name).read_text(), name).data
        told = data if isinstance(data, dict) else {}
        found.append({"name": name, "title": str(told.get("title", name)), "text": str(told.get("description", ""))})
    return found


def shipped_text(name: str) -> str:
    """The file of a shipped experiment. Raises `UsageError` where there is none of that name."""
    if name not in shipped_names():
        raise UsageError("there is no shipped experiment of that name")
    return find_experiment(name).read_text()


def checked(data: Any) -> Checked:
    """Reads what the page asks for: `name` of a shipped experiment or `text`, and what changes it: `quick`, `blocks`
    (a number) and `settings` (a list of texts such as `seed=5`). Raises `UsageError` or `ExperimentError`."""
    if not isinstance(data, dict):
        raise UsageError("what the page asks for is no experiment")
    name, text = data.get("name"), data.get("text")
    quick, blocks, settings = data.get("quick", False), data.get("blocks"), data.get("settings", [])
    if not isinstance(quick, bool) or not (blocks is None or type(blocks) is int) or not _are_settings(settings):
        raise UsageError("what the page asks for is no experiment")
    is_changed = bool(settings) or blocks is not None
    if isinstance(name, str) and text is None:
        text = shipped_text(name)
        # A change could name files beside a shipped experiment, which are none of the page's business.
        source = parse_yaml(text, NOWHERE + FILE if is_changed else str(find_experiment(name)))
    elif isinstance(text, str) and name is None:
        source = parse_yaml(text, NOWHERE + FILE)
    else:
        raise UsageError("the page gives the name of an experiment or its text")
    if quick:
        source = apply_quick(source)
    source = apply_set(source, settings)
    if blocks is not None:
        source = apply(source, "blocks", blocks, "--blocks")
    if name is None or is_changed:
        _refuse_files(source)
    experiment = read_experiment(source, MECHANISMS)
    if any(topology.hosts for topology in experiment.topologies):
        raise UsageError("experiments with hosts connect to other machines; start them with sixbench run")
    _refuse_programs(experiment)
    if experiment.kernels:
        raise UsageError("experiments on other kernels run in emulated machines; start them with sixbench run")
    options = [*(["--quick"] if quick else []), *([] if blocks is None else [f"--blocks={blocks}"])]
    return Checked(
        experiment=experiment, name=name, text=text, options=[*options, *(f"--set={setting}" for setting in settings)]
    )


def _are_settings(given: Any) -> bool:
    return isinstance(given, list) and len(given) <= MOST_SETTINGS and all(isinstance(one, str) for one in given)


def told(one: Checked) -> dict[str, Any]:
    """What the page shows of an experiment that is right."""
    experiment = one.experiment
    least, most = trial_counts(experiment)
    estimated = estimate(experiment)
    return {
        "experiment": experiment.name,
        "title": experiment.title or experiment.name,
        "topology": topology(experiment),
        "paths": [path_steps(experiment, path) for path in experiment.paths],
        "trials": f"{least}" if least == most else f"{least} to {most}",
        "duration": ("at least " if estimated.open_ended else "about ") + _time_words(estimated.least_ns),
        "command": shlex.join(["sixbench", "run", one.name or FILE, *one.options]),
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
    """What is wrong with an experiment: the lines that `sixbench run` prints."""
    return [line.replace(NOWHERE, "") for line in str(error).splitlines()]


_FILE_KEYS = ("file", "trace")
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
            for key, one in value.items():
                look(one, (*path, key))
        elif isinstance(value, list):
            for number, one in enumerate(value):
                look(one, (*path, number))
        elif isinstance(value, str) and (value.startswith(_LIKE_FILES) or _is_file_key(path)):
            problems.append(source.problem(path, "the page names no files of this machine; use sixbench run for that"))

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
                f"paths.{path.name} boots a kernel from files, and the page names no files of this machine; "
                "use sixbench run for that"
            )
        if commands_of(path):
            raise UsageError(f"paths.{path.name} runs commands, and the page starts none; use sixbench run for that")
