"""`sixbench reach` agrees with curl, scamper and tracepath on the same network: times, hops and MTU.

Skipped where they are not installed (with the reason), failed there if `SIXBENCH_EXPECT_PROGRAMS=1`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from lab.debian_servers import CADDY, make_certificates, require_programs, start_caddy, start_unbound
from lab.reach_network import TIMEOUT_S, Internet, network_of, read, with_client

from sixbench.agent import AgentHub, find_agent

NETWORK = """
nodes: {h1: host, r1: router, r2: router, r3: router, h2: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, r2]}
  - {endpoints: [r2, r3], mtu: 1480}
  - {endpoints: [r3, h2], delay: 200ms}
"""
MTU_BYTES = 1480
HOPS = 4
EXPERIMENT = f"""
experiment: agreement
servers: [{CADDY}]
resolver: 198.18.0.2
workloads: [tcp-connect, http]
blocks: 7
"""
TIMES = 7
WITHIN = 0.02
"""Share by which the shortest times may differ; 8 ms of a round trip. A busy machine only makes times longer."""
CURL = "%{time_connect} %{time_appconnect} %{time_starttransfer}\\n"
FAMILIES = (4, 6)


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    require_programs("caddy", "unbound", "openssl", "curl", "scamper", "tracepath")


@pytest.fixture(scope="module")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    """caddy behind three routers."""
    folder = tmp_path_factory.mktemp("agreement")
    make_certificates(folder, CADDY)
    with AgentHub(find_agent()) as hub, ExitStack() as stack:
        internet = with_client(network_of(hub, NETWORK), folder, "198.18.0.2")
        start_caddy(internet, stack, "h2")
        records = [f"{CADDY}. 60 IN A {internet.address(4)}", f"{CADDY}. 60 IN AAAA {internet.address(6)}"]
        start_unbound(internet, stack, "r1", "198.18.0.2", records)
        yield internet


@pytest.fixture(scope="module")
def run(internet: Internet) -> dict[str, Any]:
    """A run of an experiment with that server."""
    file = internet.folder / "agreement.yaml"
    file.write_text(EXPERIMENT)
    internet.sixbench("run", str(file), "-q", "--out", str(internet.folder / "run"))
    return read(internet.folder / "run")


def output(internet: Internet, *words: str) -> str:
    """The output of a program at the client."""
    done = subprocess.run(internet.within("h1", *words), capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def family_of(run: dict[str, Any], family: int) -> dict[str, Any]:
    """The survey of the server in one family."""
    [server] = run["manifest"]["environment"]["survey"]["servers"]
    entry: dict[str, Any] = server["families"][f"ipv{family}"]
    return entry


def attempts(run: dict[str, Any], workload: str, family: int) -> list[dict[str, Any]]:
    return [
        attempt
        for trial in run["trials"]
        if (trial["workload"], trial["path"]) == (workload, f"ipv{family}")
        for attempt in trial["client"]["attempts"]
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_times_are_those_of_curl(internet: Internet, run: dict[str, Any], family: int) -> None:
    address = internet.address(family)
    host = f"[{address}]" if family == 6 else address
    words = ["curl", "--silent", "--output", "/dev/null", "--http1.1", "--cacert", internet.trusted]
    words += ["--resolve", f"{CADDY}:443:{host}", "--write-out", CURL, f"https://{CADDY}/"]
    lines = [output(internet, *words).split() for _ in range(TIMES)]
    connect_s, handshake_s, first_byte_s = (min(float(line[column]) for line in lines) for column in range(3))
    by_tcp, by_http = attempts(run, "tcp-connect", family), attempts(run, "http", family)
    assert len(by_tcp) == len(by_http) == TIMES
    for times_ns, expected_s in (
        ([attempt["elapsed_ns"] for attempt in by_tcp], connect_s),
        ([attempt["connect_ns"] for attempt in by_http], connect_s),
        ([attempt["connect_ns"] + attempt["handshake_ns"] for attempt in by_http], handshake_s),
        ([attempt["first_byte_ns"] for attempt in by_http], first_byte_s),
    ):
        assert min(times_ns) / 1e9 == pytest.approx(expected_s, rel=WITHIN)


@pytest.mark.parametrize("family", FAMILIES)
def test_hops_are_those_of_scamper(internet: Internet, run: dict[str, Any], family: int) -> None:
    # By ICMP: it knows its own datagrams of UDP over IPv6 by the checksum, which veth leaves to the hardware.
    words = ["scamper", "-O", "json", "-c", "trace -P icmp-paris", "-i", internet.address(family)]
    lines = output(internet, *words).splitlines()
    [traced] = [item for item in map(json.loads, lines) if item["type"] == "trace"]
    hops = [[hop["addr"]] for hop in sorted(traced["hops"], key=lambda hop: hop["probe_ttl"])]
    assert len(hops) == HOPS
    for reading in family_of(run, family)["routes"]:
        assert reading["ended"] == "reached"
        assert reading["hops"] == hops


@pytest.mark.parametrize("family", FAMILIES)
def test_the_path_mtu_is_that_of_tracepath(internet: Internet, run: dict[str, Any], family: int) -> None:
    text = output(internet, "tracepath", f"-{family}", "-n", internet.address(family))
    [summary] = [line.split() for line in text.splitlines() if "Resume:" in line]
    traced = {name: int(value) for name, value in zip(summary[1::2], summary[2::2], strict=False)}
    assert (traced["pmtu"], traced["hops"]) == (MTU_BYTES, HOPS)
    for reading in family_of(run, family)["path_mtus"]:
        assert (reading["mtu_bytes"], reading["packet_too_big"]) == (traced["pmtu"], "came")
