"""DNS64: an IPv6 client finds an IPv4 server by its name, and reaches it."""

from __future__ import annotations

import shlex
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


def outputs_of(lab: Any, node: str, commands: list[list[str]]) -> list[tuple[int, str]]:
    """The exit code and the output of commands that run in a node one after the other."""
    end = "====="
    script = "".join(f"{shlex.join(words)}; echo {end} $?\n" for words in commands)
    done = lab(node, "sh", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    collected, output = [], ""
    for line in done.stdout.splitlines(keepends=True):
        if line.startswith(end):
            collected.append((int(line.split()[1]), output))
            output = ""
        else:
            output += line
    return collected


def test_resolvers_and_dig_understand_every_answer(lab: Any) -> None:
    ahosts = [["getent", "ahostsv6", name] for name in ("server", "client", "ipv4only.arpa", "nobody")]
    result = outputs_of(lab, "client", [*ahosts, ["getent", "hosts", SYNTHESISED]])
    assert [(code, {line.split()[0] for line in text.splitlines()}) for code, text in result[:4]] == [
        (0, {SYNTHESISED}),
        (0, {"2001:2::1"}),
        (0, {"2001:db8:64::c000:aa", "2001:db8:64::c000:ab"}),
        (2, set()),
    ]
    assert result[4][1].split() == [SYNTHESISED, "server"]
    assert lab("server", "getent", "ahostsv4", "server").stdout.split()[0] == "198.18.1.2"
    for (words, parts), (code, text) in zip(
        QUESTIONS, outputs_of(lab, "client", [["dig", *words] for words, _ in QUESTIONS]), strict=True
    ):
        is_right = text.split() == parts if "+short" in words else all(part in text for part in parts)
        assert (code, is_right, "WARNING" in text) == (0, True, False), (words, text)


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
