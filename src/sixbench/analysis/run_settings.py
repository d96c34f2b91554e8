"""Differences between two runs besides their results: machine, kernel, versions, experiment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..model.errors import UsageError
from ..model.run_comparison import DifferingSetting
from ..store.manifest_json import manifest_to_json
from .clock import clock_of

if TYPE_CHECKING:
    from ..store import Run

LEFT_OUT = {"text", "file", "description", "title", "notes"}
"""Keys of an experiment that only describe it, and do not change results."""

MEASURED = {"lookup_ns", "now", "routes", "path_mtus"}
"""Keys of a server in a family that are results, and no settings."""


def check_comparable(old: Run, new: Run) -> None:
    """Raises `UsageError` where times or results of the runs mean different things."""
    names = [run.manifest.experiment.name for run in (old, new)]
    if names[0] != names[1]:
        raise UsageError(
            f"{old.directory} is of the experiment {names[0]} and {new.directory} of {names[1]}: "
            "only runs of one experiment can be compared"
        )
    clocks = [clock_of(run) for run in (old, new)]
    if clocks[0] != clocks[1]:
        raise UsageError(
            f"{old.directory} was measured by {clocks[0]} and {new.directory} by {clocks[1]}: "
            "their times cannot be compared; run both with the same --clock"
        )


def differing_settings(old: Run, new: Run) -> list[DifferingSetting]:
    """The differences, in the order of the manifest."""
    before, after = (dict(_leaves(_recorded_settings(run))) for run in (old, new))
    names = dict.fromkeys([*before, *after])
    settings = (DifferingSetting(name=name, old=before.get(name), new=after.get(name)) for name in names)
    return [setting for setting in settings if setting.old != setting.new]


def _recorded_settings(run: Run) -> dict[str, Any]:
    data = manifest_to_json(run.manifest)
    experiment = {name: value for name, value in data["experiment"].items() if name not in LEFT_OUT}
    environment = data["environment"]
    if "survey" in environment:
        environment = environment | {"survey": _of_survey(environment["survey"])}
    if "surveys" in environment:
        surveys = {vantage: _of_survey(survey) for vantage, survey in environment["surveys"].items()}
        environment = environment | {"surveys": surveys}
    return {
        **environment,
        "guests": data.get("guests", {}),
        "workers": {name: worker["environment"] for name, worker in data.get("workers", {}).items()},
        "quick": data.get("quick"),
        "state": data.get("state"),
        "experiment": experiment,
    }


def _of_survey(survey: dict[str, Any]) -> dict[str, Any]:
    """The survey by server, without its results: times, and routers that differ from one reading to the next."""
    servers = {
        server["label"]: server
        | {
            "families": {
                name: {key: value for key, value in entry.items() if key not in MEASURED}
                for name, entry in server["families"].items()
            }
        }
        for server in survey["servers"]
    }
    return survey | {"servers": servers}


def _leaves(data: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every value with its place, such as `experiment.topologies[0].links[1].mtu_bytes`."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _leaves(value, f"{name}[{index}]")
    elif data is not None:
        yield name, str(data)
