"""The JSON Schema of experiment files, held against experiments that are right and that are wrong.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/unit/test_schema.py` writes docs/experiment.schema.json anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from json_schema import complaints

from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError
from sixbench.mechanisms.kind import Mechanism
from sixbench.plan.schema import experiment_schema
from sixbench.plan.shipped import find_experiment, shipped_names
from sixbench.plan.yaml_source import parse_yaml, read_yaml

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "docs/experiment.schema.json"
ERRORS = ROOT / "tests/golden/errors"

SCHEMA = experiment_schema(MECHANISMS)


def test_the_shipped_schema_is_this_one() -> None:
    text = json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("SIXBENCH_UPDATE_GOLDEN") == "1":
        SHIPPED.write_text(text)
    assert SHIPPED.read_text() == text


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_experiments_are_right(name: str) -> None:
    assert complaints(SCHEMA, read_yaml(find_experiment(name)).data) == []


def test_a_small_experiment_is_right(small: str) -> None:
    assert complaints(SCHEMA, parse_yaml(small, "x.yaml").data) == []


def path_with(**changes: Any) -> dict[str, Any]:
    return {"topology": {"nodes": {"h1": "host"}, "links": []}, "workloads": ["ping"]} | changes


TUNNEL = Mechanism(
    name="6in4", doc="IPv6 in IPv4.", family=6, layers=("ipv4", "ipv6"), carriers=frozenset({4}), node_count=(2, 2)
)


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("native4", True),
        ({"native4": None}, True),
        ({"native4": {}}, True),
        ({"native4": {"engine": "kernel"}}, True),
        ({"mechanism": "native4"}, True),
        ({"6in4": ["r1", "r2"]}, True),
        ({"6in4": {"nodes": ["r1", "r2"], "engine": "kernel", "ttl": 64}}, True),
        ({"mechanism": "6in4", "nodes": ["r1", "r2"], "ttl": 64}, True),
        ("6in4", False),
        ({"6in4": ["r1", "r2", "r3"]}, False),
        ({"6in4": ["r1", "r2"], "native4": None}, False),
        ({"native4": {"ttl": 64}}, False),
        ({"native4": ["r1"]}, False),
        ({"mechanism": "wireguard"}, False),
        ("wireguard", False),
    ],
)
def test_paths_are_those_of_the_mechanisms(path: Any, right: bool) -> None:
    schema = experiment_schema({**MECHANISMS, "6in4": TUNNEL})
    assert (complaints(schema, path_with(paths={"a": path})) == []) is right


MEANING = {
    "baseline-unknown",
    "between-missing",
    "between-router",
    "between-same",
    "between-unknown",
    "blocks-min-over-max",
    "blocks-precision-100",
    "blocks-precision-zero",
    "combinations-too-many",
    "factors-level-twice",
    "factors-level-unit",
    "factors-name-of-a-metric",
    "factors-one-for-two-quantities",
    "factors-same-column",
    "factors-two-quantities",
    "factors-undeclared",
    "factors-unknown",
    "factors-unused",
    "link-burst-small",
    "link-burst-without-rate",
    "link-burst-zero",
    "link-delay-huge",
    "link-factor-unknown",
    "link-ipv4-is-ipv6",
    "link-ipv4-multicast",
    "link-ipv4-network",
    "link-ipv4-other-prefix",
    "link-ipv4-overlap",
    "link-ipv4-prefix-zero",
    "link-ipv4-same",
    "link-ipv4-taken",
    "link-ipv6-is-ipv4",
    "link-ipv6-link-local",
    "link-ipv6-nonsense",
    "link-ipv6-taken",
    "link-loss-full",
    "link-mtu-small-for-ipv6",
    "link-mtu-twice",
    "link-name-taken",
    "link-node-unknown",
    "link-queue-huge-time",
    "link-queue-huge",
    "link-queue-without-rate",
    "link-queue-zero",
    "link-rate-digits",
    "link-rate-huge",
    "link-rate-zero",
    "link-to-itself",
    "link-two-lists",
    "links-empty",
    "paths-name-partial",
    "quick-nowhere",
    "quick-unknown-key",
    "quick-value",
    "statistics-confidence-full",
    "statistics-confidence-low",
    "statistics-margin-full",
    "sysctl-value-newline",
    "title-bell",
    "topology-disconnected",
    "topology-through-a-host",
    "trials-too-many",
    "workload-bytes-and-warmup",
    "workload-datagram-large-ipv6",
    "workload-datagram-large",
    "workload-datagram-missing",
    "workload-datagram-small",
    "workload-duration-and-count",
    "workload-duration-long",
    "workload-duration-zero",
    "workload-message-fraction",
    "workload-message-huge",
    "workload-message-twice",
    "workload-message-zero",
    "workload-mss-small",
    "workload-payload-small",
    "workload-rate-both",
    "workload-rate-mixed",
    "workload-rate-twice",
    "workload-response-large",
    "workload-series-long",
    "workload-twice-by-default",
    "workload-twice",
}
"""What is wrong with these is not their form."""


def test_the_schema_refuses_what_is_wrong_in_form() -> None:
    """Of all experiments that are wrong, only those that are wrong in meaning pass."""
    passed = set()
    for path in ERRORS.glob("*.yaml"):
        try:
            source = read_yaml(path)
        except ExperimentError:
            continue
        if not complaints(SCHEMA, source.data):
            passed.add(path.stem)
    assert passed == MEANING
