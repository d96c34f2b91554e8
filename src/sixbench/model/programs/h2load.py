"""h2load, which loads objects as fast as they come."""

from __future__ import annotations

import re

from ..parameter import Params
from . import http_objects
from .end import Command, Recipe

_RATE = re.compile(r"^finished in [0-9.]{1,12}(?:us|ms|s), ([0-9]{1,12}(?:\.[0-9]{1,6})?) req/s", re.MULTILINE)
_MEAN = re.compile(
    r"^time for (request|connect):\s+\S{1,20}\s+\S{1,20}\s+([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)\s", re.MULTILINE
)
_UNIT_NS = {"us": 1e3, "ms": 1e6, "s": 1e9}
_METRICS = {"request": "object_mean_ns"}


def _http(params: Params) -> Command:
    clients = int(params.get("in_flight", 1))
    streams = int(params.get("parallel", 1))
    length = (
        ("-n", str(int(params["count"]) * http_objects.objects(params)))
        if "count" in params
        else ("-D", f"{int(params['duration_ns']) / 1e9:g}")
    )
    protocol: tuple[str, ...] = ()
    if http_objects.version(params) == "1.1":
        protocol = ("--h1",)
    elif not http_objects.is_secured(params):
        protocol = ("-p", "h2c")
    concurrency = ("-c", str(clients), "-t", "1", "-m", str(streams))
    return Command(
        argv=("h2load", *protocol, *length, *concurrency, "--connect-to={peer-host}:{port}", http_objects.url(params))
    )


def _unfit(params: Params) -> tuple[str, str] | None:
    if params.get("connection", "new") != "kept":
        return "connection", "h2load keeps its connections: give connection: kept"
    if http_objects.version(params) == "1.1" and int(params.get("parallel", 1)) > 1:
        return "parallel", "h2load has one request at a time on a connection of HTTP/1.1: give in-flight instead"
    if "count" in params and int(params["count"]) * http_objects.objects(params) < int(params.get("in_flight", 1)):
        return "in-flight", "h2load opens no more connections than it loads objects: give less, or a larger count"
    return http_objects.unfit(params, ("1.1", "2"), "h2load")


def read_summary(output: str) -> dict[str, float]:
    """The metrics in its summary: what it measured itself, in its own window."""
    metrics = {}
    rate = _RATE.search(output)
    if rate is not None:
        metrics["requests_rate_per_s"] = float(rate[1])
    for what, text, unit in _MEAN.findall(output):
        if what in _METRICS:
            metrics[_METRICS[what]] = float(text) * _UNIT_NS[unit]
    return metrics


RECIPE = Recipe(
    name="h2load",
    program="h2load",
    package="nghttp2-client",
    side="client",
    doc="h2load with one thread, whose summary has the rate and the mean time of an object",
    version=("h2load", "--version"),
    command={"http": _http},
    unfit={"http": _unfit},
    read=read_summary,
)
