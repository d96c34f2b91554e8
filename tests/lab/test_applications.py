"""Applications over links of a known delay: the round trips that each takes, and what both ends agree on."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord

ROUND_TRIP_NS = 60 * 10**6
COUNT = 8
NETWORK = f"""
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, h2], emulator: user, delay: 30ms}}]
between: [h1, h2]
paths: {{ipv4: native4, ipv6: native6}}
blocks: 1
workloads:
  - tls: {{count: {COUNT}, in-flight: 2, session: [full, resumed]}}
  - tls: {{count: {COUNT}, in-flight: 2, session: resumed, early-data: true}}
  - quic-connect: {{count: {COUNT}, in-flight: 2, session: [full, resumed, 0-rtt]}}
  - quic-connect: {{count: {COUNT}, in-flight: 2, retry: true}}
  - dns: {{count: {COUNT}, in-flight: 2, over: [udp, tcp, tls, https, quic], connection: [new, kept]}}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    from sixbench.agent import find_agent

    with AgentHub(find_agent()) as hub:
        return run(hub, NETWORK, tmp_path_factory.mktemp("applications") / "run")


def of(finished: Finished, workload: str, path: str) -> list[TrialRecord]:
    """The trials of a workload on a path."""
    return [trial for trial in finished.trials if (trial.workload, trial.path) == (workload, path)]


def round_trips(trials: list[TrialRecord], what: str) -> int:
    """Number of whole round trips of the path in the shortest of these times. None can be shorter than the path is; on
    a busy machine some are longer than they should be, but not all."""
    return min(int(trial.histograms[what]["min"] // ROUND_TRIP_NS) for trial in trials)


def test_all_trials_are_proved(finished: Finished) -> None:
    assert wrong(finished.trials) == []
    assert len(finished.trials) == 2 * (3 + 4 + 10)


def test_nothing_is_less_than_theory(finished: Finished) -> None:
    less = [
        (trial.key, column, trial.metrics[column], least)
        for trial in finished.trials
        for column, least in trial.theory.items()
        if trial.metrics[column] < least
    ]
    assert less == []
    times = {trial.workload: trial.theory["transaction_p50_ns"] for trial in of(finished, "dns", "ipv6")}
    assert all(time_ns % ROUND_TRIP_NS == 0 for time_ns in times.values())


def test_each_link_with_counters_carried_what_theory_says(finished: Finished) -> None:
    for trial in finished.trials:
        links = trial.evidence.transactions or ()
        assert [link.link for link in links] == ["h1-r1", "r1-h2"]
        # Segmentation offload is on where there is no delay.
        assert [link.sent is None for link in links] == [True, False]
        assert trial.metrics["wire_sent_bytes"] == links[1].sent
        assert (links[1].sent or 0) >= links[1].least_sent
        assert (links[1].received or 0) >= links[1].least_received


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("session", ["full", "resumed"])
def test_tls_takes_one_round_trip_more_than_tcp(finished: Finished, family: str, session: str) -> None:
    trials = [trial for trial in of(finished, "tls", family) if trial.client["kinds"] == {session: COUNT}]
    assert len(trials) == 1
    assert [round_trips(trials, what) for what in ("connect", "handshake")] == [1, 1]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_early_data_are_answered_one_round_trip_after_the_connection(finished: Finished, family: str) -> None:
    trials = [trial for trial in of(finished, "tls", family) if trial.client["kinds"] == {"early-data": COUNT}]
    assert len(trials) == 1
    assert [round_trips(trials, what) for what in ("connect", "first_byte")] == [1, 2]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(
    ("session", "retry", "handshake", "first_byte"),
    [("full", False, 1, 2), ("full", True, 2, 3), ("resumed", False, 1, 2), ("0-rtt", False, 1, 1)],
)
def test_quic_takes_one_round_trip_and_its_first_byte_another(
    finished: Finished, family: str, session: str, retry: bool, handshake: int, first_byte: int
) -> None:
    trials = [
        trial
        for trial in of(finished, "quic-connect", family)
        if (trial.client["kinds"], trial.server["retries"] > 0) == ({session: COUNT}, retry)
    ]
    assert len(trials) == 1
    assert [round_trips(trials, what) for what in ("handshake", "first_byte")] == [handshake, first_byte]


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(("over", "session"), [("udp", 0), ("tcp", 1), ("tls", 2), ("https", 2), ("quic", 1)])
def test_dns_takes_the_round_trips_of_its_transport_and_one_more(
    finished: Finished, family: str, over: str, session: int
) -> None:
    trials = [trial for trial in of(finished, "dns", family) if trial.levels["over"] == over]
    by_connection = {trial.levels["connection"]: trial for trial in trials}
    assert by_connection.keys() == {"new", "kept"}
    assert round_trips([by_connection["new"]], "transaction") == session + 1
    assert round_trips([by_connection["kept"]], "transaction") == 1
    if session:
        assert round_trips([by_connection["new"]], "session") == session
    else:
        assert "session" not in by_connection["new"].histograms


FRAGMENTS = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
blocks: 1
workloads:
  - dns: {count: 3, answer: 4KiB, edns: [1232B, 4KiB]}
"""


def test_long_answers_are_truncated_or_fragments(hub: AgentHub, tmp_path: Path) -> None:
    trials = run(hub, FRAGMENTS, tmp_path / "run").trials
    assert wrong(trials) == []
    protocols = {(trial.path, trial.levels["edns_bytes"]): trial.client["protocols"] for trial in trials}
    by_edns = {1232: {"tcp": 3}, 4096: {"udp": 3}}
    assert protocols == {(path, edns): by_edns[edns] for path in ("ipv4", "ipv6") for edns in by_edns}


MTU = 1500
HEADER_BYTES = {"ipv6": 40 + 8, "tunnel": 20 + 40 + 8}
TUNNEL = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2], rate: 20Mbit, queue: 30kB}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {ipv6: native6, tunnel: {6in4: [r1, r2]}}
blocks: 1
workloads:
  - quic-stream: {duration: 2s, warmup: 50ms}
"""
"""A link with a short queue, so that each step of the search takes no longer than a few milliseconds."""


def test_quic_finds_the_largest_datagram_of_each_path(hub: AgentHub, tmp_path: Path) -> None:
    trials = run(hub, TUNNEL, tmp_path / "run").trials
    assert wrong(trials) == []
    sizes = {trial.path: trial.metrics["datagram_size_bytes"] for trial in trials}
    assert sizes == {path: MTU - header_bytes for path, header_bytes in HEADER_BYTES.items()}
    assert all(0 < trial.metrics["goodput_bps"] < 20e6 for trial in trials)
    assert [trial.theory["datagram_size_bytes"] for trial in trials] == [sizes[trial.path] for trial in trials]
    for trial in trials:
        settled_ns = trial.metrics.get("datagram_settled_ns")
        assert settled_ns is None or settled_ns >= trial.metrics["datagram_search_ns"]
        assert (trial.server["connections"], trial.server["ecn"]["not_ect"]) == (1, 0)
        assert trial.server["ecn"]["ect0"] >= trial.server["received_datagrams"]
