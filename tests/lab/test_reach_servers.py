"""`sixbench reach` with Debian's caddy, nginx and unbound behind a router that fails in one way after the other.

Skipped where they are not installed (with the reason), failed there if `SIXBENCH_EXPECT_PROGRAMS=1`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from lab.debian_servers import (
    CADDY,
    NGINX,
    PORTAL,
    make_certificates,
    require_programs,
    start_caddy,
    start_nginx,
    start_unbound,
)
from lab.networks import built
from lab.reach_network import Internet, network_of, statuses, with_client

from sixbench.agent import AgentHub, find_agent

NETWORK = """
nodes: {h1: host, r1: router, h2: host, h3: host}
links:
  - {endpoints: [h1, r1]}
  - {endpoints: [r1, h2]}
  - {endpoints: [r1, h3]}
"""
OVER_TRANSLATION = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {path: PATH}
"""
TRANSLATED = "2001:db8:64::c612:102"
"""The address that a DNS64 makes of the server's."""
CLIENT, ROUTER, SERVER = "2001:2::1", "2001:2::2", "198.18.1.2"


@pytest.fixture(scope="module", autouse=True)
def _programs() -> None:
    require_programs("caddy", "nginx", "unbound", "openssl")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def internet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Internet]:
    """caddy, nginx and unbound with both families."""
    folder = tmp_path_factory.mktemp("servers")
    make_certificates(folder, CADDY, NGINX, PORTAL)
    with AgentHub(find_agent()) as hub, ExitStack() as stack:
        lab = network_of(hub, NETWORK)
        internet = with_client(lab, folder, "198.18.0.2")
        start_caddy(internet, stack, "h2")
        start_nginx(internet, stack, "h3")
        start_nginx(internet, stack, "r1", PORTAL, port=8443)
        records = [f"{CADDY}. 60 IN HTTPS 1 . alpn=h2,h3"]
        for name, node in ((CADDY, "h2"), (NGINX, "h3")):
            records += [f"{name}. 60 IN A {internet.address(4, node)}"]
            records += [f"{name}. 60 IN AAAA {internet.address(6, node)}"]
        start_unbound(internet, stack, "r1", "198.18.0.2", records)
        yield internet


@contextmanager
def rules(internet: Internet, text: str) -> Iterator[None]:
    """The router with rules of nftables in a chain of its own, as long as the context is open."""
    internet.execute("r1", "nft", f"table inet faults {{\n{text}\n}}")
    try:
        yield
    finally:
        internet.execute("r1", "nft", "delete table inet faults")


def forwarding(rule: str) -> str:
    return f"chain forward {{ type filter hook forward priority -5; {rule}; }}"


def survey_of(run: dict[str, Any]) -> dict[str, Any]:
    """The servers of the survey, by their labels."""
    return {server["label"]: server for server in run["manifest"]["environment"]["survey"]["servers"]}


def test_versions_that_caddy_and_nginx_have_are_measured_and_the_others_left_out(internet: Internet) -> None:
    run = internet.reach(CADDY, NGINX, "--workload", "http", "--workload", "quic-connect", "--workload", "dns")
    assert "What does not work" not in run["text"]
    measured = {
        (trial["levels"]["server"], trial["workload"], trial["params"].get("version"))
        for trial in run["trials"]
        if trial["status"] == "ok"
    }
    assert {trial["status"] for trial in run["trials"]} == {"ok"}
    assert measured == {
        *((CADDY, "http", version) for version in ("1.1", "2", "3")),
        *((NGINX, "http", version) for version in ("1.1", "2")),
        *((name, "dns", None) for name in (CADDY, NGINX)),
        (CADDY, "quic-connect", None),
    }
    left_out = survey_of(run)[NGINX]["left_out"]
    assert left_out["http 3"] == left_out["quic-connect"] == "not offered: refused over IPv4 and refused over IPv6"
    assert survey_of(run)[CADDY]["announced"] == ["h2", "h3"]


def test_http_3_that_is_blocked_over_ipv6_is_named(internet: Internet) -> None:
    with rules(internet, forwarding("ip6 nexthdr udp udp dport 443 drop")):
        run = internet.reach(CADDY, "--workload", "http", name="blocked6")
    words = f"IPv6 to {CADDY} ({internet.address(6)}) fails by http 3: UDP unanswered in 3 of 3, while"
    assert words in run["text"]
    assert "http 3 over IPv4 answer." in run["text"]


def test_http_3_that_is_announced_and_blocked_is_named(internet: Internet) -> None:
    with rules(internet, forwarding("udp dport 443 drop")):
        run = internet.reach(CADDY, "--workload", "http", name="blocked")
    words = f"{CADDY} announces HTTP/3 in its HTTPS record, and UDP does not lead to it: silence over IPv4 and silence"
    assert f"{words} over IPv6." in run["text"]
    assert statuses(run, "http") == {"ipv4": {"ok"}, "ipv6": {"ok"}}


