"""`sixbench reach` in namespaces: a client, a router, and a server of others with a resolver."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab.reach_network import LINE, NAME, TIMEOUT_S, Internet, read, read_trials, started, statuses
from lab.unprivileged import run_as_nobody

from sixbench.agent import AgentHub

Network = Callable[[str], Internet]


@pytest.fixture
def network(hub: AgentHub, tmp_path: Path) -> Iterator[Network]:
    """Builds a network whose hosts but the first are servers, that have one address of each family."""
    with ExitStack() as stack:
        yield lambda text: started(hub, tmp_path, text, stack)


@pytest.fixture
def internet(network: Network) -> Internet:
    """A router between the client and a server."""
    return network(LINE)


def test_both_families_of_a_server_are_compared(internet: Internet) -> None:
    run = internet.reach(NAME)
    survey = run["manifest"]["environment"]["survey"]
    [server] = survey["servers"]
    assert server["families"]["ipv4"]["address"] == internet.address(4)
    assert server["families"]["ipv6"]["address"] == internet.address(6)
    assert {family["kind"] for family in server["families"].values()} == {"native"}
    assert "IPv6 from here is native; IPv4 from here is native." in run["text"]
    assert "does not work" not in run["text"]
    for workload in ("dns", "ping", "tcp-connect", "tls", "http"):
        assert statuses(run, workload) == {"ipv4": {"ok"}, "ipv6": {"ok"}}, workload
    assert {"http 2", "http 3"} <= server["left_out"].keys()
    compared = {(finding["workload"], finding["metric"]) for finding in run["findings"]["findings"]}
    assert {("tcp-connect", "connect_p50"), ("tls", "handshake_p50"), ("http", "first_byte_p50")} <= compared
    assert {trial["evidence"]["server"] for trial in run["trials"]} == {internet.address(4), internet.address(6)}


DEAD = "2001:2:0:77::1"
"""An address of the next network, to which the router has the route that a test gives it."""


def with_dead_ipv6(internet: Internet, kind: str) -> None:
    """The name's only IPv6 address is behind a route of that kind."""
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": [DEAD]}})
    internet.execute("r1", "ip", "-6", "route", "add", kind, "2001:2:0:77::/64")


def test_an_ipv6_address_that_is_dead_is_a_finding(internet: Internet) -> None:
    with_dead_ipv6(internet, "blackhole")
    run = internet.reach(NAME, "--workload", "tcp-connect")
    words = f"IPv6 to {NAME} ({DEAD}) fails by tcp-connect: SYN unanswered in 3 of 3, while tcp-connect over IPv4"
    assert f"{words} answers." in run["text"]
    assert statuses(run, "tcp-connect") == {"ipv4": {"ok"}, "ipv6": {"ok"}}


def test_an_icmp_error_of_a_router_is_told_with_its_sender(internet: Internet) -> None:
    with_dead_ipv6(internet, "prohibit")
    run = internet.reach(NAME, "--workload", "tcp-connect")
    assert (
        f"IPv6 to {NAME} ({DEAD}) fails by tcp-connect: unreachable in 3 of 3 (ICMPv6 type 1 code 1 from" in run["text"]
    )


