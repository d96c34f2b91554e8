"""Traffic models: gaps and sizes of datagrams that vary, as D-ITG has them. Their parameters, and what follows from
them.

The agent draws the random numbers. This module has only what is known before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..parameter import Parameter, Params, Wrong
from .common import BYTES, HEADER_BYTES, SECOND_NS, UDP_MAX_BYTES

DISTRIBUTIONS = ("constant", "uniform", "exponential", "pareto", "normal", "gamma")
PERIODS = ("constant", "exponential", "pareto")

MAX_BYTES = UDP_MAX_BYTES[4]
"""Random sizes are at most this, in both families, so that both send the same."""

MIN_MEAN_GAP_NS = 1000
MAX_GAP_NS = 24 * 3600 * SECOND_NS

_TAKES = {
    "constant": {"mean"},
    "uniform": {"min", "max"},
    "exponential": {"mean", "min", "max"},
    "pareto": {"mean", "shape", "min", "max"},
    "normal": {"mean", "stdev", "min", "max"},
    "gamma": {"mean", "shape", "min", "max"},
}


def _shape(name: str) -> Parameter:
    return Parameter(
        name=f"{name}.shape",
        kind="number",
        doc="shape of pareto (above 1: with less there is no mean) and of gamma",
        minimum=0.01,
        maximum=10**6,
    )


def _time(name: str, doc: str, minimum: int = 0, default: int | None = None, unless_given: str = "") -> Parameter:
    return Parameter(
        name=f"gaps.{name}",
        kind="duration",
        doc=doc,
        minimum=minimum,
        maximum=MAX_GAP_NS,
        default=default,
        unless_given=unless_given,
    )


def _size(
    name: str, doc: str, minimum: int = HEADER_BYTES, default: int | None = None, unless_given: str = ""
) -> Parameter:
    return Parameter(
        name=f"sizes.{name}",
        kind="size",
        doc=doc,
        minimum=minimum,
        maximum=MAX_BYTES,
        default=default,
        unless_given=unless_given,
    )


def _period(name: str, column: str, doc: str) -> Parameter:
    return Parameter(name=f"on-off.{name}", column=column, kind="duration", doc=doc, minimum=10**6, maximum=MAX_GAP_NS)


GAPS = Parameter(
    name="gaps",
    kind="choice",
    choices=DISTRIBUTIONS,
    identifying=True,
    doc="distribution of the time from one datagram to the next",
    default="constant",
)
SIZES = Parameter(
    name="sizes",
    kind="choice",
    choices=DISTRIBUTIONS,
    identifying=True,
    doc="distribution of the datagrams' payload",
    default="constant",
)
SIZES_MIN = _size(
    "min",
    "smallest datagram: uniform begins there; a smaller one of another distribution becomes this large",
    default=HEADER_BYTES,
)
SIZES_MAX = _size("max", "largest datagram, likewise", default=MAX_BYTES)
ON_OFF = Parameter(
    name="on-off",
    kind="choice",
    choices=PERIODS,
    doc="distribution of the periods in which it sends, and of the silences between them",
    default="constant",
    unless_given="constant, where the two are given",
)
ACTIVE = _period("active", "on_ns", "mean length of a period in which it sends")
SILENT = _period("silent", "off_ns", "mean length of a silence")
DISTRIBUTED = (
    GAPS,
    _time("mean", "mean gap, instead of a rate", minimum=1, unless_given="by the rate, with the mean size"),
    _time("stdev", "standard deviation of normal gaps"),
    _shape("gaps"),
    _time(
        "min",
        "shortest gap: uniform begins there; a shorter gap of another distribution becomes this long",
        default=0,
    ),
    _time("max", "longest gap, likewise", default=MAX_GAP_NS, unless_given="a day"),
    SIZES,
    _size("mean", "mean size, instead of datagram", unless_given="datagram"),
    _size("stdev", "standard deviation of normal sizes", minimum=0),
    _shape("sizes"),
    SIZES_MIN,
    SIZES_MAX,
    ON_OFF,
    ACTIVE,
    SILENT,
    _shape("on-off"),
)
SEED = Parameter(
    name="seed",
    kind="count",
    doc="seed of the random numbers: the same seed gives the same datagrams",
    minimum=0,
    maximum=2**63 - 1,
    unless_given="the experiment's and the block's number: the same for every path of a block",
)
TRACE = Parameter(
    name="trace",
    kind="file",
    identifying=True,
    doc="a pcap or pcapng file, named from the experiment's folder: the times and sizes of its packets, repeated",
)

MODEL = (*DISTRIBUTED, SEED, TRACE)


class Range(NamedTuple):
    """The smallest and the largest value that can occur."""

    least: float
    most: float


def is_drawn(params: Params) -> bool:
    """True if anything in a flow is random, so that there is a seed."""
    return any(parameter.of(params) != "constant" for parameter in (GAPS, SIZES, ON_OFF))


def has_constant_gaps(params: Params) -> bool:
    """True if the rate holds at every moment, not only in the mean."""
    return "trace" not in params and GAPS.of(params) == "constant" and "on_ns" not in params


def sizes_of(params: Params) -> Range | None:
    """The sizes that datagrams can have; None where only a trace knows."""
    if "trace" in params:
        return None
    if SIZES.of(params) == "constant":
        size = float(params.get("sizes_mean_bytes", params.get("datagram_bytes", 0)))
        return Range(size, size)
    return Range(float(SIZES_MIN.of(params)), float(SIZES_MAX.of(params)))


def one_size(params: Params) -> int | None:
    """The payload of every datagram; None where they differ."""
    sizes = sizes_of(params)
    return int(sizes.most) if sizes is not None and sizes.least == sizes.most else None


def mean_size_bytes(params: Params) -> float | None:
    """The mean of the distribution of sizes, before the bounds; None where only a trace knows."""
    if "trace" in params:
        return None
    if SIZES.of(params) == "uniform":
        return (float(params["sizes_min_bytes"]) + float(params["sizes_max_bytes"])) / 2
    return float(params.get("sizes_mean_bytes", params.get("datagram_bytes", 0)))


def mean_gap_ns(params: Params) -> float | None:
    """The mean of the distribution of gaps, while a source is on; None where there is none."""
    if "trace" in params:
        return None
    if GAPS.of(params) == "uniform":
        return (float(params["gaps_min_ns"]) + float(params["gaps_max_ns"])) / 2
    if "gaps_mean_ns" in params:
        return float(params["gaps_mean_ns"])
    if "rate_pps" in params:
        return SECOND_NS / float(params["rate_pps"])
    size_bytes = mean_size_bytes(params)
    if "rate_bps" in params and size_bytes:
        return size_bytes * 8 * SECOND_NS / float(params["rate_bps"])
    return None


def has_model(params: Params) -> bool:
    """True if there is any parameter of a model."""
    return model_in(params) is not None


def model_in(params: Params) -> str | None:
    """The name of a parameter of a model that is given; None if there is none."""
    return next((parameter.name for parameter in MODEL if parameter is not SEED and parameter.column in params), None)


def check_model(params: Params) -> Wrong | None:
    """The problem with the parameters of a model; None if nothing is."""
    if "trace" in params:
        return _check_trace(params)
    if not has_model(params):
        words = "seed has no effect, because nothing is random here; give gaps, sizes or on-off too"
        return Wrong(SEED.name, words) if "seed" in params else None
    return next(filter(None, _wrong(params)), None)


def _check_trace(params: Params) -> Wrong | None:
    others = {p.column: p.name for p in (*DISTRIBUTED, SEED)}
    others |= {"datagram_bytes": "datagram", "rate_bps": "rate", "rate_pps": "packet-rate", "bytes": "bytes"}
    given = [name for column, name in others.items() if column in params]
    return Wrong(given[0], f"trace gives the times and sizes; leave out {', '.join(given)}") if given else None


def _wrong(params: Params) -> Iterator[Wrong | None]:
    yield _check_distribution(params, SIZES, "bytes", ("datagram_bytes",), "datagram")
    yield _check_distribution(params, GAPS, "ns", ("rate_bps", "rate_pps"), "rate")
    gap_ns = mean_gap_ns(params)
    if gap_ns is not None and gap_ns < MIN_MEAN_GAP_NS:
        yield Wrong(None, "the mean gap is under 1 us; send slower")
    if one_size(params) is None and "bytes" in params:
        words = "bytes cannot end a flow of datagrams of several sizes; give a duration or a count"
        yield Wrong(BYTES.name, words)
    yield _check_on_off(params)


def _check_distribution(
    params: Params, distribution: Parameter, unit: str, instead: tuple[str, ...], name: str
) -> Wrong | None:
    what, kind = distribution.name, str(distribution.of(params))
    columns = {"mean": f"mean_{unit}", "stdev": f"stdev_{unit}", "shape": "shape"}
    columns |= {"min": f"min_{unit}", "max": f"max_{unit}"}
    given = {part for part, column in columns.items() if f"{what}_{column}" in params}
    useless = sorted(given - _TAKES[kind])
    if useless:
        return Wrong(f"{what}.{useless[0]}", f"{what}.{useless[0]} has no effect where {what} is {kind}")
    optional = {"min", "max"} if kind != "uniform" else set()
    missing = sorted(_TAKES[kind] - given - optional - {"mean"})
    if missing:
        return Wrong(what, f"{what}: {kind} needs {what}.{missing[0]}")
    means = [*(given & {"mean"}), *(column for column in instead if column in params)]
    if kind == "uniform" and means:
        return Wrong(what, f"{what}: the mean of a uniform distribution follows from min and max; leave out {name}")
    if kind != "uniform" and len(means) != 1:
        return Wrong(f"{what}.mean", f"give one of {name} or {what}.mean" + (", not both" if means else ""))
    low, high = params.get(f"{what}_min_{unit}"), params.get(f"{what}_max_{unit}")
    if low is not None and high is not None and float(low) > float(high):
        return Wrong(f"{what}.min", f"{what}.min must be at most {what}.max")
    mean = mean_size_bytes(params) if distribution is SIZES else mean_gap_ns(params)
    if mean is not None and not float(low or 0) <= mean <= float(MAX_GAP_NS if high is None else high):
        return Wrong(f"{what}.mean", f"the mean of {what} must be from {what}.min to {what}.max")
    if kind == "pareto" and float(params[f"{what}_shape"]) <= 1:
        words = f"{what}.shape must be above 1: a Pareto distribution has no mean otherwise"
        return Wrong(f"{what}.shape", words)
    return None


def _check_on_off(params: Params) -> Wrong | None:
    given = [name for name in ("on_off", "on_ns", "off_ns", "on_off_shape") if name in params]
    if not given:
        return None
    if "on_ns" not in params or "off_ns" not in params:
        return Wrong(ON_OFF.name, "on-off needs both on-off.active and on-off.silent")
    if (ON_OFF.of(params) == "pareto") != ("on_off_shape" in params):
        return Wrong(ON_OFF.name, "on-off.shape is for pareto, which needs it")
    if "on_off_shape" in params and float(params["on_off_shape"]) <= 1:
        return Wrong("on-off.shape", "on-off.shape must be above 1: a Pareto distribution has no mean otherwise")
    return None
