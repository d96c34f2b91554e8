"""curl, which loads one object after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe

_VERSIONS = {"1.1": "--http1.1", "2": "--http2"}
_TIMES = ("time_connect", "time_appconnect", "time_pretransfer", "time_total")
_WRITTEN = "{" + ", ".join(f'"{name}": %{{{name}}}' for name in _TIMES) + "}\\n"
"""A line of JSON for each transfer. All that curl would write itself is a kilobyte."""
MOST_OBJECTS = 500
"""Their lines are in the end of the output that is kept."""


def _http(params: Params) -> Command:
    version = _VERSIONS[http_objects.version(params)]
    objects = int(params["count"]) * http_objects.objects(params)
    trust = ("--cacert", "{authority}") if http_objects.is_secured(params) else ()
    options = ("--silent", "--show-error", "--fail", "--noproxy", "*", *trust)
    return Command(
        argv=(
            *("curl", version, *options, "--resolve", "{name}:{port}:{peer-host}"),
            # The query makes no other object of it.
            *("--output", "/dev/null", "--write-out", _WRITTEN, f"{http_objects.url(params)}?[1-{objects}]"),
        )
    )


def _unfit(params: Params) -> tuple[str, str] | None:
    if "count" not in params:
        return "client", "curl loads a number of objects, and takes no time: give count"
    if int(params["count"]) * http_objects.objects(params) > MOST_OBJECTS:
        return "count", f"curl loads at most {MOST_OBJECTS} objects here"
    if params.get("connection", "new") != "kept":
        return "connection", "curl keeps its connection: give connection: kept"
    if int(params.get("in_flight", 1)) > 1:
        return "in-flight", "curl loads one object after the other: leave in-flight out"
    if http_objects.version(params) == "2" and not http_objects.is_secured(params):
        return "tls", "curl fails when it loads several objects by HTTP/2 without TLS: leave tls out"
    return http_objects.unfit(params, tuple(_VERSIONS), "curl")


def read_transfers(output: str) -> dict[str, float]:
    """The mean times that curl measured, of the lines that are its transfers in JSON."""
    transfers = [times for line in output.splitlines() if (times := _times(line)) is not None]
    metrics = {}
    if transfers:
        spans = [times["time_total"] - times["time_pretransfer"] for times in transfers]
        metrics["object_mean_ns"] = 1e9 * sum(spans) / len(spans)
    opened = [times for times in transfers if times["time_connect"] > 0]
    if opened:
        metrics["connect_mean_ns"] = 1e9 * sum(times["time_connect"] for times in opened) / len(opened)
    secured = [times for times in opened if times["time_appconnect"] > times["time_connect"]]
    if secured:
        spans = [times["time_appconnect"] - times["time_connect"] for times in secured]
        metrics["handshake_mean_ns"] = 1e9 * sum(spans) / len(spans)
    return metrics


def _times(line: str) -> Mapping[str, float] | None:
    if not line.startswith("{"):
        return None
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return None
    times = {name: given.get(name) for name in _TIMES}
    numbers = {
        name: float(time)
        for name, time in times.items()
        if isinstance(time, int | float) and not isinstance(time, bool) and 0 <= time < 1e6
    }
    return numbers if len(numbers) == len(_TIMES) else None


RECIPE = Recipe(
    name="curl",
    program="curl",
    package="curl",
    side="client",
    doc="curl, one object after the other by one connection",
    version=("curl", "--version"),
    command={"http": _http},
    unfit={"http": _unfit},
    read=read_transfers,
)