def test_a_port_that_refuses_over_ipv6_alone_is_a_finding_and_is_asked_three_times(internet: Internet) -> None:
    listener = "import socket, time; s = socket.create_server(('0.0.0.0', 4443)); print(flush=True); time.sleep(600)"
    with subprocess.Popen(internet.within("h2", sys.executable, "-c", listener), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            run = internet.reach(f"{NAME}:4443", "--workload", "tcp-connect", blocks=6)
        finally:
            process.terminate()
    words = f"IPv6 to {NAME}:4443 ({internet.address(6)}) fails by tcp-connect: refused in 3 of 3, while tcp-connect"
    assert f"{words} over IPv4 answers." in run["text"]
    assert [trial["path"] for trial in run["trials"]].count("ipv6") == 3


def test_one_of_four_addresses_that_is_dead_is_named(internet: Internet) -> None:
    more = ["2001:2:0:1::21", "2001:2:0:1::22"]
    for address in more:
        internet.execute("h2", "ip", "-6", "address", "add", f"{address}/64", "dev", "eth0", "nodad")
    internet.execute("r1", "ip", "-6", "route", "add", "blackhole", "2001:2:0:77::/64")
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": [DEAD, *more, internet.address(6)]}})
    run = internet.reach(NAME, "--workload", "tcp-connect")
    words = f"1 of 4 IPv6 addresses of {NAME} does not answer: {DEAD} (silence). The trials went to {more[0]}."
    assert words in run["text"]
    assert {trial["evidence"]["server"] for trial in run["trials"] if trial["path"] == "ipv6"} == {more[0]}


def test_look_ups_that_time_out_are_named(internet: Internet) -> None:
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": None}})
    run = internet.reach(NAME, "--workload", "tcp-connect", "--workload", "dns")
    assert f"The look-up of the AAAA records of {NAME} is not answered." in run["text"]
    assert (
        f"Look-ups of the AAAA records of {NAME} fail: unanswered in 3 of 3, while those of its A records"
        in run["text"]
    )
    assert statuses(run, "tcp-connect") == {"ipv4": {"ok"}}


def test_an_address_of_a_dns64_is_named(internet: Internet) -> None:
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": ["64:ff9b::c612:102"]}})
    run = internet.reach(NAME, "--workload", "tcp-connect")
    assert "IPv6 from here is NAT64; IPv4 from here is native." in run["text"]
    assert f"{NAME} has no IPv6 address of its own: a DNS64 made 64:ff9b::c612:102" in run["text"]


def test_a_certificate_of_another_name_is_named(internet: Internet) -> None:
    other = "portal.example.org"
    internet.zone({other: {"A": [internet.address(4)], "AAAA": [internet.address(6)]}})
    run = internet.reach(other, "--workload", "tls", "--workload", "tcp-connect")
    assert (
        f"IPv6 to {other} ({internet.address(6)}) fails by tls: answered by a certificate of another name"
        in run["text"]
    )


BLACK_HOLE = """
nodes: {h1: host, r1: {kind: router, icmp: no-too-big}, h2: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, h2], mtu: 1480}
"""


def test_a_black_hole_of_long_packets_is_named(network: Network) -> None:
    internet = network(BLACK_HOLE)
    run = internet.reach(NAME, "--workload", "tcp-connect")
    for family in ("IPv4", "IPv6"):
        words = (
            f"The path MTU to {NAME} over {family} is 1480 bytes, less than that of the interface, and no Packet Too"
        )
        assert words in run["text"]
    [server] = run["manifest"]["environment"]["survey"]["servers"]
    [before, after] = server["families"]["ipv6"]["routes"]
    assert before["hops"] == after["hops"]
    assert len(before["hops"]) == 2
    assert before["hops"][-1] == [internet.address(6)]


APART = """
nodes: {h1: host, r1: router, h2: host, h3: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, h2], delay: 20ms}
  - {endpoints: [r1, h3], delay: 120ms}
"""


def test_a_server_that_is_slower_over_ipv6_is_called_so(network: Network) -> None:
    internet = network(APART)
    internet.zone({NAME: {"A": [internet.address(4)], "AAAA": [internet.address(6, "h3")]}})
    run = internet.reach(NAME, "--workload", "tcp-connect", "--workload", "tls", blocks=8)
    by_metric = {finding["metric"]: finding for finding in run["findings"]["findings"]}
    assert by_metric["connect_p50"]["direction"] == "higher"
    assert by_metric["handshake_p50"]["direction"] == "higher"
    # The round trips are 40 and 240 ms; a busy machine adds to both.
    assert 2 < by_metric["connect_p50"]["ratio"] < 6.2


def test_without_ipv6_it_says_so_and_goes_on(internet: Internet) -> None:
    internet.execute("h1", "sysctl", "-w", "net.ipv6.conf.all.disable_ipv6=1")
    run = internet.reach(NAME, "--workload", "tcp-connect")
    assert "IPv6 leads to no server from here; IPv4 from here is native." in run["text"]
    assert statuses(run, "tcp-connect") == {"ipv4": {"ok"}}


def test_addresses_of_this_machine_are_hidden(internet: Internet) -> None:
    run = internet.reach(NAME, "--workload", "tcp-connect", "--workload", "ping", "--hide-addresses")
    everything = "".join(
        path.read_text(errors="replace") for path in (internet.folder / "run").rglob("*") if path.is_file()
    )
    [link] = internet.lab.topology.links_of("h1")
    end = link.end_of("h1")
    assert end.ipv4 is not None
    assert end.ipv6 is not None
    assert str(end.ipv4.ip) not in everything
    assert str(end.ipv6.ip) not in everything
    assert statuses(run, "tcp-connect") == {"ipv4": {"ok"}, "ipv6": {"ok"}}
    assert internet.address(6) in everything


def test_it_needs_no_root(internet: Internet, nobodys_directory: Path) -> None:
    (nobodys_directory / "ca.pem").write_bytes((internet.folder / "ca.pem").read_bytes())
    words = internet.words(NAME, "--workload", "ping", "--workload", "tcp-connect", "--workload", "tls", blocks=2)
    done = run_as_nobody(
        nobodys_directory,
        *words,
        "--out",
        str(nobodys_directory / "run"),
        within=internet.within("h1"),
        SSL_CERT_FILE=str(nobodys_directory / "ca.pem"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = read(nobodys_directory / "run")
    assert run["manifest"]["environment"]["privileges"] == "user"
    for workload in ("ping", "tcp-connect", "tls"):
        assert statuses(run, workload) == {"ipv4": {"ok"}, "ipv6": {"ok"}}, workload


def test_runs_are_compared_and_monitored_as_any_other(internet: Internet) -> None:
    internet.reach(NAME, "--workload", "tcp-connect", name="first")
    internet.reach(NAME, "--workload", "tcp-connect", name="second")
    compared = internet.sixbench("compare", str(internet.folder / "first"), str(internet.folder / "second"), "--json")
    assert "connect_p50" in compared
    watch = internet.folder / "watch"
    words = internet.words(NAME, "--workload", "tcp-connect", blocks=2)
    shown = json.loads(internet.sixbench("monitor", str(watch), "--quiet", "--json", "--", *words))
    assert [occurrence["state"] for occurrence in shown["occurrences"]] == ["complete"]


def test_an_interrupted_run_goes_on_with_the_addresses_that_it_had(internet: Internet) -> None:
    directory = internet.folder / "run"
    words = internet.words(NAME, "--workload", "tcp-connect", blocks=40)
    command = internet.within("h1", sys.executable, "-m", "sixbench", *words, "--out", str(directory))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(list(directory.glob("trials/*/trial.json"))) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_S)
    before = len(read_trials(directory))
    assert 3 <= before < 80
    internet.zone({NAME: {"A": ["198.18.1.77"], "AAAA": [internet.address(6)]}})
    text = " ".join(internet.sixbench("resume", str(directory), "-q").split())
    trials = read_trials(directory)
    assert len(trials) == 80
    assert {trial["evidence"]["server"] for trial in trials} == {internet.address(4), internet.address(6)}
    assert f"{NAME} has other IPv4 addresses at the end of the run (198.18.1.77)" in text
