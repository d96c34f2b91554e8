"""Time that a trial waits for what may still be under way."""

from __future__ import annotations

import pytest

from sixbench.bench.under_way import BUSY_NS, MAX_RESIDUAL_NS, first_silence_ns, residual_ns
from sixbench.mechanisms import install
from sixbench.model.path import Path
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

MS = 1_000_000


def wait_ns(links: str) -> int:
    topology = read_topology_only(parse_yaml(f"topology: {{chain: 3, {links}}}", "test.yaml"))
    return first_silence_ns(install(Path(name="ipv4", mechanism="native4", family=4), topology, ("h1", "h2")))


def test_a_first_datagram_is_waited_for_as_long_as_its_links_may_take() -> None:
    assert wait_ns("mtu: 1500") == BUSY_NS
    assert wait_ns("delay: 700ms, jitter: 50ms") == BUSY_NS + 2 * 750 * MS
    # 65535 bytes at 1 Mbit/s are 524.28 ms.
    assert wait_ns("rate: 1Mbit") == BUSY_NS + 2 * 524_280_000


def test_a_trial_waits_for_what_the_one_before_it_left_under_way() -> None:
    def left_ns(links: str) -> int:
        return residual_ns(read_topology_only(parse_yaml(f"topology: {{chain: 3, {links}}}", "test.yaml")))

    assert left_ns("mtu: 1500") == 0
    assert left_ns("rate: 100Mbit") == 2 * 50 * MS
    assert left_ns("rate: 100Mbit, queue: 10ms, delay: 5ms") == 2 * 15 * MS
    assert left_ns("rate: 100kbit") == MAX_RESIDUAL_NS
