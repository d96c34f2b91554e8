"""Measurements between two machines, without machines: addresses, refusals, what is made of results."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from reasons import kinds, of_agents, texts
from workload_results import (
    DNS_CLIENT,
    DNS_SERVER,
    HTTP_CLIENT,
    HTTP_SERVER,
    QUIC_CLIENT,
    QUIC_RECEIVER,
    QUIC_SENDER,
    QUIC_SERVER,
    TLS_CLIENT,
)

from sixbench.agent import AgentHub
from sixbench.analysis import analyse
from sixbench.bench.machines import Machines, MeasuredAddresses, Target, find_addresses
from sixbench.bench.measure_trials import assess
from sixbench.model.errors import CapabilityError, SixbenchError, UsageError
from sixbench.model.evidence import Evidence
from sixbench.model.experiment import Experiment
from sixbench.model.reason import ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.model.workload import Workload
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.measure_experiment import as_experiment
from sixbench.plan.measure_options import MeasureOptions, workload_of_options
from sixbench.plan.schedule import all_trials
from sixbench.report import measure_json, measure_text
from sixbench.store import Environment, Manifest, Run

ADDRESSES = {"ipv4": ("192.0.2.1", "192.0.2.2"), "ipv6": ("2001:db8::1", "2001:db8::2")}


def experiment(*families: Any, blocks: int | None = None, **options: Any) -> Experiment:
    return as_experiment(
        workload_of_options(MeasureOptions(**options), families), "there", families, blocks, "# test\n"
    )


def test_two_families_are_measured_in_turn_each_first_as_often_as_the_other() -> None:
    planned = [trial.path for trial in all_trials(experiment(4, 6))]
    assert len(planned) == 12
    blocks = [planned[i : i + 2] for i in range(0, 12, 2)]
    assert all(sorted(block) == ["ipv4", "ipv6"] for block in blocks)
    assert [first == second[::-1] for first, second in zip(blocks[::2], blocks[1::2], strict=True)] == [True] * 3


@pytest.mark.parametrize(("families", "options", "trials"), [((6,), {}, 1), ((4, 6), {"pmtu": True}, 2)])
def test_what_is_not_compared_is_measured_once(families: Any, options: Any, trials: int) -> None:
    assert len(list(all_trials(experiment(*families, **options)))) == trials


# Addresses


def test_addresses_of_a_family() -> None:
    addresses = find_addresses(Target(host="127.0.0.1", port=5210), (4,))
    assert addresses == [[MeasuredAddresses(family=4, client="127.0.0.1", server="127.0.0.1")]]
    assert find_addresses(Target(host="127.0.0.1", port=5210, bind="127.0.0.7"), ())[0][0].client == "127.0.0.7"


def test_an_ipv4_mapped_address_is_of_ipv4() -> None:
    target = Target(host="::ffff:127.0.0.1", port=5210, bind="::ffff:127.0.0.7")
    assert find_addresses(target, ()) == [[MeasuredAddresses(family=4, client="127.0.0.7", server="127.0.0.1")]]
    with pytest.raises(CapabilityError, match="has no IPv6 address"):
        find_addresses(target, (6,))


def test_two_addresses_stand_for_a_name_of_both_families(monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_ipv6_loopback():
        pytest.fail("these tests need the address ::1")
    [address] = find_addresses(Target(host="127.0.0.1,::1", port=5210), (4, 6))
    assert [(item.family, item.server) for item in address] == [(4, "127.0.0.1"), (6, "::1")]
    # With no family asked for, each is a way by itself, so that one is tried where nobody answers over the other.
    ways = find_addresses(Target(host="127.0.0.1,::1", port=5210), ())
    assert sorted(item.family for [item] in ways) == [4, 6]


def has_ipv6_loopback() -> bool:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
        return probe.connect_ex(("::1", 9)) == 0


@pytest.mark.parametrize(
    ("target", "families", "error", "words"),
    [
        ({"host": "nosuch.invalid"}, (), CapabilityError, "looking up nosuch.invalid: "),
        ({"host": "127.0.0.1"}, (6,), CapabilityError, "127.0.0.1 has no IPv6 address"),
        ({"host": "x" * 300}, (), CapabilityError, "looking up xxx"),
        ({"host": "fe80::1"}, (), UsageError, "link-local address; add the interface of this machine, such as"),
        ({"host": "127.0.0.1", "bind": "here"}, (), UsageError, "-B here: this is no IP address"),
        ({"host": "127.0.0.1", "bind": "::1"}, (), UsageError, "-B ::1: IPv4 is measured too"),
        ({"host": "127.0.0.1", "bind": "192.0.2.77"}, (), UsageError, "no such address"),
        ({"host": "::1", "bind": "::1%nosuch"}, (), UsageError, "-B ::1%nosuch: this machine has no interface nosuch"),
        ({"host": "fe80::1", "bind": "fe80::2%nosuch"}, (), UsageError, "has no interface nosuch; it has lo"),
        ({"host": "fe80::1", "bind": "fe80::2%²"}, (), UsageError, "has no interface ²; it has lo"),
    ],
)
def test_addresses_that_cannot_be_had(
    target: dict[str, str], families: Any, error: type[SixbenchError], words: str
) -> None:
    with pytest.raises(error, match=words):
        find_addresses(Target(port=5210, **target), families)  # type: ignore[arg-type]


# The other machine's agent

HEAD = f"#!{sys.executable} -SE\nimport json, sys\nassert sys.argv[1] == 'connect', sys.argv\n"


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    hubs: list[AgentHub] = []

    def run(body: str) -> Any:
        path = tmp_path / "agent"
        path.write_text(HEAD + body)
        path.chmod(0o755)
        hubs.append(AgentHub(path))
        return hubs[-1].connect("there", ["192.0.2.2", "5210", "-4"])

    yield run
    for hub in hubs:
        hub.close()


def test_an_agent_of_another_machine(connect: Callable[[str], Any]) -> None:
    greeting = "r = json.loads(input()); print(json.dumps({'id': r['id'], 'ok': r | {'pid': 1, 'argv': sys.argv[2:]}}))"
    agent = connect(greeting + "\nsys.stdout.flush(); sys.stdin.read()")
    assert agent.name == "there"
    assert agent.hello["argv"] == ["192.0.2.2", "5210", "-4"]


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (
            "sys.exit('sixbench-agent: connecting to 192.0.2.2: Connection refused')",
            CapabilityError,
            "^connecting to 192.0.2.2: Connection refused$",
        ),
        (
            "print('sixbench-agent: the key k may be read by others; chmod 600 k', file=sys.stderr); sys.exit(2)",
            UsageError,
            "^the key k may be read by others; chmod 600 k$",
        ),
        (
            "r = json.loads(input()); print(json.dumps({'id': r['id'], 'error': {'code': 'protocol-mismatch', "
            "'message': 'this agent speaks protocol 2'}})); sys.stdout.flush(); sys.stdin.read()",
            CapabilityError,
            "there: this agent speaks protocol 2; install the same version on both machines",
        ),
        ("sys.exit(3)", CapabilityError, "the agent of there .* ended with code 3"),
    ],
)
def test_another_machine_that_cannot_be_had(
    connect: Callable[[str], Any], body: str, error: type[SixbenchError], words: str
) -> None:
    with pytest.raises(error, match=words):
        connect(body)


class FakeHub:
    """One whose agents connect over IPv4 alone, if at all."""

    def __init__(self, answering: tuple[str, ...]) -> None:
        self.answering = answering

    def connect(self, host: str, arguments: list[str]) -> str:
        if arguments[0] not in self.answering:
            raise CapabilityError(f"connecting to {arguments[0]}: no server listens there; start `sixbench serve`")
        return arguments[0]

    def start_here(self, name: str) -> str:
        return name

    def stop(self, agents: list[Any]) -> None:
        pass


def test_where_nobody_answers_over_one_family_the_other_one_is_tried_and_told() -> None:
    target = Target(host="there", port=5210)
    ways = [
        [MeasuredAddresses(family=6, client="2001:db8::1", server="2001:db8::2")],
        [MeasuredAddresses(family=4, client="192.0.2.1", server="192.0.2.2")],
    ]
    hub: Any = FakeHub(("192.0.2.2",))
    with Machines(hub, target, ways) as machines:
        assert list(machines.addresses) == [4]
        [why] = machines.passed_over
        assert why.startswith("connecting to 2001:db8::2: no server listens there")
    nobody: Any = FakeHub(())
    words = (
        "connecting to 2001:db8::2: no server listens there; start `sixbench serve`; "
        "and connecting to 192.0.2.2: no server listens there"
    )
    with pytest.raises(CapabilityError, match=f"^{re.escape(words)}$"), Machines(nobody, target, ways):
        pass


# Results


def sample(clock_ns: int, realtime_ns: int) -> dict[str, Any]:
    return {
        "clock_ns": clock_ns,
        "realtime_ns": realtime_ns,
        "tick_ns": 10**7,
        "cores": [],
        "agent_user_ns": 0,
        "agent_system_ns": clock_ns // 4,
    }


def rr_client(step_ns: int = 0) -> dict[str, Any]:
    return {
        "transactions": 1000,
        "measured_ns": 10**9,
        "rtt": {"unit": "ns", "count": 1000, "p50": 1000, "buckets": []},
        "cpu": {"from": sample(0, 0), "to": sample(10**9, 10**9 + step_ns)},
    }


def test_each_machine_has_its_own_clock_and_cpu() -> None:
    verdict = assess(WORKLOADS["tcp-rr"], {}, rr_client(), {"strays": {"datagrams": 0}})
    assert (verdict.status, verdict.reasons) == ("ok", [])
    assert verdict.measured.metrics["cpu_client_cores"] == 0.25
    assert "cpu_server_cores" not in verdict.measured.metrics
    stepped = assess(WORKLOADS["tcp-rr"], {}, rr_client(step_ns=50_000_000), {})
    assert stepped.status == "invalid"
    assert texts(stepped.reasons) == ["the realtime clock was stepped by 50.0 ms during the trial"]


def udp_server(**changes: Any) -> dict[str, Any]:
    one_way = {"unit": "ns", "count": 99, "mean": 5, "min": 1, "p50": 5, "p99": 9, "p999": 9, "buckets": []}
    counts = {"received": 99, "unique": 99, "duplicates": 0, "reordered": 0, "lost_middle": 0, "lost_tail": 0}
    times = {"unique_bytes": 99_000, "measured_bytes": 98_000, "measured_ns": 10**9, "jitter_rfc3550_ns": 7}
    return counts | times | {"one_way_delay": one_way, "ipdv": one_way} | changes


def test_what_needs_one_clock_is_left_out_between_two() -> None:
    client = {"sent": 99, "measured_ns": 10**9, "lateness": {"count": 0}}
    verdict = assess(WORKLOADS["udp-stream"], {"datagram_bytes": 1000}, client, udp_server())
    measured = verdict.measured
    assert (verdict.status, measured.notes) == ("ok", [])
    assert {"ipdv_mean_ns", "jitter_rfc3550_ns", "loss_ratio"} <= measured.metrics.keys()
    assert not [name for name in (*measured.metrics, *measured.histograms) if "one_way_delay" in name]


def test_a_generator_that_lags_is_the_limit() -> None:
    client = {"sent": 99, "measured_ns": 10**9, "lateness": {"count": 0}}
    params = {"datagram_bytes": 1000, "rate_pps": 200}
    verdict = assess(WORKLOADS["udp-stream"], params, client, udp_server())
    assert verdict.status == "invalid"
    assert kinds(verdict.reasons) == [ReasonKind.TESTER_LIMITED]
    assert verdict.reasons[0].text.startswith("the sender sent 98 datagrams/s where 200 were asked for")


@pytest.mark.parametrize(
    ("workload", "params", "client", "server", "metric"),
    [
        ("tls", {}, TLS_CLIENT, {"transactions": 4, "early": 0, "failed": 0}, "handshake_p50_ns"),
        ("quic-connect", {}, QUIC_CLIENT, QUIC_SERVER, "first_byte_p50_ns"),
        ("quic-stream", {}, QUIC_SENDER, QUIC_RECEIVER, "goodput_bps"),
        ("http", {}, HTTP_CLIENT, HTTP_SERVER, "page_p50_ns"),
        ("dns", {"over": "tls"}, DNS_CLIENT, DNS_SERVER, "transaction_p50_ns"),
    ],
)
def test_applications_are_judged_as_in_a_lab_but_for_the_packets(
    workload: str, params: dict[str, Any], client: dict[str, Any], server: dict[str, Any], metric: str
) -> None:
    verdict = assess(WORKLOADS[workload], params, client, server)
    assert (verdict.status, verdict.reasons) == ("ok", [])
    assert metric in verdict.measured.metrics
    assert not [name for name in verdict.measured.metrics if name.startswith("wire_")], "nobody saw packets"


def test_an_application_that_fell_back_is_invalid() -> None:
    verdict = assess(WORKLOADS["http"], {"version": "3"}, HTTP_CLIENT, HTTP_SERVER)
    assert kinds(verdict.reasons) == [ReasonKind.OTHER_PROTOCOL]


def test_a_mistake_of_ours_in_judging_is_no_fault_of_the_agents() -> None:
    with pytest.raises(KeyError):
        assess(WORKLOADS["tcp-rr"], {}, {"transactions": 3}, {})


# What is printed


def record(path: str, block: int, goodput_bps: float | None, **changes: Any) -> TrialRecord:
    values: dict[str, Any] = {
        "key": f"b{block:03d}-c0001-{path}",
        "sequence": 2 * block,
        "block": block,
        "combination": "c0001",
        "path": path,
        "mechanism": f"native{path[-1]}",
        "engine": "kernel",
        "workload": "tcp-stream",
        "params": {},
        "levels": {},
        "status": "ok" if goodput_bps is not None else "failed",
        "reasons": [] if goodput_bps is not None else of_agents("there was lost during the trial: reset"),
        "started_realtime_ns": 0,
        "elapsed_ns": 1,
        "metrics": {} if goodput_bps is None else {"goodput_bps": goodput_bps},
        "evidence": Evidence(proved=False),
    }
    return TrialRecord(**(values | changes))


def run_of(loaded: Experiment, trials: list[TrialRecord]) -> Run:
    environment = Environment(
        kernel="6.18", machine="x", cpu="x", distribution="x", cores=2, memory_bytes=1, versions={}
    )
    manifest = Manifest(
        run="measure", experiment=loaded, environment=environment, state="complete", started_realtime_ns=1
    )
    return Run(directory=Path(), manifest=manifest, trials=trials)


TRIALS = [record("ipv4", b, 94.1e6 + b * 1e4) for b in range(1, 5)] + [
    record("ipv6", b, 92.8e6 + b * 1e4) for b in range(1, 5)
]


def test_the_comparison_has_ratio_interval_and_verdict() -> None:
    loaded = experiment(4, 6, blocks=4)
    text = measure_text.conclusion(loaded, TRIALS, analyse(run_of(loaded, TRIALS)))
    assert re.search(r"IPv4 94.12 → IPv6 92.82 Mbit/s, −1.38 % \[−1.38, −1.38\]", " ".join(text.split()))
    assert re.search(r"92\.8\d+ +94\.1\d+ +−1\.38 .* lower +4", text)
    assert "Not proved" in text


def test_one_block_is_not_called_a_comparison() -> None:
    loaded = experiment(4, 6, blocks=1)
    trials = [TRIALS[0], TRIALS[4]]
    assert "Not compared" in measure_text.conclusion(loaded, trials, analyse(run_of(loaded, trials)))


SERIES: dict[str, dict[str, list[float]]] = {
    "forward_receiver": {"t_ns": [1e9, 2e9], "bytes": [125e6, 62.5e6]},
    "forward_sender": {
        "t_ns": [1e9, 2e9, 2.1e9],
        "retransmits": [3, 0, 2],
        "rtt_ns": [1e6, 3e6, 5e6],
        "cwnd_packets": [10, 20, 20],
    },
}


def test_interval_lines_as_iperf3_has_them() -> None:
    lines = measure_text.intervals(record("ipv4", 1, 1e9), SERIES).splitlines()
    cells = [line.split() for line in lines]
    assert cells[0] == ["Interval", "Transfer", "Bitrate", "Retr", "RTT", "Cwnd"]
    assert cells[1] == ["0.00-1.00", "s", "119.2", "MiB", "1.000", "Gbit/s", "3", "1.000", "ms", "10"]
    assert cells[2][-4:] == ["2", "3.000", "ms", "20"]
    assert cells[4][:7] == ["0.00-2.00", "s", "178.8", "MiB", "750.0", "Mbit/s", "5"]


def test_a_quic_stream_has_one_table_of_intervals() -> None:
    series: dict[str, dict[str, list[float]]] = {
        "client": {"t_ns": [1e9, 2e9, 2.1e9], "rtt_ns": [1e6, 3e6, 5e6], "cwnd_bytes": [9, 9, 9]},
        "server": {"t_ns": [1e9, 2e9], "bytes": [125e6, 62.5e6]},
    }
    lines = measure_text.intervals(record("ipv4", 1, 1e9, workload="quic-stream"), series).splitlines()
    assert [lines[0].split(), len(lines)] == [["Interval", "Transfer", "Bitrate", "RTT"], 5]
    assert lines[2].split()[-4:] == ["500.0", "Mbit/s", "3.000", "ms"]


def test_an_interval_of_no_length_has_no_rate() -> None:
    alone = {"receiver": {"t_ns": [0.0], "bytes": [1400.0], "datagrams": [1.0], "transactions": [1.0]}}
    lines = measure_text.intervals(record("ipv4", 1, 1e9, workload="udp-stream"), alone).splitlines()
    assert lines[1].split() == ["0.00-0.00", "s", "1.367", "KiB", "–", "1", "1", "–"]


def test_directions_have_names_where_there_are_two() -> None:
    both = SERIES | {"reverse_receiver": {"t_ns": [1e9], "bytes": [1e6]}}
    text = measure_text.intervals(record("ipv6", 1, 1e9), both)
    assert "[ipv6] client to server\n" in text
    assert "[ipv6] server to client\n" in text


def test_a_trial_that_failed_says_why() -> None:
    failed = record("ipv6", 1, None)
    assert measure_text.one_line(failed, 1, 12) == "[ 1/12] ipv6  failed: there was lost during the trial: reset\n"
    assert "failed: there was lost during the trial: reset" in measure_text.summary(failed)


def test_the_document_is_json_and_leaves_nothing_to_guess() -> None:
    loaded = experiment(4, 6, blocks=4)
    run = run_of(loaded, TRIALS)
    text = measure_json.render(
        run, analyse(run), port=5210, remote={"version": "0.1.0"}, addresses=ADDRESSES, series={TRIALS[0].key: SERIES}
    )
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["schema"] == "sixbench.measurement/1"
    assert document["proved"] is False
    assert document["paths"][1] == {"path": "ipv6", "family": 6, "client": "2001:db8::1", "server": "2001:db8::2"}
    assert document["remote"]["kernel"] is None
    assert len(document["trials"]) == 8
    assert document["trials"][0]["series"] == SERIES
    [goodput] = [finding for finding in document["findings"] if finding["metric"] == "goodput"]
    assert goodput["verdict"] == "lower"
    assert goodput["ci_low"] < goodput["ratio"] < goodput["ci_high"] < 1


def test_a_path_mtu_is_a_table() -> None:
    tcp = {"stalled": False}
    result = {
        "interface_bytes": 1500,
        "kernel_bytes": 1280,
        "kernel": {"confirmed": True, "silent": False},
        "probed_bytes": 1280,
        "tcp": tcp,
        "tcp_bytes": 1280,
        "limiting_hop": {"index": 1, "address": "2001:db8:1::1"},
        "converged_ns": {"probed": 5_000_000},
        "probes": 9,
        "probe_bytes": 10_000,
    }
    hole = result | {
        "kernel_bytes": 1500,
        "kernel": {"confirmed": False, "silent": True},
        "tcp": {"stalled": True},
        "black_hole": {"between": [1, 2]},
    }
    trial = record("ipv6", 1, 0.0, workload="pmtu", client={"forward": result}, server={"reverse": hole})
    text = measure_text.summary(trial)
    rows = {line[2:28].strip(): line[28:].split() for line in text.splitlines()[2:]}
    assert rows["probing found"] == ["1280", "B", "1280", "B"]
    assert rows["kernel learned from ICMP"] == ["1280", "B", "1500", "B", "(not", "confirmed)"]
    assert rows["TCP settled on"] == ["1280", "B", "stalled"]
    assert rows["limited by"][:3] == ["hop", "1", "(2001:db8:1::1)"]
    assert rows["black hole after"] == ["none", "hops", "1", "to", "2"]
    assert "verdict on ipv6: black-hole" in text


def test_a_measurement_is_a_workload_with_parameters() -> None:
    assert experiment(4).combinations[0].workload == Workload(
        kind="tcp-stream", params={"duration_ns": 10**10, "warmup_ns": 5 * 10**8, "interval_ns": 10**9}
    )
    text = measure_text.header(experiment(4, 6), ADDRESSES, 5210)
    assert "duration 2s" in text
    assert "[ipv6] local 2001:db8::1, remote 2001:db8::2" in text


# The other end's commands


def test_a_key_is_random_for_its_owner_only_and_never_overwritten(sixbench: Callable[..., Any], tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    assert [sixbench("key", file).exit for file in files] == [0, 0]
    texts = [file.read_text() for file in files]
    assert all(re.fullmatch("[0-9a-f]{64}\n", text) for text in texts)
    assert texts[0] != texts[1]
    assert files[0].stat().st_mode & 0o777 == 0o600
    again = sixbench("key", files[0])
    assert again.exit == 2
    assert "exists, and no key is ever overwritten" in again.stderr
    assert files[0].read_text() == texts[0]
    assert sixbench("key", tmp_path / "no" / "where").exit == 3


def test_serve_listens_on_the_ipv4_address_that_a_mapped_one_stands_for(
    sixbench_process: Callable[..., Any],
) -> None:
    done = sixbench_process("import json, sys; print(json.dumps(sys.argv[1:]))", "serve", "-B", "::ffff:127.0.0.1,::1")
    words = json.loads(done.stdout)
    assert words[words.index("--listen") + 1] == "127.0.0.1,::1"


def test_serve_becomes_the_agent(sixbench_process: Callable[..., Any], tmp_path: Path) -> None:
    options = ("-p", "5999", "-B", "::1", "--key", "k", "--max-rate", "2G", "--max-duration", "1.5", "-1")
    done = sixbench_process("import json, sys; print(json.dumps(sys.argv[1:]))", "serve", *options)
    assert json.loads(done.stdout) == [
        *("serve", "--port", "5999", "--listen", "::1", "--key", "k"),
        *("--max-rate", "2000000000", "--max-duration", "2", "--one-off"),
    ]
    assert sixbench_process("", "serve", "--max-rate", "fast").returncode == 2


@pytest.fixture
def sixbench_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the command in a process of its own, with a fake agent."""

    def run(body: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        agent = tmp_path / "agent"
        agent.write_text(f"#!{sys.executable} -SE\n{body}\n")
        agent.chmod(0o755)
        monkeypatch.setenv("SIXBENCH_AGENT", str(agent))
        words = [sys.executable, "-m", "sixbench", *arguments]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    return run
