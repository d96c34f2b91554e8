"""Applications over links of a known delay: the round trips that each takes, and what both ends agree on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab.experiments import Finished, run, wrong

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord
from sixbench.store import QLOG, TLS_KEYS

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
  - http: {{count: {COUNT}, in-flight: 2, object: 4KiB, version: [1.1, 2, 3], connection: [new, kept]}}
  - http: {{count: {COUNT}, in-flight: 2, object: 4KiB, version: [1.1, 2], tls: none}}
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
    assert len(finished.trials) == 2 * (3 + 4 + 8 + 10)


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
        links = list(trial.evidence.transactions or ())
        assert [link.link for link in links] == ["h1-r1", "r1-h2"]
        # Segmentation offload is on where there is no delay.
        assert [link.sent is None for link in links] == [True, False]
        assert trial.metrics["wire_sent_bytes"] == links[1].sent
        assert (links[1].sent or 0) >= links[1].least_sent
        assert (links[1].received or 0) >= links[1].least_received


def test_http_keeps_the_times_of_a_page_and_counts_the_marks_of_quic(finished: Finished) -> None:
    for trial in (trial for trial in finished.trials if trial.workload == "http"):
        assert {len(times) for times in trial.client["last_page"].values()} == {1}
        assert trial.client["last_page"]["ended_ns"][0] >= ROUND_TRIP_NS
        for result in (trial.client, trial.server):
            marks = result.get("ecn")
            assert (marks is not None) == (trial.levels["version"] == "3")
            assert marks is None or marks["ect0"] > 0


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
@pytest.mark.parametrize(
    ("version", "tls", "opening"),
    [("1.1", "1.3", 2), ("2", "1.3", 2), ("3", "1.3", 1), ("1.1", "none", 1), ("2", "none", 1)],
)
def test_http_takes_the_round_trips_of_its_connection_and_one_more(
    finished: Finished, family: str, version: str, tls: str, opening: int
) -> None:
    by_connection = {
        trial.params.get("connection", "new"): trial
        for trial in of(finished, "http", family)
        if (trial.levels["version"], trial.params.get("tls", "1.3")) == (version, tls)
    }
    new = by_connection.pop("new")
    assert [round_trips([new], what) for what in ("first_byte", "page", "object")] == [opening + 1, opening + 1, 1]
    assert {what: round_trips([new], what) for what in ("connect", "handshake") if what in new.histograms} == {
        **({} if version == "3" else {"connect": 1}),
        **({} if tls == "none" else {"handshake": 1}),
    }
    for kept in by_connection.values():
        assert [round_trips([kept], what) for what in ("first_byte", "page")] == [1, 1]
        assert kept.client["connections"] == 0


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


PAGE = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2], emulator: user, delay: 30ms}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
blocks: 1
workloads:
  - http: {count: 2, page: page.har, version: [1.1, 2, 3]}
"""
RECORDED = [("https://a.example/", 0), ("https://a.example/a.js", 20), ("https://b.example/data", 40)]
"""A document, its script, and what the script gets of another host: URLs, and milliseconds to their begins."""


def test_a_recorded_page_takes_the_round_trips_of_its_dependencies(
    hub: AgentHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [
        {
            "startedDateTime": f"2026-01-31T12:00:00.{begin_ms:03}Z",
            "time": 15,
            "request": {"url": url},
            "response": {"status": 200, "bodySize": 1000},
        }
        for url, begin_ms in RECORDED
    ]
    (tmp_path / "page.har").write_text(json.dumps({"log": {"entries": entries}}))
    monkeypatch.chdir(tmp_path)
    trials = run(hub, PAGE, tmp_path / "run").trials
    assert wrong(trials) == []
    # A connection to each host, and an answer each for three objects.
    expected = {"1.1": 2 * 2 + 3, "2": 2 * 2 + 3, "3": 2 * 1 + 3}
    actual = {(trial.path, trial.levels["version"]): round_trips([trial], "page") for trial in trials}
    assert actual == {(family, version): expected[version] for family in ("ipv4", "ipv6") for version in expected}
    in_theory = {trial.levels["version"]: trial.theory["page_p50_ns"] for trial in trials}
    assert in_theory == {version: count * ROUND_TRIP_NS for version, count in expected.items()}
    assert all(trial.metrics[column] >= least for trial in trials for column, least in trial.theory.items())
    assert {trial.metrics["page_connections_count"] for trial in trials} == {2}


SLOW = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1], rate: 100Mbit}
    - {endpoints: [r2, r1], rate: 10Mbit, delay: 5ms, reverse: {rate: 2Mbit}}
    - {endpoints: [r2, h2], rate: 100Mbit}
