"""Properties of every plan: units, files, orders."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from math import ceil
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from json_schema import complaints

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model import units
from sixbench.model.errors import ExperimentError, UsageError
from sixbench.model.experiment import Experiment
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment, read_topology_only
from sixbench.plan.experiment_keys import EXPERIMENT
from sixbench.plan.link_keys import LINK
from sixbench.plan.overrides import apply_quick, apply_set
from sixbench.plan.schedule import all_trials, block_order
from sixbench.plan.schema import experiment_schema
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

whole = st.integers(min_value=0, max_value=10**18)


@given(whole)
def test_what_is_written_is_what_is_read(number: int) -> None:
    assert units.parse_size(units.format_size(number)) == number
    assert units.parse_rate(units.format_rate(number)) == number
    assert units.parse_packet_rate(units.format_packet_rate(number)) == number
    assert units.parse_duration(units.format_duration(number)) == number


@given(st.data())
def test_every_parameter_is_read_as_it_is_written(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(list(WORKLOADS.values())))
    parameter = data.draw(st.sampled_from([p for p in kind.parameters if p.minimum is not None]))
    assert parameter.minimum is not None
    assert parameter.maximum is not None
    value = data.draw(st.integers(ceil(parameter.minimum), int(parameter.maximum)))
    written = parameter.format(value)
    assert parameter.parse(int(written) if parameter.kind in ("count", "number") else written) == value


QUANTITIES: list[Callable[[object], float]] = [
    units.parse_size,
    units.parse_rate,
    units.parse_packet_rate,
    units.parse_duration,
    units.parse_ratio,
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        ["1s", "64B", "100Mbit", "2%", "10pps", "$x", "h1", "r1", "native4", "tcp-rr", "0", "-1", "1e400", "host"]
    ),
)


@given(st.sampled_from(QUANTITIES), scalars | st.lists(scalars) | st.dictionaries(st.text(), scalars))
def test_a_quantity_is_a_number_or_a_reason(parse: Callable[[object], float], value: object) -> None:
    try:
        assert parse(value) >= 0
    except ValueError as reason:
        if not str(reason).isprintable():
            raise AssertionError(f"refused with {reason!r}") from reason


SYNTAX = (
    ": ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "  ",
    "\t",
    "#",
    "'",
    '"',
    "&a ",
    "*a",
    "!!",
    "| ",
    "? ",
    "---",
    "\r\n",
    "\x00",
)
WORDS = (
    *EXPERIMENT.names,
    *LINK.names,
    *WORKLOADS,
    "nodes",
    "links",
    "host",
    "router",
    "h1",
    "r1",
    "null",
    "true",
    "1",
    "1s",
    "%",
)
yaml_words = st.sampled_from([*SYNTAX, *WORDS])


SCHEMA = experiment_schema(MECHANISMS)


def refused_properly(refusal: ExperimentError | UsageError) -> bool:
    """True if every line says where, and can be printed."""
    lines = str(refusal).splitlines()
    return all(": " in line and line.isprintable() for line in lines) and len(lines) <= 101


def outcome(text: str) -> Experiment | None:
    """The experiment, or None where it is refused properly."""
    try:
        source = parse_yaml(text, "x.yaml")
        experiment = read_experiment(source, MECHANISMS)
        assert complaints(SCHEMA, source.data) == [], "what is accepted is right by the JSON Schema too"
        return experiment
    except ExperimentError as refusal:
        if not refused_properly(refusal) or not str(refusal).startswith("x.yaml"):
            raise AssertionError(f"refused with {refusal!r}") from refusal
        return None


@given(st.one_of(st.text(), st.lists(yaml_words | st.text(max_size=3), max_size=60).map("".join)))
@example("a: &a [*a, *a]")
@example("? {}\n: 1")
@example("\ud800")
@example("- " * 50)
def test_any_text_is_an_experiment_or_refused(text: str) -> None:
    outcome(text)


GOOD: dict[str, Any] = {
    "experiment": "good",
    "title": "A title",
    "notes": ["one"],
    "factors": {"x": ["1ms", "2ms"], "size": ["64B", "1KiB"]},
    "topology": {
        "nodes": {"h1": {"kind": "host", "sysctl": {"net.ipv4.tcp_sack": 1}}, "r1": "router", "h2": "host"},
        "links": [
            {"endpoints": ["h1", "r1"], "rate": ["1Mbit", "10Mbit"], "delay": "$x", "queue": "50ms", "burst": "9kB"},
            {
                "endpoints": ["r1", "h2"],
                "name": "exit",
                "mtu": 1400,
                "ipv4": ["10.0.0.1/24", "10.0.0.2/24"],
                "loss": "1%",
            },
        ],
    },
    "between": ["h1", "h2"],
    "paths": {"four": "native4", "six": {"native6": None}, "again": {"mechanism": "native4"}},
    "baseline": "four",
    "aa": True,
    "workloads": [
        "ping",
        {"tcp-rr": {"message": "$size", "duration": "1s"}},
        {"udp-stream": {"datagram": "99B", "count": 9}},
    ],
    "blocks": {"min": 2, "max": 3, "precision": "5%"},
    "statistics": {"confidence": "90%", "margin": "1%", "trim": 0},
    "seed": 3,
    "bottleneck": "any",
    "quick": {"blocks": 1, "workloads.tcp-rr.duration": "10ms"},
    "quick-virtual": {"blocks": 1},
}


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value."""
    below = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in below for place in places(value, (*path, key)))]


