"""DNS64: an IPv6 client finds an IPv4 server by its name, and reaches it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TEXT = """\
topology:
  nodes: {client: host, r1: router, server: host}
  links: [{endpoints: [client, r1]}, {endpoints: [r1, server]}]
between: [client, server]
paths:
  by-name: {nat64: {nodes: [r1], dns64: r1}}
  as-it-was: {nat-pt: [r1]}
workloads: [ping]
"""
NAME = "names-by-dns64"
SYNTHESISED = "2001:db8:64::c612:102"
ECHO = """
import socket
server = socket.create_server(("198.18.1.2", 7777))
print("ready", flush=True)
connection, peer = server.accept()
connection.sendall(peer[0].encode() + b" " + connection.recv(100))
"""
CLIENT = """
import socket
connection = socket.create_connection(("server", 7777), timeout=30)
connection.sendall(b"hello")
print(connection.getpeername()[0], connection.recv(100).decode())
"""

QUESTIONS = [
    (("+short", "server", "AAAA"), [SYNTHESISED]),
    (("+short", "+tcp", "SERVER", "AAAA"), [SYNTHESISED]),
    (("+short", "+noedns", "server", "A"), ["198.18.1.2"]),
    (("+short", "client", "AAAA"), ["2001:2::1"]),
    (("+short", "+cdflag", "+dnssec", "server", "AAAA"), []),
    (("+short", "-x", SYNTHESISED), ["2.1.18.198.in-addr.arpa.", "server."]),
    (("+noall", "+comments", "+bufsize=1232", "nobody", "AAAA"), ["status: NXDOMAIN", "udp: 1232"]),
    (("+noall", "+comments", "client", "A"), ["status: NOERROR", "ANSWER: 0, AUTHORITY: 1"]),
    (("+noall", "+comments", "+edns=7", "+noednsnegotiation", "server", "A"), ["status: BADVERS"]),
    (("+noall", "+comments", "+opcode=status", "server", "A"), ["status: NOTIMP"]),
    (("+noall", "+comments", "-c", "CH", "version.bind", "TXT"), ["status: REFUSED"]),
]
"""The arguments of `dig`, and what its output has."""


@pytest.fixture
def lab(sixbench: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    file = tmp_path / "office.yaml"
    file.write_text(TEXT)
    before = [Path(f"/etc/{name}").read_bytes() for name in ("hosts", "resolv.conf")]
    up = sixbench("lab", "up", file, "--path", getattr(request, "param", "by-name"), "--lab", NAME)
    assert up.returncode == 0, up.stderr
    yield lambda node, *words: sixbench("lab", "exec", "--lab", NAME, node, "--", *words)
    assert sixbench("lab", "down", "--lab", NAME).returncode == 0
    assert [Path(f"/etc/{name}").read_bytes() for name in ("hosts", "resolv.conf")] == before
    assert not list(Path("/run/sixbench").glob(f"{NAME}*"))


def addresses(done: subprocess.CompletedProcess[str]) -> set[str]:
    assert (done.returncode, done.stderr) == (0, "")
    return {line.split()[0] for line in done.stdout.splitlines()}


def test_the_systems_resolver_finds_the_address_in_the_prefix(lab: Any) -> None:
    assert addresses(lab("client", "getent", "ahostsv6", "server")) == {SYNTHESISED}
    assert addresses(lab("client", "getent", "ahostsv6", "client")) == {"2001:2::1"}
    assert addresses(lab("server", "getent", "ahostsv4", "server")) == {"198.18.1.2"}
    assert addresses(lab("client", "getent", "ahostsv6", "ipv4only.arpa")) == {
        "2001:db8:64::c000:aa",
        "2001:db8:64::c000:ab",
    }
    assert lab("client", "getent", "ahosts", "nobody").returncode == 2
    assert lab("client", "getent", "hosts", SYNTHESISED).stdout.split() == [SYNTHESISED, "server"]


def test_dig_understands_every_answer(lab: Any) -> None:
    for words, told in QUESTIONS:
        done = lab("client", "dig", *words)
        assert (done.returncode, done.stderr) == (0, ""), words
        if "+short" in words:
            assert done.stdout.split() == told, words
        else:
            assert all(one in done.stdout for one in told), (words, done.stdout)
        assert "WARNING" not in done.stdout, (words, done.stdout)


@pytest.mark.parametrize("lab", ["by-name", "as-it-was"], indirect=True)
def test_an_ipv6_client_reaches_an_ipv4_server_by_its_name(lab: Any) -> None:
    done = lab("client", "ping", "-c", "1", "-W", "20", "server")
    assert done.returncode == 0, done.stdout + done.stderr
    assert SYNTHESISED in done.stdout
    words = [sys.executable, "-m", "sixbench", "lab", "exec", "--lab", NAME, "server", "--", sys.executable, "-c", ECHO]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        connected = lab("client", sys.executable, "-c", CLIENT)
        assert connected.returncode == 0, connected.stderr
    # The server sees the router, and the client an address of the prefix.
    assert connected.stdout.split() == [SYNTHESISED, "198.18.1.1", "hello"]
    assert server.returncode == 0
