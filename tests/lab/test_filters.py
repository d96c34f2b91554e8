"""Treatment of packets by routers, in real namespaces: seen in packets that tshark reads, and counted by nftables."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sixbench.agent import AgentHub
from sixbench.agent.requests import CaptureStop
from sixbench.bench.events import Events, forget_path_mtu
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.model.direction import UNLIMITED
from sixbench.model.experiment import LinkChange
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

SERVER = {4: "198.18.2.2", 6: "2001:2:0:2::2"}
"""Address of h2 in a chain h1, r1, r2, h2."""

FRAGMENTED_BYTES = 2000
"""Payload of a datagram that takes two fragments over an MTU of 1500."""


RESET = """
import socket, struct, sys
family, _, _, _, (to, *_) = socket.getaddrinfo(sys.argv[1], 9, type=socket.SOCK_STREAM)[0]
with socket.socket(family, socket.SOCK_RAW, 6) as sender:
    sender.connect((to, 0))
    ends = b"".join(socket.inet_pton(family, end) for end in (sender.getsockname()[0], to))
    reset = bytearray(struct.pack("!HHIIHHHH", 40000, 9, 1, 0, 0x5004, 1000, 0, 0))
    total = sum(struct.unpack(f"!{(len(ends) + 20) // 2}H", ends + reset)) + 6 + len(reset)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    reset[16:18] = struct.pack("!H", 0xFFFF ^ total)
    sender.send(bytes(reset))
"""
"""Sends the reset of a connection that nobody has begun."""


@pytest.fixture
def build(hub: AgentHub) -> Callable[[str], Laboratory]:
    """Builds a network; it goes with the hub."""
    return lambda text: Laboratory(hub, Blueprint(topology=read_topology_only(parse_yaml(text, "test.yaml"))))


def execute(lab: Laboratory, node: str, *argv: str) -> tuple[int, str]:
    done = lab.agents[node].call("exec", argv=list(argv))
    return int(done["exit"]), str(done["stdout"]) + str(done["stderr"])


def ping(lab: Laboratory, family: int, *options: str) -> tuple[int, str]:
    """From h1 to h2, once."""
    return execute(lab, "h1", "ping", "-n", "-c", "1", "-W", "1", *options, SERVER[family])


def counted(lab: Laboratory, node: str) -> dict[str, int]:
    """Packets that a node's ruleset counted, by counter."""
    _, text = execute(lab, node, "nft", "-j", "list", "counters")
    counters = [item["counter"] for item in json.loads(text)["nftables"] if "counter" in item]
    return {counter["name"]: counter["packets"] for counter in counters}


@contextmanager
def captured(lab: Laboratory, node: str, interface: str, fields: list[str], tmp_path: Path) -> Iterator[list[str]]:
    """Packets that a node sees meanwhile, as tshark reads them once it is over: a line a packet."""
    agent = lab.agents[node]
    agent.call(
        "capture-start",
        capture="test",
        interface=interface,
        addresses=[],
        after_ns=0,
        max_packets=1000,
        max_ns=60_000_000_000,
        snaplen_bytes=65535,
    )
    lines: list[str] = []
    yield lines
    packets = agent.answer(CaptureStop(capture="test")).packets
    file = tmp_path / "captured.pcapng"
    file.write_bytes(to_pcapng(packets, interface, 65535))
    options = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", str(file), "-T", "fields", "-E", "separator= ", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    lines += [line.strip() for line in done.stdout.splitlines() if line.strip()]


@pytest.mark.parametrize(("family", "seen"), [(4, "198.18.2.1"), (6, "2001:2:0:2::1")])
def test_a_chain_that_masquerades_shows_the_last_router(
    build: Callable[[str], Laboratory], tmp_path: Path, family: int, seen: str
) -> None:
    lab = build("chain: 4\nmasquerade: true")
    source = "ip.src" if family == 4 else "ipv6.src"
    kind = "icmp.type" if family == 4 else "icmpv6.type"
    request = "8" if family == 4 else "128"
    with captured(lab, "h2", "eth0", [kind, source], tmp_path) as lines:
        code, output = ping(lab, family)
    assert code == 0, output
    assert f"{request} {seen}" in lines
    assert [counted(lab, router)["masqueraded"] for router in ("r1", "r2")] == [1, 1]


