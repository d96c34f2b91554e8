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


@pytest.fixture
def lab(sixbench: Any, tmp_path: Path) -> Iterator[Any]:
    file = tmp_path / "office.yaml"
    file.write_text(TEXT)
    before = [Path(f"/etc/{name}").read_bytes() for name in ("hosts", "resolv.conf")]
    up = sixbench("lab", "up", file, "--path", "by-name", "--lab", NAME)
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