def test_syns_that_are_dropped_while_echoes_are_answered_are_named(internet: Internet) -> None:
    with rules(internet, forwarding("ip6 nexthdr tcp tcp flags & (syn | ack) == syn drop")):
        run = internet.reach(CADDY, "--workload", "tcp-connect", "--workload", "ping", name="dropped")
    words = f"IPv6 to {CADDY} ({internet.address(6)}) fails by tcp-connect: SYN unanswered in 3 of 3, while"
    assert f"{words} tcp-connect over IPv4 and ping over IPv6 answer." in run["text"]


def test_connections_that_are_reset_at_the_first_data_are_named(internet: Internet) -> None:
    with rules(internet, forwarding("ip6 nexthdr tcp tcp dport 443 tcp flags & psh == psh reject with tcp reset")):
        run = internet.reach(CADDY, "--workload", "tcp-connect", "--workload", "tls", name="reset")
    words = f"IPv6 to {CADDY} ({internet.address(6)}) fails by tls: reset in 3 of 3"
    assert words in run["text"]
    assert "while tcp-connect over IPv6 and tls over IPv4 answer." in run["text"]


def test_a_portal_in_the_way_is_named(internet: Internet) -> None:
    chain = "chain prerouting { type nat hook prerouting priority dstnat; tcp dport 443 redirect to :8443; }"
    with rules(internet, chain):
        run = internet.reach(CADDY, "--workload", "tls", "--workload", "tcp-connect", name="portal")
    for family, address in (("IPv4", internet.address(4)), ("IPv6", internet.address(6))):
        words = f"{family} to {CADDY} ({address}) fails by tls: answered by a certificate of another name"
        assert words in run["text"]


def translated(hub: AgentHub, folder: Any, path: str) -> Internet:
    """A network with a translator in it."""
    lab, _, _ = built(hub, OVER_TRANSLATION.replace("PATH", path))
    make_certificates(folder, CADDY)
    return with_client(lab, folder, ROUTER)


def test_a_server_behind_dns64_and_nat64_is_ipv4_by_nat64(hub: AgentHub, tmp_path: Any, stack: ExitStack) -> None:
    internet = translated(hub, tmp_path, "{nat64: [r1]}")
    start_caddy(internet, stack, "h2")
    start_unbound(internet, stack, "r1", ROUTER, [f"{CADDY}. 60 IN A {SERVER}"], dns64=True)
    run = internet.reach(CADDY)
    assert "IPv6 from here is NAT64; IPv4 leads to no server from here." in run["text"]
    assert (
        f"{CADDY} has no IPv6 address of its own: a DNS64 made {TRANSLATED}, so that its IPv6 is IPv4 by NAT64."
        in run["text"]
    )
    assert f"This machine has no route to {CADDY} over IPv4 ({SERVER})." in run["text"]
    survey = run["manifest"]["environment"]["survey"]
    assert survey["vantage"]["nat64_prefixes"] == ["2001:db8:64::/96"]
    assert survey["servers"][0]["families"]["ipv6"]["kind"] == "nat64"
    for workload in ("ping", "tcp-connect", "tls", "http"):
        assert statuses(run, workload) == {"ipv6": {"ok"}}, workload
    assert "fails by" not in run["text"]


def test_ipv4_by_a_clat_is_named(hub: AgentHub, tmp_path: Any, stack: ExitStack) -> None:
    internet = translated(hub, tmp_path, "{464xlat: [h1, r1]}")
    for node, device, address in (("r1", "eth1", "2001:2:0:1::1"), ("h2", "eth0", "2001:2:0:1::2")):
        internet.execute(node, "ip", "-6", "address", "add", f"{address}/64", "dev", device, "nodad")
    internet.execute("h2", "ip", "-6", "route", "add", "default", "via", "2001:2:0:1::1")
    start_caddy(internet, stack, "h2")
    records = [f"{CADDY}. 60 IN A {SERVER}", f"{CADDY}. 60 IN AAAA 2001:2:0:1::2"]
    start_unbound(internet, stack, "r1", ROUTER, records, dns64=True)
    run = internet.reach(CADDY)
    assert "IPv6 from here is native; IPv4 from here is a CLAT." in run["text"]
    [server] = run["manifest"]["environment"]["survey"]["servers"]
    assert server["families"]["ipv4"]["source"] == "192.0.0.2"
    for workload in ("ping", "tcp-connect", "tls", "http"):
        assert statuses(run, workload) == {"ipv4": {"ok"}, "ipv6": {"ok"}}, workload
    assert "fails by" not in run["text"]