between: [h1, h2]
paths: {ipv4: native4, 464xlat: {464xlat: [r1, r2]}}
blocks: 1
workloads:
  - http: {count: 3, objects: 20, object: 10kB, version: [1.1, 2, 3], connection: [new, kept]}
"""


def test_no_page_is_faster_than_its_bytes_cross_the_slowest_link(hub: AgentHub, tmp_path: Path) -> None:
    trials = run(hub, SLOW, tmp_path / "run").trials
    assert wrong(trials) == []
    assert len(trials) == 2 * 3 * 2
    # 200 kB at 10 Mbit/s less a bucket of 3100 bytes, and a round trip.
    assert min(trial.theory["page_p50_ns"] for trial in trials) > (200_000 - 3100) * 800 + 10 * 10**6
    less = [
        (trial.key, column, trial.metrics[column], least)
        for trial in trials
        for column, least in trial.theory.items()
        if trial.metrics[column] < least
    ]
    assert less == []


def decrypted(finished: Finished, trial: TrialRecord, shown: str, field: str) -> list[str]:
    """A field of the packets that are shown of a trial's last link, decrypted with the keys beside them by tshark."""
    captures = finished.captures(trial)
    packets = captures[list(captures)[-1]]
    keys = packets.parent / TLS_KEYS
    options = ["-d", "tcp.port==1-65535,tls", "-o", f"tls.keylog_file:{keys}", "-Y", shown]
    command = ["tshark", "-r", str(packets), *options, "-T", "fields", "-e", field]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_wireshark_reads_answers_by_dns_over_tls_with_the_keys_of_the_trial(finished: Finished, family: str) -> None:
    [trial] = [
        trial
        for trial in of(finished, "dns", family)
        if (trial.levels["over"], trial.levels["connection"]) == ("tls", "new")
    ]
    names = decrypted(finished, trial, "tls && dns.flags.response == 1", "dns.qry.name")
    assert len(set(names)) >= COUNT
    assert all(name.endswith(".sixbench.test") for name in names)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("session", ["full", "resumed", "0-rtt"])
def test_wireshark_reads_the_streams_of_quic_with_the_keys_of_the_trial(
    finished: Finished, family: str, session: str
) -> None:
    trials = [trial for trial in of(finished, "quic-connect", family) if trial.client["kinds"] == {session: COUNT}]
    assert trials
    for trial in trials:
        data = ",".join(decrypted(finished, trial, "quic.stream_data", "quic.stream_data")).split(",")
        assert {b"?".hex(), b"!".hex()} <= set(data)


def test_the_log_of_quic_is_kept_beside_the_packets_as_a_sequence_of_json(finished: Finished) -> None:
    for trial in finished.trials:
        folder = finished.directory / "trials" / trial.key
        has_quic = trial.workload == "quic-connect" or "quic" in trial.levels.values() or "3" in trial.levels.values()
        assert (folder / QLOG).exists() == has_quic
        if has_quic:
            header, *events = [json.loads(text) for text in (folder / QLOG).read_text().split("\x1e") if text.strip()]
            assert header["qlog_format"] == "JSON-SEQ"
            assert {"transport:packet_sent", "transport:packet_received"} <= {event["name"] for event in events}


def test_keys_are_kept_of_those_trials_that_have_tls_and_of_no_others(finished: Finished) -> None:
    for trial in finished.trials:
        keys = finished.directory / "trials" / trial.key / TLS_KEYS
        has_tls = trial.levels.get("over") not in ("udp", "tcp") and trial.levels.get("tls") != "none"
        assert keys.exists() == has_tls
        if has_tls:
            sessions = 1 if trial.levels.get("connection") == "kept" else COUNT
            assert keys.read_text().count("CLIENT_TRAFFIC_SECRET_0 ") >= sessions


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


LOSSY = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1], emulator: user, IMPAIRED}, {endpoints: [r1, r2], mtu: MTU}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
blocks: 1
workloads:
  - http: {count: 1, version: 3, object: 100kB}
  - quic-connect: {count: 1, timeout: 5s}
  - dns: {count: 1, timeout: 5s, over: [udp, quic]}