@pytest.mark.parametrize("family", [4, 6])
def test_what_a_router_cannot_masquerade_goes_no_further(
    build: Callable[[str], Laboratory], tmp_path: Path, family: int
) -> None:
    lab = build("chain: 4\nnodes: {r1: {masquerade: true}}")
    kinds = ["tcp.flags.reset", "ip.src" if family == 4 else "ipv6.src"]
    with captured(lab, "r2", "eth0", kinds, tmp_path) as lines:
        code, output = execute(lab, "h1", sys.executable, "-c", RESET, SERVER[family])
        assert code == 0, output
        # The one behind it is translated, and tells that the reset is through.
        code, output = ping(lab, family)
        assert code == 0, output
    assert counted(lab, "r1")["untranslated"] == 1
    inside = "198.18.0.1" if family == 4 else "2001:2::1"
    assert lines
    assert not [line for line in lines if line.endswith(f" {inside}") or line == inside], lines


SEND_TO_TWO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.bind(("", 40000))
    for port in (9, 10):
        sender.sendto(b"", (sys.argv[1], port))
"""


@pytest.mark.parametrize(("ports", "is_own"), [("kept", True), ("random", False)])
def test_a_symmetric_nat_has_another_port_for_each_destination(
    build: Callable[[str], Laboratory], tmp_path: Path, ports: str, is_own: bool
) -> None:
    """RFC 4787 section 4.1."""
    lab = build(f"chain: 4\nnodes: {{r1: {{masquerade: true, nat-ports: {ports}}}}}")
    with captured(lab, "r2", "eth0", ["ip.src", "udp.srcport"], tmp_path) as lines:
        code, output = execute(lab, "h1", sys.executable, "-c", SEND_TO_TWO, SERVER[4])
        assert code == 0, output
        ping(lab, 4)
    seen = {line.split()[1] for line in lines if line.startswith("198.18.1.1 ") and len(line.split()) > 1}
    assert seen == {"40000"} if is_own else len(seen) == 2, lines


@pytest.mark.parametrize(("family", "clamped", "mss"), [(4, True, "1260"), (4, False, "1460"), (6, True, "1240")])
def test_a_router_that_clamps_cuts_the_mss_to_its_links(
    build: Callable[[str], Laboratory], tmp_path: Path, family: int, clamped: bool, mss: str
) -> None:
    lab = build(f"chain: 4\nnodes: {{r1: {{mss-clamp: {str(clamped).lower()}}}}}\nlinks: {{r1-r2: {{mtu: 1300}}}}")
    with captured(lab, "h2", "eth0", ["tcp.flags.syn", "tcp.flags.ack", "tcp.options.mss_val"], tmp_path) as lines:
        execute(lab, "h1", "bash", "-c", f"echo > /dev/tcp/{SERVER[family]}/9")
    syn = [line for line in lines if line.endswith(mss) and line.split()[0] in ("1", "True")]
    assert syn, lines
    if clamped:
        assert counted(lab, "r1")["clamped"] >= 1


TOO_BIG = ("-M", "do", "-s", "1400")


@pytest.mark.parametrize("family", [4, 6])
def test_a_black_hole_keeps_what_is_too_big_to_itself(build: Callable[[str], Laboratory], family: int) -> None:
    narrow = "links: {r1-r2: {mtu: 1300}}"
    for policy, tells_mtu, tells_time in (("all", True, True), ("no-too-big", False, True), ("none", False, False)):
        lab = build(f"chain: 4\nnodes: {{r1: {{icmp: {policy}}}}}\n{narrow}")
        _, output = ping(lab, family, *TOO_BIG)
        assert ("mtu" in output) is tells_mtu, output
        _, output = ping(lab, family, "-t", "1")
        assert ("exceeded" in output) is tells_time, output
        code, output = ping(lab, family)
        assert code == 0, output
        if policy != "all":
            name = "too-big" if policy == "no-too-big" else "icmp-errors"
            assert counted(lab, "r1")[name] == (1 if policy == "no-too-big" else 2)
        lab.close()


def test_what_another_router_tells_is_filtered_on_the_way(build: Callable[[str], Laboratory]) -> None:
    lab = build("chain: 5\nnodes: {r1: {icmp: no-too-big}}\nlinks: {r2-r3: {mtu: 1300}}")
    for address in ("198.18.3.2", "2001:2:0:3::2"):
        code, output = execute(lab, "h1", "ping", "-n", "-c", "1", "-W", "0.5", *TOO_BIG, address)
        assert code != 0
        assert "mtu" not in output
    assert counted(lab, "r1")["too-big"] == 2


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize(
    ("drop", "offsets"), [("first-fragments", {"later"}), ("later-fragments", {"first"}), ("fragments", set())]
)
def test_fragments_are_dropped_by_their_place(
    build: Callable[[str], Laboratory], tmp_path: Path, family: int, drop: str, offsets: set[str]
) -> None:
    lab = build(f"chain: 4\nnodes: {{r1: {{drop: {drop}}}}}")
    assert ping(lab, family)[0] == 0
    offset = "ip.frag_offset" if family == 4 else "ipv6.fraghdr.offset"
    protocol = "ip.flags.mf" if family == 4 else "ipv6.fraghdr.more"
    with captured(lab, "h2", "eth0", [offset, protocol], tmp_path) as lines:
        code, _ = ping(lab, family, "-s", str(FRAGMENTED_BYTES))
    assert code != 0
    pieces = {"later" if line.split()[0] not in ("0", "0x0000") else "first" for line in lines if _is_piece(line)}
    assert pieces == offsets, lines
    assert counted(lab, "r1")[drop] == (2 if drop == "fragments" else 1)


def _is_piece(line: str) -> bool:
    words = line.split()
    return len(words) == 2 and (words[0] not in ("0", "0x0000") or words[1] in ("1", "True"))


@pytest.mark.parametrize("masquerade", ["false", "true"])
def test_path_mtu_discovery_works_through_routers_that_masquerade(
    build: Callable[[str], Laboratory], masquerade: str
) -> None:
    """The chain of the paper: each router tells the sender the MTU of the next link."""
    lab = build(f"chain: 6\nmtu: 1500 - 15 per link\nmasquerade: {masquerade}")
    for server in ("198.18.4.2", "2001:2:0:4::2"):
        _, output = execute(lab, "h1", "tracepath", "-n", server)
        mtus = [int(words.split()[0]) for words in output.split("pmtu ")[1:]]
        assert list(dict.fromkeys(mtus)) == [1500, 1485, 1470, 1455, 1440], output
        assert "mtu 1440" in execute(lab, "h1", "ip", "route", "get", server)[1]


def mtu_change(at_ns: int) -> LinkChange:
    return LinkChange(at_ns=at_ns, link="r1-r2", mtu_bytes=1300, directions=(UNLIMITED, UNLIMITED))


def test_an_event_lowers_an_mtu_and_undoing_it_leaves_no_trace(build: Callable[[str], Laboratory]) -> None:
    lab = build("chain: 4")
    events = Events(lab, [mtu_change(1_000_000)])
    with events:
        events.start()
        events.wait()
        assert [(done.link, done.mtu_bytes) for done in events.done] == [("r1-r2", 1300)]
        for family in (4, 6):
            assert "1300" in ping(lab, family, *TOO_BIG)[1]
            assert "mtu 1300" in execute(lab, "h1", "ip", "route", "get", SERVER[family])[1]
    for family in (4, 6):
        assert "mtu" not in execute(lab, "h1", "ip", "route", "get", SERVER[family])[1]
        assert ping(lab, family, *TOO_BIG)[0] == 0


def test_an_event_that_is_not_due_yet_does_not_happen(build: Callable[[str], Laboratory]) -> None:
    lab = build("chain: 4")
    with Events(lab, [mtu_change(3600 * 10**9)]) as events:
        events.start()
    assert events.done == []
    assert ping(lab, 4, *TOO_BIG)[0] == 0


def test_nodes_forget_the_path_mtu(build: Callable[[str], Laboratory]) -> None:
    lab = build("chain: 4\nlinks: {r1-r2: {mtu: 1300}}")
    for family in (4, 6):
        ping(lab, family, *TOO_BIG)
        assert "mtu 1300" in execute(lab, "h1", "ip", "route", "get", SERVER[family])[1]
    forget_path_mtu(lab, ["h1"])
    for family in (4, 6):
        assert "mtu" not in execute(lab, "h1", "ip", "route", "get", SERVER[family])[1]


def test_a_run_through_routers_that_masquerade_proves_its_path(
    sixbench: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    file, out = tmp_path / "chain.yaml", tmp_path / "run"
    file.write_text(
        "topology: {chain: 5, masquerade: true, mtu: 1500 - 15 per link}\n"
        "paths: {ipv4: native4, ipv6: native6}\nblocks: 1\n"
        "workloads: [{udp-stream: {datagram: 1470B, rate: 1Mbit, duration: 200ms, warmup: 50ms}}]\n"
    )
    done = sixbench("run", file, "--out", out, "--quiet", figures=False)
    assert done.returncode == 0, done.stderr
    trials = [json.loads(path.read_text()) for path in sorted(out.glob("trials/*/trial.json"))]
    assert [(trial["path"], trial["status"], trial["reasons"]) for trial in trials] == [
        ("ipv4", "ok", []),
        ("ipv6", "ok", []),
    ]
    for trial, pair in zip(trials, ("198.18.3.1 > 198.18.3.2", "2001:2:0:3::1 > 2001:2:0:3::2"), strict=True):
        assert list(trial["evidence"]["segments"][-1]["outer"]) == [pair]
        filters = trial["evidence"]["filters"]
        assert list(filters) == ["r1", "r2", "r3"]
        assert all(counters["masqueraded"] >= 1 for counters in filters.values())
