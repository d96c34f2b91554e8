"""The JSON Schema of experiment files, held against experiments that are right and that are wrong.

`SIXBENCH_UPDATE_GOLDEN=1 pytest tests/unit/test_schema.py` writes docs/experiment.schema.json anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from bad_experiments import read_cases
from json_schema import complaints

from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import ExperimentError
from sixbench.plan.schema import experiment_schema
from sixbench.plan.shipped import find_experiment, shipped_names
from sixbench.plan.yaml_source import parse_yaml, read_yaml

pytestmark = pytest.mark.computes

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


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("native4", True),
        ({"native4": None}, True),
        ({"native4": {}}, True),
        ({"native4": {"engine": "kernel"}}, True),
        ({"mechanism": "native4"}, True),
        ("dual-stack", True),
        ({"dual-stack": {"prefer": "ipv4"}}, True),
        ({"6in4": ["r1", "r2"]}, True),
        ({"6in4": [1, 2]}, True),
        ({"6in4": {"nodes": ["r1", "r2"], "engine": "ebpf", "ttl": 64, "mtu": "1280B", "pmtu": "dynamic"}}, True),
        ({"mechanism": "6in4", "nodes": ["r1", "r2"], "ttl": 64}, True),
        ({"6to4": "r1"}, True),
        ({"6to4": {"nodes": "r1", "relay": "r2", "private": True}}, True),
        ({"mechanism": "6to4", "nodes": "r1", "relay": "r2"}, True),
        ({"6rd": {"nodes": ["r1", "r2"], "prefix": "2001:db8::/32", "ipv4-mask": 8, "br": "r2"}}, True),
        ({"gre": {"nodes": ["r1", "r2"], "inner": "ipv4", "outer": "ipv6", "key": 7}}, True),
        ({"6in4": {"nodes": ["r1", "r2"], "mtu": [1280, "1480B"], "ttl": "$ttl", "engine": ["kernel", "user"]}}, True),
        ({"mechanism": "6in4", "nodes": ["r1", "r2"], "mtu": [1280, 1480], "engine": "$engine"}, True),
        ({"6in4": {"nodes": ["r1", "r2"], "mtu": []}}, False),
        ({"6in4": {"nodes": ["r1", "r2"], "mtu": [[1280]]}}, False),
        ({"6in4": {"nodes": "$nodes"}}, False),
        ("6in4", False),
        ({"6in4": ["r1", "r2", "r3"]}, False),
        ({"6in4": ["r1", "r2"], "native4": None}, False),
        ({"6in4": {"nodes": ["r1", "r2"], "engine": "vpp"}}, False),
        ({"6in4": {"nodes": ["r1", "r2"], "key": 7}}, False),
        ({"6in4": {"nodes": ["r1", "r2"], "mtu": 1280}}, True),
        ({"6in4": {"nodes": ["r1", "r2"], "mtu": "large"}}, False),
        ({"6in4": {"nodes": ["r1", "r2"], "ttl": 256}}, False),
        ({"6rd": {"nodes": ["r1", "r2"], "prefix": "2001:db8::"}}, False),
        ({"vxlan": {"nodes": ["r1", "r2"], "engine": "ebpf"}}, False),
        ({"native4": {"ttl": 64}}, False),
        ({"native4": ["r1"]}, False),
        ({"mechanism": "wireguard"}, False),
        ("wireguard", False),
    ],
)
def test_paths_are_those_of_the_mechanisms(path: Any, right: bool) -> None:
    assert (complaints(SCHEMA, path_with(paths={"a": path})) == []) is right


def test_an_event_names_a_link_by_a_name_as_long_as_links_have() -> None:
    link = f"{'a' * 40}-{'b' * 40}"
    event = {"at": "1s", "link": link, "mtu": 1400}
    assert complaints(SCHEMA, path_with(paths={"a": "native4"}, events=[event])) == []
    assert complaints(SCHEMA, path_with(paths={"a": "native4"}, events=[event | {"link": link + "c"}])) != []


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_and_option_is_told_to_editors(name: str) -> None:
    actual_property = SCHEMA["$defs"]["path"]["anyOf"][1]["properties"][name]
    kind = MECHANISMS[name]
    assert actual_property["description"] == kind.doc
    options = actual_property["anyOf"][-1]["properties"]
    assert set(options) == {"nodes", "engine", *(option.name for option in kind.options)}
    assert all(option.doc in options[option.name]["description"] for option in kind.options)


MEANING = {
    "guest-small-memory",
    "guest-state-linux",
    "guest-unknown-kernel",
    "guest-without-mapping",
    "guest-word-of-nothing",
    "paths-464xlat-option-108-static",
    "paths-464xlat-option-108-without-ipv4",
    "paths-map-e-relay-in-the-rule",
    "paths-map-t-groups",
    "paths-map-t-loopback",
    "paths-map-t-reserved",
    "translator-dns64-out-of-reach",
    "translator-dns64-unknown",
    "translator-eam-host-without",
    "translator-eam-lengths",
    "translator-eam-no-address",
    "translator-eam-overlap",
    "translator-eam-twice-ipv4",
    "translator-eam-twice-ipv6",
    "translator-inside-overlap",
    "translator-map-e-psid-without-ports",
    "translator-nat64-client-without-ipv6",
    "translator-plat-before-clat",
    "translator-plat-not-on-the-way",
    "translator-plat-out-of-reach",
    "translator-pool-overlap",
    "translator-pool-too-small",
    "translator-prefix-length",
    "translator-prefix-length-clat",
    "translator-prefix-length-dmr",
    "translator-prefix-length-edge",
    "translator-prefix-length-nat64",
    "translator-prefix-octet-8",
    "translator-prefix-overlap",
    "translator-prefix-well-known",
    "translator-resolver-without-dns64",
    "workload-paths-twice",
    "workload-paths-unknown",
    "baseline-unknown",
    "between-missing",
    "between-router",
    "between-same",
    "between-unknown",
    "blocks-min-over-max",
    "blocks-precision-100",
    "blocks-precision-zero",
    "blocks-time-long",
    "blocks-time-zero",
    "blocks-until-few",
    "blocks-until-one-path",
    "combinations-too-many",
    "dut-program-without-start",
    "dut-program-without-ready",
    "dut-program-start-with-an-open-quote",
    "dut-program-start-of-two-lines",
    "dut-program-file-elsewhere",
    "dut-program-unmapped-client",
    "dut-program-unmapped-server",
    "dut-program-address-of-another-family",
    "dut-program-address-that-is-none",
    "dut-program-interface",
    "dut-program-word-without-meaning",
    "dut-program-hops-of-a-router",
    "dut-program-too-much-time",
    "dut-program-on-the-tester",
    "dut-program-prefix-of-a-link",
    "dut-port-twice",
    "dut-ports-and-kernels",
    "dut-and-paths",
    "dut-and-topology",
    "dut-node-is-the-tester",
    "dut-small-mtu",
    "event-jitter-over-delay",
    "event-loss-over-full",
    "event-over",
    "event-rate-without-rate",
    "event-unknown-link",
    "eyeballs-delay-small",
    "eyeballs-one-family",
    "factors-level-twice",
    "factors-level-unit",
    "factors-name-of-a-metric",
    "factors-one-for-two-quantities",
    "factors-same-column",
    "factors-two-quantities",
    "factors-undeclared",
    "factors-unknown",
    "factors-unused",
    "filter-on-host",
    "link-burst-small",
    "link-burst-without-rate",
    "link-burst-zero",
    "link-codel-target-alone",
    "link-codel-target-over-interval",
    "link-correlation-full",
    "link-delay-file-binary",
    "link-delay-file-garbage",
    "link-delay-file-missing",
    "link-delay-file-one",
    "link-delay-huge",
    "link-duplicated-packets-too-many",
    "link-factor-unknown",
    "link-in-order-and-reorder",
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
    "link-jitter-over-delay",
    "link-jitter-over-delay-one-way",
    "link-late-packets-unsorted",
    "link-loss-burst-impossible",
    "link-loss-full",
    "link-lost-packets-twice",
    "link-lost-packets-unsorted",
    "link-mtu-small-for-ipv6",
    "link-mtu-twice",
    "link-name-taken",
    "link-no-family",
    "link-node-unknown",
    "link-one-family-path",
    "link-profile-and-jitter-over-delay",
    "link-profile-misspelt",
    "link-profile-no-file",
    "link-profile-unknown",
    "link-queue-discipline-without-rate",
    "link-queue-huge",
    "link-queue-huge-time",
    "link-queue-no-packets",
    "link-queue-time-under-a-packet",
    "link-queue-under-a-packet",
    "link-queue-under-a-packet-one-way",
    "link-queue-without-rate",
    "link-queue-zero",
    "link-rate-digits",
    "link-rate-huge",
    "link-rate-zero",
    "link-to-itself",
    "link-two-lists",
    "links-empty",
    "margins-large",
    "paths-464xlat-bring-up-without-discovery",
    "paths-464xlat-clat-on-another-host",
    "paths-464xlat-discovery-nobody-to-ask",
    "paths-464xlat-discovery-resolver-itself",
    "paths-464xlat-discovery-resolver-of-ra",
    "paths-464xlat-discovery-resolver-out-of-reach",
    "paths-464xlat-resolver-nowhere",
    "paths-464xlat-discovery-resolver-unknown",
    "paths-464xlat-plat-on-a-host",
    "paths-6rd-br-alone",
    "paths-6rd-br-host",
    "paths-6rd-mask-not-shared",
    "paths-6rd-prefix-host-bits",
    "paths-6rd-prefix-long",
    "paths-6rd-prefix-multicast",
    "paths-6rd-prefix-overlap",
    "paths-6rd-prefix-too-long-for-any-mask",
    "paths-6to4-alone",
    "paths-aa",
    "paths-aftr-first",
    "paths-aftr-host",
    "paths-bih-at-a-router",
    "paths-bih-host-prefix-overlap",
    "paths-bih-pool-of-one",
    "paths-bih-pool-too-small",
    "paths-broker-host",
    "paths-carrier-masquerades",
    "paths-cuts-the-way",
    "paths-dstm-end-point-host",
    "paths-dstm-lease-not-whole",
    "paths-dstm-lease-short",
    "paths-dstm-pool-exhausted",
    "paths-dstm-pool-multicast",
    "paths-dstm-pool-overlap",
    "paths-dstm-pool-too-small",
    "paths-dstm-router",
    "paths-dstm-server-asks",
    "paths-dstm-server-nowhere",
    "paths-family-in-itself",
    "paths-isatap-on-routers",
    "paths-isatap-router-first",
    "paths-map-t-dmr-in-the-rule",
    "paths-map-t-ea-bits-beyond-64",
    "paths-map-t-ea-bits-too-few",
    "paths-map-t-host",
    "paths-map-t-more-ces-than-psids",
    "paths-map-t-psid-without-ports",
    "paths-map-t-rule-ipv4-overlap",
    "paths-map-t-rule-overlap",
    "paths-mtu-large-dynamic",
    "paths-mtu-of-a-level",
    "paths-mtu-of-the-link",
    "paths-mtu-small",
    "paths-name-partial",
    "paths-node-twice",
    "paths-node-unknown",
    "paths-node-unknown-in-lines",
    "paths-not-on-the-way",
    "paths-overlap",
    "paths-private",
    "paths-relay-host",
    "paths-several-addresses",
    "paths-trt-host",
    "paths-trt-icmp",
    "paths-trt-icmp-of-one-of-several",
    "paths-trt-prefix-length",
    "paths-trt-prefix-overlap",
    "paths-unreachable",
    "profile-of-our-name",
    "quick-nowhere",
    "quick-unknown-key",
    "quick-value",
    "shape-mtu-too-small",
    "statistics-confidence-full",
    "statistics-confidence-low",
    "statistics-margin-full",
    "statistics-pool-nothing",
    "sysctl-value-list",
    "sysctl-value-newline",
    "title-bell",
    "topology-disconnected",
    "topology-through-a-host",
    "trials-too-many",
    "workload-bytes-and-warmup",
    "workload-datagram-large",
    "workload-datagram-large-ipv6",
    "workload-datagram-missing",
    "workload-datagram-small",
    "workload-df-atomic-ipv4",
    "workload-df-atomic-segmentation",
    "workload-duration-and-count",
    "workload-duration-long",
    "workload-duration-zero",
    "servers-workload-of-server",
    "servers-dns-of-address",
    "servers-fast-ping",
    "servers-lab-parameter",
    "servers-lab-workload",
    "servers-long-trials",
    "servers-native",
    "servers-none-takes",
    "servers-range",
    "servers-resolver",
    "servers-same-path",
    "servers-twice",
    "servers-two-workloads",
    "servers-url",
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
    "workload-twice",
    "workload-twice-by-default",
}
"""Cases whose error is not in their form."""


def test_the_schema_refuses_what_is_wrong_in_form(tmp_path: Path) -> None:
    """Only those of the wrong experiments pass whose error is in their meaning."""
    passed = set()
    for case in (case for table in ERRORS.glob("*.txt") for case in read_cases(table)):
        path = tmp_path / case.file_name
        path.write_bytes(case.content)
        try:
            source = read_yaml(path)
        except ExperimentError:
            continue
        if not complaints(SCHEMA, source.data):
            passed.add(case.name)
    assert passed == MEANING