PLACES = places(GOOD)

nested = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*EXPERIMENT.names, *LINK.names, "nodes", "h1", "tcp-rr", "min"]) | st.text(max_size=4),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the data with the value at the path."""
    if not path:
        return value
    copied = list(data) if isinstance(data, list) else dict(data)
    copied[path[0]] = put(data[path[0]], path[1:], value)
    return copied


def test_what_the_others_start_from_is_right() -> None:
    experiment = outcome(json.dumps(GOOD))
    assert experiment is not None
    assert len(experiment.combinations) == 4 * (1 + 2 + 1)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(PLACES), nested), min_size=1, max_size=2))
def test_anything_anywhere_in_an_experiment_is_right_or_refused(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data: Any = GOOD
    for path, value in changes:
        if path in places(data):
            data = put(data, path, value)
    text = yaml.safe_dump(data, allow_unicode=True)
    outcome(text)
    for change in (
        apply_quick,
        lambda source: apply_set(source, ["topology.links.exit.mtu=1300", "workloads.*.count=1"]),
    ):
        try:
            read_experiment(change(parse_yaml(text, "x.yaml")), MECHANISMS)
        except (ExperimentError, UsageError) as refusal:
            if not refused_properly(refusal):
                raise AssertionError(f"refused with {refusal!r}") from refusal


NODES = st.sampled_from(["h1", "r1", "r2", "h2", "h3", "r9", 1, None])
VALUES = st.one_of(
    NODES,
    scalars,
    st.lists(NODES, max_size=5),
    st.sampled_from(
        ["1280B", "1480B", 64, 0, "static", "dynamic", "ipv4", "ipv6", "2001:db8::/32", "2a00::/24", "ebpf"]
    ),
)
OPTIONS = sorted({option.name for kind in MECHANISMS.values() for option in kind.options} | {"nodes", "engine"})
ARGUMENTS = st.one_of(
    VALUES,
    st.lists(st.sampled_from(["h1", "r1", "r2", "h2", "h3"]), min_size=1, max_size=4, unique=True),
    st.dictionaries(st.sampled_from([*OPTIONS, "mechanism", "x"]), VALUES, max_size=4).flatmap(
        lambda options: st.sampled_from([["r1", "r2"], ["h1", "r2"], ["h1", "h2"], "r1"]).map(
            lambda nodes: {"nodes": nodes} | options
        )
    ),
)
NAMES = st.sampled_from([*MECHANISMS, "mechanism", "6in5", "nodes", ""])
PATHS_NETWORK = {
    "topology": {
        "nodes": {"h1": "host", "r1": "router", "r2": "router", "h2": "host", "h3": "host"},
        "links": [
            {"endpoints": ["h1", "r1"]},
            {"endpoints": ["r1", "r2"], "mtu": [1500, 1400]},
            {"endpoints": ["r2", "h2"]},
            {"endpoints": ["r2", "h3"], "ipv4": ["10.0.0.1/24", "10.0.0.2/24"]},
        ],
    },
    "between": ["h1", "h2"],
    "workloads": ["ping"],
}


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "ipv4"]) | st.text(max_size=3),
        st.one_of(
            NAMES,
            st.dictionaries(NAMES, ARGUMENTS, max_size=2),
            st.tuples(NAMES, ARGUMENTS).map(
                lambda both: {"mechanism": both[0]} | (both[1] if isinstance(both[1], dict) else {"nodes": both[1]})
            ),
            nested,
        ),
        max_size=3,
    )
    | nested
)
def test_any_paths_are_installed_or_refused(paths: Any) -> None:
    experiment = outcome(yaml.safe_dump(PATHS_NETWORK | {"paths": paths}, allow_unicode=True, sort_keys=False))
    for path in experiment.paths if experiment is not None else ():
        for topology in experiment.topologies if experiment is not None else ():
            network = install(path, topology, ("h1", "h2"))
            assert network.crossings
            assert network.family == path.family


ODD = (None, [], {}, [[]], {"a": {}}, [None], -1, 1.5, 10**25, "", "\x07", "é x", True, False, "$nothing", "9" * 5000)
WORDS_OF_ANY_KIND = ("é x", "$nothing", "9" * 5000)
NODE = ("topology", "nodes", "h1")
ACCEPTED: dict[tuple[Any, ...], tuple[Any, ...]] = {
    ("experiment",): (10**25,),
    ("title",): WORDS_OF_ANY_KIND,
    ("notes",): ([],),
    ("notes", 0): WORDS_OF_ANY_KIND,
    (*NODE, "sysctl"): ({},),
    (*NODE, "sysctl", "net.ipv4.tcp_sack"): (-1, 1.5, 10**25, "é x", True, False, "9" * 5000),
    ("topology", "links", 1, "name"): (10**25,),
    ("paths", "six", "native6"): (None, [], {}),
    ("aa",): (True, False),
    ("blocks",): ({},),
    ("statistics",): ({},),
    ("quick",): ({},),
    ("quick-virtual",): ({},),
    ("quick", "blocks"): ({},),
    ("quick-virtual", "blocks"): ({},),
}
"""Odd values that mean something at these places."""


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)) or "top")
def test_only_what_means_something_is_accepted(path: tuple[Any, ...]) -> None:
    accepted = [odd for odd in ODD if outcome(json.dumps(put(GOOD, path, odd))) is not None]
    assert repr(accepted) == repr(list(ACCEPTED.get(path, ())))


@given(
    st.text() | st.sampled_from(["[", "{a: [", "*", "!", "&a"]),
    st.sampled_from([".", "=", "", "..", "*.*", "a.b", "0", "topology.links.*"]),
)
def test_any_assignment_is_carried_out_or_refused(value: str, path: str) -> None:
    source = parse_yaml(json.dumps(GOOD), "x.yaml")
    try:
        read_experiment(apply_set(source, [f"{path}={value}"]), MECHANISMS)
    except (ExperimentError, UsageError) as refusal:
        if not refused_properly(refusal):
            raise AssertionError(f"refused with {refusal!r}") from refusal


@given(nested)
def test_any_structure_is_a_network_or_refused(data: Any) -> None:
    for text in (yaml.safe_dump(data), yaml.safe_dump({"topology": data})):
        with contextlib.suppress(ExperimentError):
            read_topology_only(parse_yaml(text, "x.yaml"))


def experiment(paths: int, messages: int, blocks: int, seed: int) -> Experiment:
    data = {
        "topology": {"nodes": {"h1": "host", "h2": "host"}, "links": [{"endpoints": ["h1", "h2"]}]},
        "paths": {f"p{index}": "native4" for index in range(paths)},
        "workloads": [{"tcp-rr": {"message": [f"{size}B" for size in range(1, messages + 1)]}}, "ping"],
        "blocks": blocks,
        "seed": seed,
    }
    return read_experiment(parse_yaml(json.dumps(data), "x.yaml"), MECHANISMS)


plans = st.builds(experiment, st.integers(1, 5), st.integers(1, 8), st.integers(1, 8), st.integers(0, 2**63 - 1))


@given(plans)
def test_every_block_is_a_permutation(plan: Experiment) -> None:
    wanted = sorted((c.name, path.name) for c in plan.combinations for path in plan.paths)
    keys = set()
    for block in range(1, plan.blocks.maximum + 1):
        trials = block_order(plan, block)
        assert sorted((trial.combination, trial.path) for trial in trials) == wanted
        assert {trial.block for trial in trials} == {block}
        keys |= {trial.key for trial in trials}
    assert len(keys) == len(wanted) * plan.blocks.maximum


@given(plans, st.data())
def test_a_resumed_run_goes_on_in_the_same_order(plan: Experiment, data: st.DataObject) -> None:
    """Whatever was done before: what is left comes in the order in which it would have come."""
    whole_run = [trial.key for trial in all_trials(plan)]
    assert whole_run == [trial.key for trial in all_trials(plan)]
    done = set(whole_run[: data.draw(st.integers(0, len(whole_run)))])
    assert [key for key in whole_run if key not in done] == [
        trial.key
        for block in range(1, plan.blocks.maximum + 1)
        for trial in block_order(plan, block)
        if trial.key not in done
    ]
