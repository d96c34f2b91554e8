"""`make bench-peers`: what tools print, who runs when, packets' times, verdicts and tables."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from peer_bench import capture, counters, tables
from peer_bench.comparisons import COMPARISONS, OURS, OURS_BUSY, OURS_FRAMES, OURS_FRAMES_XDP, Observed, Target
from peer_bench.contender import FAMILIES, Command, Ends, Trial, Unreadable
from peer_bench.counters import Counters
from peer_bench.figure import write_figure
from peer_bench.results import Results
from peer_bench.schedule import mirrored
from peer_bench.tools import (
    PEERS,
    dnsperf,
    h2load,
    iperf,
    iperf3,
    neper,
    netperf,
    nuttcp,
    openssl,
    ours,
    qperf,
    sockperf,
)
from peer_bench.tools.ends import read_client, reads_nothing
from peer_bench.verdicts import MOST_PAIRS, Value, judge, limits, rows, still_open

from sixbench.model.programs.end import AGENT_WORDS, ProgramEnd
from sixbench.model.workloads import WORKLOADS
from sixbench.store import Environment

pytestmark = pytest.mark.computes

KEYS = {comparison.key: comparison for comparison in COMPARISONS}
ENDS = {
    4: Ends(family=4, client="198.18.0.1", server="198.18.0.2"),
    6: Ends(family=6, client="2001:2::1", server="2001:2::2"),
}

IPERF_UDP = """\
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0000 sec  640000 Bytes  5120000 bits/sec   0.003 ms 3/10003 (0.03%)
"""
IPERF_TCP = "[  1] 0.0000-1.0149 sec  232783872 Bytes  1834929532 bits/sec\n"
NUTTCP_UDP = "megabytes=0.6104 real_seconds=0.50 rate_Mbps=4.9333 tx_cpu=37 rx_cpu=4 drop=1 pkt=10001 data_loss=0.00010"
SOCKPERF = """\
sockperf: [Total Run] RunTime=1.000 sec; Warm up time=400 msec; SentMessages=11504; ReceivedMessages=11503
sockperf: [Valid Duration] RunTime=0.500 sec; SentMessages=7207; ReceivedMessages=7206
"""
S_TIME = """\
Collecting connection statistics for 1 seconds

