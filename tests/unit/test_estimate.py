"""The length of a run, as it is known beforehand, where transactions of applications make it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.bench.estimate import trial_time_ns
from sixbench.model.experiment import Experiment

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

MS = 10**6
NETWORK = """
topology:
  nodes: {h1: host, h2: host}
  links: [{endpoints: [h1, h2], rate: 50Mbit, delay: 10ms}]
paths: {ipv4: native4}
workloads: [WORKLOAD]
"""


def least_ms(read: Read, workload: str) -> float:
    experiment = read(NETWORK.replace("WORKLOAD", workload))
    [combination] = experiment.combinations
    time_ns, is_known = trial_time_ns(experiment, combination, "ipv4")
    assert not is_known
    return time_ns / MS


@pytest.mark.parametrize(
    ("workload", "time_ms"),
    [
        ("tcp-connect: {count: 10}", 10 * 20),
        ("dns: {over: udp, count: 10}", 10 * 20),
        ("dns: {over: tls, count: 10}", 10 * 60),
        ("dns: {over: tls, count: 10, in-flight: 5}", 2 * 60),
        ("quic-connect: {count: 10}", 10 * 40),
        ("http: {objects: 60, object: 1B, count: 2}", 2 * (2 + 10) * 20),
    ],
)
def test_transactions_take_their_round_trips(read: Read, workload: str, time_ms: float) -> None:
    assert least_ms(read, f"{{{workload}}}") == time_ms


@pytest.mark.parametrize("version", ["1.1", "2", "3"])
def test_a_large_page_takes_the_time_of_its_bytes_on_the_link(read: Read, version: str) -> None:
    # 2 MB are 320 ms at 50 Mbit/s, and no page in flight takes the link from another one.
    for in_flight in (1, 2):
        page = f"{{http: {{version: {version}, objects: 60, object: 33334B, count: 2, in-flight: {in_flight}}}}}"
        assert 2 * 320 < least_ms(read, page) < 2 * 320 * 1.05
