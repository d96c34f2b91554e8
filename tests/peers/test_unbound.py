"""unbound's DNS64 beside ours: the same names in the same node, the same questions, the same answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

NAME = "beside-unbound"
NETWORK = """\
topology:
  nodes: {client: host, r1: router, server: host}
  links: [{endpoints: [client, r1]}, {endpoints: [r1, server]}]
between: [client, server]
paths:
  by-name: {nat64: {nodes: [r1], dns64: r1}}
workloads: [ping]
"""
ZONE = """\
$TTL 60
. SOA . . 1 60 60 60 60
. NS r1.
server. A 198.18.1.2
client. AAAA 2001:2::1
r1. A 198.18.1.1
r1. AAAA 2001:2::2
ipv4only.arpa. A 192.0.0.170
ipv4only.arpa. A 192.0.0.171
2.1.18.198.in-addr.arpa. PTR server.
"""
CONFIGURATION = """\
server:
  do-daemonize: no
  use-syslog: no
  verbosity: 1
  chroot: ""
  username: ""
  pidfile: ""
  directory: "{directory}"
  interface: 2001:2::2@5300
  access-control: ::/0 allow
  module-config: "dns64 iterator"
  dns64-prefix: 2001:db8:64::/96
  unblock-lan-zones: yes
  insecure-lan-zones: yes
remote-control:
  control-enable: no
auth-zone:
  name: "."
  zonefile: "{directory}/zone"
  for-downstream: no
  for-upstream: yes
  fallback-enabled: no
"""
QUESTIONS = (
    *(
        "server AAAA",
        "SERVER AAAA",
        "server A",
        "client AAAA",
        "client A",
        "r1 AAAA",
        "r1 A",
        "nobody AAAA",
        "nobody A",
    ),
    *("ipv4only.arpa AAAA", "ipv4only.arpa A", "server TXT", "server.nobody AAAA", "-x 198.18.1.2"),
    *("+tcp server AAAA", "+dnssec server AAAA", "+cdflag +dnssec server AAAA", "+cdflag +dnssec r1 AAAA"),
)
POINTER = "-x 2001:db8:64::c612:102"

InNode = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def _unbound() -> None:
    missing = [
        name for name in ("unbound", "dig") if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]
    if missing:
        if os.environ.get("SIXBENCH_EXPECT_UNBOUND") == "1":
            pytest.fail(f"{missing[0]} is not installed")
        pytest.skip(f"{missing[0]} is not installed; its package starts a resolver, so make does not install it")


@pytest.fixture
def in_node(tmp_path: Path) -> Iterator[InNode]:
    """The command that runs words in a node of a network whose router has our resolver."""
    file = tmp_path / "network.yaml"
    file.write_text(NETWORK)
    command = [sys.executable, "-m", "sixbench", "lab"]
    subprocess.run([*command, "up", str(file), "--path", "by-name", "--lab", NAME], check=True, capture_output=True)
    yield lambda node, *words: [*command, "exec", "--lab", NAME, node, "--", *words]
    subprocess.run([*command, "down", "--lab", NAME], check=True, capture_output=True)


@pytest.fixture
def beside(in_node: InNode, tmp_path: Path) -> Iterator[None]:
    """unbound in the same node, at another port."""
    (tmp_path / "zone").write_text(ZONE)
    (tmp_path / "unbound.conf").write_text(CONFIGURATION.format(directory=tmp_path))
    words = in_node("r1", "unbound", "-d", "-c", str(tmp_path / "unbound.conf"))
    path = f"{os.environ['PATH']}:/usr/sbin"
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ | {"PATH": path}) as unbound:
        assert unbound.stderr is not None
        said = []
        for line in unbound.stderr:
            said.append(line)
            if "start of service" in line:
                break
        assert "start of service" in said[-1], said
        yield
        unbound.terminate()


def asked(in_node: InNode, port: int, questions: tuple[str, ...]) -> list[tuple[str, list[list[str]]]]:
    """The status of each answer and its records, sorted, without how long they may be kept."""
    dig = f"dig @2001:2::2 -p {port} +noall +answer +comments"
    script = "".join(f"{dig} {question}; echo =====\n" for question in questions)
    done = subprocess.run(in_node("client", "sh", "-c", script), capture_output=True, text=True, check=True)
    found = []
    for text in done.stdout.split("=====\n")[:-1]:
        [status] = [line.partition("status: ")[2].partition(",")[0] for line in text.splitlines() if "status: " in line]
        records = [line.split() for line in text.splitlines() if line and not line.startswith(";")]
        found.append((status, sorted([owner, kind, data] for owner, _, _, kind, data in records)))
    return found


@pytest.mark.usefixtures("beside")
def test_ours_and_unbound_answer_the_same(in_node: InNode) -> None:
    ours, theirs = (asked(in_node, port, QUESTIONS) for port in (53, 5300))
    for question, own, other in zip(QUESTIONS, ours, theirs, strict=True):
        assert own == other, question
    # Ours has a CNAME besides (RFC 6147 section 5.3.1 has both ways).
    [(status, records)], [(other_status, [[_, kind, name]])] = (asked(in_node, port, (POINTER,)) for port in (53, 5300))
    assert (status, other_status) == ("NOERROR", "NOERROR")
    assert sorted(record[1:] for record in records) == [["CNAME", "2.1.18.198.in-addr.arpa."], ["PTR", "server."]]
    assert (kind, name) == ("PTR", "server.")