"""


@pytest.fixture
def through(hub: AgentHub, tmp_path: Path) -> Callable[[str, int], list[TrialRecord]]:
    """Trials of workloads with datagrams, by what the client's link does to them and the MTU of the one behind it."""

    def trials(impaired: str, mtu: int) -> list[TrialRecord]:
        text = LOSSY.replace("IMPAIRED", impaired).replace("MTU", str(mtu))
        results = run(hub, text, tmp_path / "run").trials
        assert wrong(results) == []
        assert len(results) == 2 * (1 + 1 + 2)
        return results

    return trials


def test_datagrams_that_were_lost_are_no_payload_that_arrived(
    through: Callable[[str, int], list[TrialRecord]],
) -> None:
    """The first one is, and those of HTTP/3 that look for a larger size than 1280 bytes."""
    for trial in through("forward: {lost-packets: 0}", 1280):
        assert trial.client["sent_bytes"] > trial.server["received_bytes"] > 0


def test_copies_of_datagrams_are_no_payload_that_arrived(through: Callable[[str, int], list[TrialRecord]]) -> None:
    for trial in through("reverse: {duplicated-packets: 0-9}", 1500):
        assert trial.client["received_bytes"] >= trial.server["sent_bytes"] > 0


DATAGRAM_BYTES = {
    "ipv4": 1500 - 20 - 8,
    "ipv6": 1500 - 40 - 8,
    "6in4": 1500 - 20 - 40 - 8,
    "gre": 1500 - 20 - 4 - 40 - 8,
    "narrow": 1280 - 40 - 8,
    "ds-lite": 1500 - 40 - 20 - 8,
    "464xlat": 1500 - 40 - 8,
    "nat64": 1500 - 40 - 8,
}
"""The largest payload of UDP that each path carries whole."""
LESS_THAN_LINKS = frozenset({"6in4", "gre", "narrow", "ds-lite", "464xlat"})
"""Paths whose first router cannot forward what the host's own link carries, and sends Packet Too Big."""
TUNNELS = """
factors: {errors: [all, no-too-big]}
topology:
  nodes: {h1: host, r1: {kind: router, icmp: $errors}, r2: {kind: router, icmp: $errors}, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2], rate: 20Mbit, queue: 30kB}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  ipv4: native4
  ipv6: native6
  6in4: {6in4: [r1, r2]}
  gre: {gre: [r1, r2]}
  narrow: {6in4: {nodes: [r1, r2], mtu: 1280B}}
  ds-lite: {ds-lite: [r1, r2]}
  464xlat: {464xlat: [r1, r2]}
  nat64: {nat64: [r2]}
baseline: ipv4
blocks: 1
workloads:
  - quic-stream: {duration: 2s, warmup: 50ms}
"""
"""A link with a short queue, so that each step of the search takes no longer than a few milliseconds."""
SEARCHED_WITHIN = 20
"""Bytes. A probe that the full queue drops three times counts as too large. At one of the last steps that ends a search
so much before the largest size at most."""


def too_bigs(packets: Path) -> int:
    """Number of Packet Too Big and Fragmentation Needed among these packets."""
    shown = "icmpv6.type == 2 || (icmp.type == 3 && icmp.code == 4)"
    command = ["tshark", "-r", str(packets), "-Y", shown, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def test_quic_finds_the_largest_datagram_of_each_path_with_and_without_packet_too_big(
    hub: AgentHub, tmp_path: Path
) -> None:
    finished = run(hub, TUNNELS, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert len(finished.trials) == 2 * len(DATAGRAM_BYTES)
    for trial in finished.trials:
        largest_bytes = DATAGRAM_BYTES[trial.path]
        assert trial.theory["datagram_size_bytes"] == largest_bytes
        assert largest_bytes - SEARCHED_WITHIN < trial.metrics["datagram_size_bytes"] <= largest_bytes
        assert 0 < trial.metrics["goodput_bps"] < 20e6
        settled_ns = trial.metrics.get("datagram_settled_ns")
        assert settled_ns is None or settled_ns >= trial.metrics["datagram_search_ns"]
        assert (trial.server["connections"], trial.server["ecn"]["not_ect"]) == (1, 0)
        assert trial.server["ecn"]["ect0"] >= trial.server["received_datagrams"]
        # The first router tells the host, unless it drops these errors.
        is_told = trial.path in LESS_THAN_LINKS and trial.levels["errors"] == "all"
        assert (too_bigs(finished.captures(trial)["h1-r1"]) > 0) == is_told
