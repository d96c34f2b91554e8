"""`sixbench theory --experiment`: what a datagram becomes on each link of an experiment's paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..plan.changes import NO_CHANGES, ExperimentChanges
from ..plan.loading import load_experiment
from .common import print_json, say

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..model.path import Path
    from ..theory import Attempt, Policy, Prediction

_AT_MOST_LEVELS = 8


@dataclass(frozen=True, kw_only=True)
class FragmentsRequest:
    """Datagrams over the paths of an experiment.

    Attributes:
        experiment: its file, or the name of a shipped one.
        changes: to that file.
        paths: the names of its paths; empty: all.
        datagrams: sizes of the UDP payload, as text; empty: one of 1470 bytes.
        df: the sender's policy for DF.
    """

    experiment: str
    changes: ExperimentChanges = NO_CHANGES
    paths: tuple[str, ...] = ()
    datagrams: tuple[str, ...] = ()
    df: str = "clear"


def print_fragments(request: FragmentsRequest, *, as_json: bool) -> None:
    """Prints a prediction for each network, path and size of an experiment. Raises `UsageError`."""
    from ..model.errors import UsageError
    from ..model.units import format_size
    from ..theory import POLICIES, NotPredicted

    policy = next((policy for policy in POLICIES if policy == request.df), None)
    if policy is None:
        raise UsageError(f"--df {request.df}: there are {', '.join(POLICIES)}")
    loaded = load_experiment(request.experiment, request.changes)
    if loaded.servers:
        raise UsageError(f"{request.experiment} has servers, and the network to these is not known; give it a topology")
    tables = []
    for index in range(len(loaded.topologies)):
        for path in _named(loaded, request.paths):
            for size_bytes in _sizes(request.datagrams):
                try:
                    prediction = _predicted(loaded, index, path, size_bytes, policy)
                except (NotPredicted, ValueError) as error:
                    raise UsageError(f"theory: {path.name} with {format_size(size_bytes)}: {error}") from error
                tables.append((_levels(loaded, index), path, prediction))
    if as_json:
        data = [{"levels": levels, **_as_json(path, prediction)} for levels, path, prediction in tables]
        print_json({"schema": "sixbench.fragments/1", "experiment": loaded.name, "predictions": data})
        return
    for number, (levels, path, prediction) in enumerate(tables):
        if number:
            say("")
        _print(levels, path, prediction)


def _named(experiment: Experiment, names: Sequence[str]) -> list[Path]:
    from ..model.errors import UsageError

    known = [path.name for path in experiment.paths if path.aa_of is None]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"--path {unknown[0]}: {experiment.name} has the paths {', '.join(known)}")
    return [experiment.path(name) for name in names or known]


def _sizes(datagrams: Sequence[str]) -> list[int]:
    from ..model.errors import UsageError
    from ..model.units import parse_size

    try:
        return [parse_size(text) for text in datagrams or ["1470B"]]
    except ValueError as error:
        raise UsageError(f"--datagram: {error}") from error


def _predicted(experiment: Experiment, topology: int, path: Path, size_bytes: int, policy: Policy) -> Prediction:
    from ..mechanisms import install
    from ..theory import predict

    network = install(path, experiment.topologies[topology], experiment.between)
    return predict(network, size_bytes, policy, path.engine)


def _levels(experiment: Experiment, topology: int) -> dict[str, Any]:
    """The levels that all combinations on a network have in common; empty if there is only one network."""
    if len(experiment.topologies) == 1:
        return {}
    levels = [combination.levels for combination in experiment.combinations if combination.topology == topology]
    others = [combination.levels for combination in experiment.combinations if combination.topology != topology]
    common = {key: value for key, value in levels[0].items() if all(level.get(key) == value for level in levels)}
    return {key: value for key, value in common.items() if any(level.get(key) != value for level in others)}


def _as_json(path: Path, prediction: Prediction) -> dict[str, Any]:
    return {
        "path": path.name,
        "mechanism": path.mechanism,
        "datagram_bytes": prediction.datagram_bytes,
        "df": prediction.policy,
        "lost_first": prediction.lost_first,
        "goodput_limits_bps": prediction.goodput_limits_bps,
        "attempts": [_attempt_json(attempt) for attempt in prediction.attempts],
    }


def _attempt_json(attempt: Attempt) -> dict[str, Any]:
    return {
        "outcome": attempt.outcome,
        "reasons": list(attempt.reasons),
        "learned": [
            {"node": node, "to": destination, "mtu_bytes": mtu_bytes}
            for (node, destination), mtu_bytes in attempt.learned_mtus.items()
        ],
        "links": [
            {
                "link": load.crossing.link.name,
                "from": load.crossing.near,
                "to": load.crossing.far,
                "headers": list(load.crossing.headers),
                "mtu_bytes": load.crossing.link.mtu_bytes,
                "packets": load.count,
                "sizes_bytes": list(load.sizes_bytes),
                "total_bytes": load.total_bytes,
                "wire_bytes": load.wire_bytes,
            }
            for load in attempt.loads
        ],
        "nodes": [
            {
                "node": node,
                "family": family,
                "cut": work.cut,
                "created": work.created,
                "too_long": work.too_long,
                "collected": work.collected,
                "reassembled": work.reassembled,
            }
            for (node, family), work in attempt.work.items()
        ],
    }


def _print(levels: dict[str, Any], path: Path, prediction: Prediction) -> None:
    from ..model import names
    from ..model.units import format_size, scale

    shown = names.levels(levels, list(levels)[:_AT_MOST_LEVELS])
    at = f", {shown}" if shown else ""
    say(f"{path.name} ({path.mechanism}){at}: {format_size(prediction.datagram_bytes)}, DF {prediction.policy}")
    if len(prediction.attempts) > 1:
        _print_attempt("first datagram", prediction.first)
        lost = prediction.lost_first
        words = "datagram is" if lost == 1 else "datagrams are"
        say(f"  at least {lost} {words} lost until every path MTU is known that routers report")
        _print_attempt("every later one", prediction.settled)
    else:
        _print_attempt("every datagram", prediction.settled)
    limits = [limit for limit in prediction.goodput_limits_bps if limit is not None]
    if limits and prediction.settled.outcome == "delivered":
        value, unit = scale(min(limits), "bit/s")
        say(f"  at most {value:.3f} {unit} of payload")


def _print_attempt(what: str, attempt: Attempt) -> None:
    from .tables import print_table

    say(f"  {what}: {attempt.outcome}")
    for reason in attempt.reasons:
        say(f"    {reason}")
    for (node, destination), mtu_bytes in attempt.learned_mtus.items():
        say(f"    {node} learns that the path MTU to {destination} is {mtu_bytes}")
    if attempt.outcome == "refused":
        return
    rows = [
        [
            load.crossing.link.name,
            " in ".join(reversed(load.crossing.headers)),
            str(load.crossing.link.mtu_bytes),
            str(load.count),
            _sizes_words(load.sizes_bytes),
            f"{load.wire_bytes} B",
        ]
        for load in attempt.loads
    ]
    print_table(["link", "packets of", "MTU", "packets", "sizes", "on the wire"], rows, left=2, indent=4)
    work = [
        [node, f"IPv{family}", *map(str, (done.cut, done.created, done.too_long, done.collected, done.reassembled))]
        for (node, family), done in attempt.work.items()
    ]
    if work:
        heads = ["node", "family", "cut", "into", "too long", "collects", "reassembles"]
        print_table(heads, work, left=2, indent=4)


def _sizes_words(sizes_bytes: Sequence[int]) -> str:
    """`3 x 1496 + 61`."""
    runs = [(size, len(list(group))) for size, group in groupby(sizes_bytes)]
    return " + ".join(f"{count} x {size}" if count > 1 else str(size) for size, count in runs) or "-"