1372 connections in 0.79s; 1736.71 connections/user sec, bytes read 0
1372 connections in 2 real seconds, 0 bytes read per connection
"""
OUTPUTS = Path(__file__).parents[2] / "tests/golden/program_output"
THEIRS = [(tool, contender, contender.traffic(ENDS[4], 1)) for tool in PEERS for contender in tool.contenders]
IPERF3_UDP = json.dumps(
    {"end": {"sum_received": {"bits_per_second": 5.12e6, "packets": 1010, "lost_packets": 10, "seconds": 0.5}}}
)


def test_what_tools_print_is_read() -> None:
    assert iperf3.read(IPERF3_UDP, "") == {"received_bps": 5.12e6, "received_pps": 2000.0, "lost": 10.0}
    assert iperf.read_tcp("", IPERF_TCP) == {"received_bps": 1834929532.0}
    assert iperf.read_udp("", IPERF_UDP) == {"received_bps": 5.12e6, "received_pps": 10000.0, "lost": 3.0}
    assert nuttcp.read(NUTTCP_UDP, "") == {"received_bps": 4.9333e6, "received_pps": 20000.0, "lost": 1.0}
    assert sockperf.read(SOCKPERF, "") == {"transactions_per_s": 14412.0}
    assert netperf.read_transactions("THROUGHPUT=9239.19\n", "") == {"transactions_per_s": 9239.19}
    assert netperf.read_stream("THROUGHPUT=9.5\nREMOTE_RECV_THROUGHPUT=8970.29\n", "") == {"received_bps": 8970.29e6}
    assert neper.read_transactions("local_throughput=1\nthroughput=294.83\n", "") == {"transactions_per_s": 294.83}
    assert neper.read_stream("", "local_throughput=10099544\n") == {"received_bps": 10099544.0}
    assert qperf.read("tcp_lat:\n    latency  =  12.5 us\n", "") == {"transactions_per_s": pytest.approx(40000)}
    assert h2load.read((OUTPUTS / "h2load.txt").read_text()) == {"transactions_per_s": 1685.18}
    assert dnsperf.read((OUTPUTS / "dnsperf.txt").read_text()) == {"transactions_per_s": 10586.267494, "lost": 0.0}
    assert openssl.read(S_TIME) == {"connections": 1372.0}


@pytest.mark.parametrize("traffic", [traffic for _, _, traffic in THEIRS])
def test_what_is_no_result_is_said_with_its_end(traffic: Command | Trial) -> None:
    noise = "error - the server is busy"
    if isinstance(traffic, Command):
        with pytest.raises(Unreadable, match=r"cannot be|no \w+"):
            traffic.read(noise, noise)
        return
    with pytest.raises(Unreadable, match="h2load ended with 1"):
        traffic.read({"program": {"exit": 1, "ended": "h2load ended with 1", "output": ""}}, {})
    if traffic.read.keywords["read"] is not reads_nothing:  # type: ignore[attr-defined]
        with pytest.raises(Unreadable, match=r"no \w+"):
            traffic.read({"program": {"exit": 0, "output": noise}}, {})


def test_a_client_that_is_ended_when_its_time_is_over_has_not_failed() -> None:
    assert read_client({"program": {"output": ""}}, {}, read=reads_nothing) == {}


def words_of(end: ProgramEnd | None) -> str:
    assert end is not None
    return " ".join([*end.argv, *end.files.values()])


def test_every_contender_names_both_ends_and_takes_part_in_a_comparison() -> None:
    for tool in PEERS:
        assert len({(c.comparison, c.name) for c in tool.contenders}) == len(tool.contenders)
    for tool, contender, _ in THEIRS:
        assert contender.comparison in KEYS
        assert contender.name.startswith(tool.name)
        for family in FAMILIES:
            traffic = contender.traffic(ENDS[family], 1)
            if isinstance(traffic, Command):
                assert any(ENDS[family].server in word for word in traffic.client)
                assert traffic.server[0] in tool.programs
                assert traffic.client[0] in tool.programs
                continue
            for words in (words_of(traffic.server), words_of(traffic.client)):
                assert any(program in words.split() for program in tool.programs)
                assert "{port}" in words
                assert set(re.findall(r"\{([a-z][a-z-]*)\}", words)) <= AGENT_WORDS
            assert "{peer" in words_of(traffic.client)


def test_ours_and_its_peer_of_an_application_have_the_same_parameters() -> None:
    mine = {c.comparison: c.traffic(ENDS[6], 3) for c in ours.CONTENDERS}
    for _, contender, _ in THEIRS:
        traffic, of_ours = contender.traffic(ENDS[6], 3), mine.get(contender.comparison)
        if isinstance(traffic, Trial):
            assert isinstance(of_ours, Trial)
            assert (traffic.workload, traffic.params) == (of_ours.workload, of_ours.params)
            assert traffic.has_program
            assert not of_ours.has_program


def test_our_trials_have_parameters_that_workloads_know() -> None:
    for contender in ours.CONTENDERS:
        trial = contender.traffic(ENDS[4], 2)
        assert isinstance(trial, Trial)
        assert contender.comparison in KEYS
        assert trial.workload in WORKLOADS
        assert trial.params["duration_ns"] == 2_000_000_000


def test_targets_are_of_contenders_that_there_are() -> None:
    theirs = {(c.comparison, c.name) for tool in PEERS for c in tool.contenders}
    contenders = {(c.comparison, c.name) for c in ours.CONTENDERS}
    for comparison in COMPARISONS:
        for target in comparison.targets:
            assert (comparison.key, target.ours) in contenders
            assert {(comparison.key, peer) for peer in target.peers} <= theirs | contenders


def test_every_second_round_is_reversed() -> None:
    assert [list(mirrored("abc", round_)) for round_ in range(3)] == [list("abc"), list("cba"), list("abc")]


def packet(at_ns: int, ports: tuple[int, int], family: int) -> bytes:
    frame = bytes(14 + {4: 20, 6: 40}[family]) + struct.pack("!HH", *ports) + bytes(8)
    return struct.pack("=IIII", at_ns // 10**9, at_ns % 10**9, len(frame), len(frame)) + frame


@pytest.mark.parametrize("family", FAMILIES)
def test_times_of_the_largest_flow(family: int) -> None:
    header = struct.pack("=IHHiIII", capture.MAGIC_NANOSECONDS, 2, 4, 0, 0, 96, 1)
    times = [1_700_000_000_000_000_000 + k * 100_000 for k in range(4)]
    times[2] += 5
    flow = [packet(at, (1000, 2000), family) for at in times]
    other = packet(times[1] + 7, (1000, 2001), family)
    flow_times_ns = capture.flow_times_ns(header + b"".join([*flow[:2], other, *flow[2:]]) + b"cut off", family)
    assert flow_times_ns.tolist() == times
    assert capture.gap_errors_ns(flow_times_ns, 100_000, 0).tolist() == [0, 5, 5]
    assert capture.gap_errors_ns(flow_times_ns, 100_000, 100_000).tolist() == [5, 5]


def test_no_capture_no_times() -> None:
    header = struct.pack("=IHHiIII", capture.MAGIC_NANOSECONDS, 2, 4, 0, 0, 96, 1)
    assert len(capture.gap_errors_ns(capture.flow_times_ns(header, 4), 100_000, 0)) == 0
    with pytest.raises(ValueError, match="no pcap"):
        capture.flow_times_ns(b"", 4)


def counted(**values: int) -> Counters:
    zero = dict.fromkeys(Counters.__dataclass_fields__, 0)
    return Counters(**(zero | values))


def test_rates_are_of_the_window_and_losses_of_the_whole() -> None:
    window = counted(clock_ns=500_000_000, rx_bytes=1000, datagrams=40, accepted=3)
    whole = counted(datagrams=90, datagrams_dropped=6, dropped=2)
    seen = Observed(window=window, whole=whole, tool_report={"unsent": 2.0, "transactions_per_s": 7.0})
    values = {key: comparison.value(seen) for key, comparison in KEYS.items()}
    assert (values["tcp-stream"], values["udp-64"], values["tcp-crr"]) == (16000.0, 80.0, 6.0)
    assert (values["tcp-rr"], values["udp-loss"]) == (7.0, 0.1)
    assert (values["udp-offload"], values["udp-paced"]) == (None, None)
    silent = Observed(window=window, whole=whole, tool_report={"transactions_per_s": 0.0})
    assert KEYS["http-1"].value(silent) is None


def test_what_missed_the_traffic_is_no_value() -> None:
    nothing = counted(clock_ns=500_000_000)
    for window in (None, nothing):
        assert KEYS["tcp-stream"].value(Observed(window=window, whole=nothing, tool_report={})) is None
    assert KEYS["udp-loss"].value(Observed(window=None, whole=nothing, tool_report={})) is None


def test_the_error_is_the_99th_percentile_of_enough_packets() -> None:
    paced, zero = KEYS["udp-paced"], counted()
    errors = np.arange(0, 10_001, dtype=np.int64)
    assert paced.value(Observed(window=None, whole=zero, tool_report={}, gap_errors_ns=errors)) == 9900
    assert paced.value(Observed(window=None, whole=zero, tool_report={}, gap_errors_ns=errors[:500])) is None


def test_counters_are_those_of_the_kernel() -> None:
    actual_counters = counters.read_counters(1, "lo", 6)
    assert actual_counters.since(actual_counters) == counted()
    with pytest.raises(LookupError, match="none0"):
        counters.read_counters(1, "none0", 4)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.1, 2.0, "met"), (1.0, 2.0, "open"), (0.5, 1.09, "missed"), (0.5, 1.1, "open"), (None, None, "open")],
)
def test_a_target_is_judged_by_the_interval(low: float | None, high: float | None, verdict: str) -> None:
    assert judge(Target(ours=OURS, peers=("x",), bound=1.1), low, high) == verdict


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.1, 0.2, "met"), (0.1, 0.3, "open"), (0.21, 0.3, "missed")])
def test_where_lower_is_better_the_upper_end_counts(low: float, high: float, verdict: str) -> None:
    assert judge(Target(ours=OURS, peers=("x",), bound=0.2, lower_is_better=True), low, high) == verdict


def values() -> list[Value]:
    values = []
    for round_, (mine, busy, peer) in enumerate([(112.0, 640.0, 100.0), (123.2, 655.0, 110.0), (125.0, 600.0, None)]):
        for contender, value in ((OURS, mine), (OURS_BUSY, busy), ("sockperf", peer)):
            failure = None if value else "sockperf ended with 1 | no route"
            values.append(
                Value(
                    comparison="tcp-rr",
                    contender=contender,
                    family=4,
                    round=round_,
                    value=value,
                    failure=failure,
                    wire_pps=value,
                    memory_bytes=8 * 2**20,
                )
            )
    return values


def test_pairs_are_rounds_in_which_both_have_a_value() -> None:
    blocking, busy = rows(values(), 3, is_over=True)
    assert (blocking.ours, blocking.peer, blocking.n) == (OURS, "sockperf", 2)
    assert blocking.ratio == pytest.approx(1.12)
    assert (blocking.verdict, busy.ours, busy.verdict) == ("met", OURS_BUSY, "open")


def test_ours_is_a_peer_of_ours_only_where_a_target_says_so() -> None:
    """Smallest frames are to be 1.5 times as many as our own datagrams."""
    rates = {OURS: 100.0, OURS_FRAMES: 200.0, OURS_FRAMES_XDP: 300.0, "iperf3": 50.0}
    values = [
        Value(comparison="frames-64", contender=name, family=4, round=round_, value=rate + round_)
        for name, rate in rates.items()
        for round_ in range(3)
    ]
    actual_rows = {(row.ours, row.peer): row for row in rows(values, 3, is_over=True)}
    assert actual_rows[OURS_FRAMES, OURS].ratio == pytest.approx(2, rel=0.02)
    assert actual_rows[OURS_FRAMES, OURS].verdict == "met"
    assert (OURS_FRAMES_XDP, OURS) in actual_rows
    assert not any(peer in (OURS_FRAMES, OURS_FRAMES_XDP) or ours == peer for ours, peer in actual_rows)


def rounds_of(ours: list[float], busy: list[float], peer: list[float]) -> list[Value]:
    """Values of TCP request/response."""
    return [
        Value(comparison="tcp-rr", contender=name, family=6, round=round_, value=value)
        for name, result in ((OURS, ours), (OURS_BUSY, busy), ("sockperf", peer), ("qperf", peer))
        for round_, value in enumerate(result)
    ]


def test_more_rounds_are_of_those_whose_target_is_open() -> None:
    """The target of blocking is 0.97 times sockperf's, and 5 times of busy polling."""
    first = rounds_of([100, 101, 99, 100], [490, 505, 520, 480], [50, 50.1, 49.9, 50])
    assert still_open(first, 4) == set(), "both are far from their targets, and qperf has none"
    near = rounds_of([100, 101, 99, 100], [490, 505, 520, 480], [100, 104, 103, 99])
    assert still_open(near, 4) == {("tcp-rr", name, 6) for name in (OURS, OURS_BUSY, "sockperf")}
    one_sided = rounds_of([100, 101, 99, 100], [990, 1005, 1020, 980], [100, 104, 103, 99])
    assert still_open(one_sided, 4) == {("tcp-rr", name, 6) for name in (OURS, "sockperf")}
    many = rounds_of([100, 94] * (MOST_PAIRS // 2), [2000.0] * MOST_PAIRS, [100.0] * MOST_PAIRS)
    assert still_open(many, 4) == set(), "it has as many pairs as it may have"


def test_each_look_at_a_target_costs_width_and_the_last_one_has_what_is_left() -> None:
    ours = [98.0, 96.0, 97.5, 97.0, 96.5, 97.9]
    values = rounds_of(ours, [500.0] * 6, [100.0] * 6)

    def width(first_rounds: int, peer: str, *, is_over: bool) -> float:
        [row] = [r for r in rows(values, first_rounds, is_over=is_over) if (r.ours, r.peer) == (OURS, peer)]
        assert row.low is not None
        assert row.high is not None
        return row.high - row.low

    without_a_look = width(3, "qperf", is_over=True)
    assert without_a_look == width(3, "qperf", is_over=False)
    assert width(3, "sockperf", is_over=False) > width(3, "sockperf", is_over=True) > without_a_look
    assert width(6, "sockperf", is_over=True) == pytest.approx(without_a_look)


def test_loss_in_any_round_misses_and_memory_is_that_of_all() -> None:
    lost = [
        Value(comparison="udp-loss", contender=OURS, family=6, round=r, value=v, memory_bytes=m)
        for r, v, m in ((0, 0.0, 2**20), (1, 1e-6, 65 * 2**20))
    ]
    loss, memory4, memory6 = limits([*values(), *lost])
    assert (loss.most, loss.n, loss.verdict) == (1e-6, 2, "missed")
    assert (memory4.verdict, memory6.most, memory6.verdict) == ("met", 65 * 2**20, "missed")


@pytest.fixture
def results() -> Results:
    there = Environment(
        kernel="6.18", machine="x86_64", cpu="cpu", distribution="d", cores=2, memory_bytes=2**30, versions={}
    )
    return Results(
        started="2026-11-21T12:00:00+00:00",
        environment=there,
        rounds=4,
        seconds=1,
        placement="pinned",
        nice=0,
        tools={"sockperf": "3.7"},
        absent={"netperf": "netperf not on the PATH"},
        commands={("tcp-rr", "sockperf", 4): ["sockperf server", "sockperf ping-pong"]},
        values=values(),
    )


def test_the_page_has_ratios_failures_versions_and_commands(results: Results) -> None:
    page = tables.markdown(results)
    assert "3 of 4 rounds of everything, 1 s a measurement" in page
    assert "| TCP request/response, 64 bytes | sixbench | sockperf | 4 |" in page
    assert "| ≥ 0.97 | met |" in page
    assert "no route" in page
    assert r"ended with 1 \| no route" in page
    assert "| sockperf | 3.7 |" in page
    assert "- netperf: netperf not on the PATH" in page
    assert "`sockperf ping-pong`" in page
    terminal = tables.text(tables.HEADS, tables.ratio_cells(results)).splitlines()
    assert len({len(line.split("sockperf")[0]) for line in terminal if "sockperf" in line}) == 1


def test_files_are_json_without_missing_values_and_a_figure(results: Results, tmp_path: Path) -> None:
    results.write(tmp_path)
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["ratios"][0]["verdict"] == "met"
    assert all(None not in value.values() for value in written["values"])
    svg, png = write_figure(results, tmp_path)
    assert "busy polling / sockperf" in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")
    results.values.clear()
    assert write_figure(results, tmp_path) == []


def test_a_ratio_within_three_percent_of_its_target_is_at_it_but_blocking_round_trips_have_no_such_room() -> None:
    busy, blocking = [498.0, 500, 501, 499, 500, 502], [97.0, 96.8, 97.2, 97.1, 96.9, 97.0]
    values = rounds_of(blocking, busy, [100.0, 100.1, 99.9, 100.2, 99.8, 100])
    verdicts = {row.ours: row.verdict for row in rows(values, 6, is_over=True) if row.peer == "sockperf"}
    assert verdicts == {OURS: "open", OURS_BUSY: "near"}
    assert still_open(values, 6) == {("tcp-rr", name, 6) for name in (OURS, "sockperf")}
