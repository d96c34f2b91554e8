"""Links with a known truth in real namespaces: what was configured is what the ledger finds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.lab.emulation import change, emulated_links, requests
from sixbench.model.network import Blueprint
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml
from sixbench.store import read_run

from .experiments import TESTERS

BATCH = 32
"""Packets that the emulator takes at once."""
VIRTUAL_HEADER_BYTES = 10
"""Before each packet in its memory: `struct virtio_net_hdr`."""

NETWORK = """
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], name: near, {near}}}
    - {{endpoints: [r1, h2], name: far, {far}}}
paths: {{ipv4: native4, ipv6: native6}}
blocks: 1
repeats: 0
workloads: [{workload}]
"""
DATAGRAMS = "{udp-stream: {datagram: 100B, rate: 500pps, count: 200, warmup: 0s}}"


def run(
    sixbench: Any, folder: Path, workload: str, near: str = "mtu: 1500", far: str = "mtu: 1500", more: str = ""
) -> list[dict[str, Any]]:
    """The records of a run. That a busy machine kept sender or emulator from its pace is no fault of the link."""
    file, out = folder / "links.yaml", folder / "run"
    file.write_text(NETWORK.format(near=near, far=far, workload=workload) + more)
    done = sixbench("run", file, "--out", out, "--quiet", figures=False)
    assert done.returncode in (0, 4), done.stderr
    records = [json.loads(path.read_text()) for path in sorted(out.glob("trials/*/trial.json"))]
    assert records
    assert [record["path"] for record in records] == ["ipv4", "ipv6"] * (len(records) // 2)
    wrong = [reason for record in records for reason in record["reasons"] if reason["kind"] not in TESTERS]
    assert wrong == []
    return records


def test_exactly_the_listed_packets_are_lost_and_named_at_their_link(sixbench: Any, tmp_path: Path) -> None:
    records = run(
        sixbench,
        tmp_path,
        DATAGRAMS,
        near="emulator: user, forward: {lost-packets: 0 7-9 199}",
        far="emulator: user, delay: 2ms, forward: {lost-packets: 50}",
    )
    for record in records:
        assert record["server"]["sequences"]["lost"]["ranges"] == [[0, 0], [7, 9], [54, 54], [199, 199]]
        places = {place["link"]: place for place in record["evidence"]["losses"]["located"]}
        assert places["near"]["sequences"] == [[0, 0], [7, 9], [199, 199]]
        assert places["near"]["where"] == "on near, coming from h1"
        # The far link never saw the four before its own fiftieth.
        assert places["far"]["sequences"] == [[54, 54]]
        assert record["evidence"]["losses"]["unlocated"] == 0


def test_exactly_the_listed_packets_come_twice_or_late(sixbench: Any, tmp_path: Path) -> None:
    records = run(
        sixbench, tmp_path, DATAGRAMS, near="forward: {duplicated-packets: 3 20-21, late-packets: 100 150, late-by: 2}"
    )
    for record in records:
        sequences = record["server"]["sequences"]
        assert sequences["duplicate"]["ranges"] == [[3, 3], [20, 21]]
        assert sequences["reordered"]["ranges"] == [[100, 100], [150, 150]]
        assert sequences["lost"]["ranges"] == []
        kept = record["evidence"]["emulation"]["near"]
        assert kept["emulator"] == "user"
        assert (kept["forward"]["duplicated"], kept["forward"]["late"], kept["forward"]["lost"]) == (3, 2, 0)


def test_both_families_of_a_block_lose_the_same_datagrams(sixbench: Any, tmp_path: Path) -> None:
    first, second = run(sixbench, tmp_path, DATAGRAMS, far="emulator: user, loss: 20%, loss-burst: 3")
    assert first["server"]["sequences"]["lost"] == second["server"]["sequences"]["lost"]
    assert first["server"]["sequences"]["lost"]["ranges"]


def test_a_delay_is_what_it_says_and_its_error_is_told(sixbench: Any, tmp_path: Path) -> None:
    workload = "{ping: {count: 40, interval: 5ms}}"
    for record in run(sixbench, tmp_path, workload, near="emulator: user, delay: 10ms, reverse: {delay: 20ms}"):
        kept = record["evidence"]["emulation"]["near"]
        # Never early; how late, a busy machine decides, and the record says.
        assert kept["forward"]["delay"]["min"] >= 0.999 * 10_000_000
        assert kept["reverse"]["delay"]["min"] >= 0.999 * 20_000_000
        assert kept["forward"]["lateness"]["count"] == 40
        assert record["metrics"]["rtt_min_ns"] >= 30_000_000


@pytest.mark.parametrize("in_order", ["true", "false"])
def test_packets_in_order_wait_for_those_before_them(sixbench: Any, tmp_path: Path, in_order: str) -> None:
    link = f"emulator: user, delay: 10ms, jitter: 9ms, forward: {{in-order: {in_order}}}"
    for record in run(sixbench, tmp_path, DATAGRAMS, near=link):
        delay = record["evidence"]["emulation"]["near"]["forward"]["delay"]
        assert delay["max"] - delay["min"] > 9_000_000
        assert bool(record["server"]["sequences"]["reordered"]["ranges"]) == (in_order == "false")


def test_each_direction_has_its_own_rate(sixbench: Any, tmp_path: Path) -> None:
    """Two datagrams in three are more than the slower direction takes."""
    workload = "{udp-stream: {datagram: 1000B, rate: 3Mbit, duration: 1s, warmup: 0s, direction: [forward, reverse]}}"
    link = "profile: village, queue: 20ms, loss: 0%"
    profile = "profiles: {village: {down: {rate: 20Mbit, delay: 1ms}, up: {rate: 1Mbit, delay: 1ms}}}\n"
    ratios: dict[str, float] = {}
    for record in run(sixbench, tmp_path, workload, near=link, far="offload: false", more=profile):
        ratios[record["levels"]["direction"]] = record["metrics"]["loss_ratio"]
        assert record["theory"]["goodput_bps"] == pytest.approx(
            {"forward": 937_000, "reverse": 3e6}[record["levels"]["direction"]], rel=0.02
        )
    assert ratios["forward"] > 0.5
    assert ratios["reverse"] < 0.05


@pytest.mark.parametrize(("queue", "is_short"), [("5 packets", True), ("1s", False)])
def test_a_queue_of_packets_is_full_when_so_many_wait(
    sixbench: Any, tmp_path: Path, queue: str, is_short: bool
) -> None:
    workload = "{udp-stream: {datagram: 100B, count: 100, warmup: 0s, segmentation: never}}"
    for record in run(sixbench, tmp_path, workload, near=f"rate: 200kbit, queue: {queue}"):
        lost = record["server"]["lost_middle"] + record["server"]["lost_tail"]
        assert lost > 40 if is_short else lost == 0


def test_a_corrupted_packet_does_not_arrive_whole(sixbench: Any, tmp_path: Path) -> None:
    for record in run(sixbench, tmp_path, DATAGRAMS, near="emulator: user, forward: {corrupt: 30%}"):
        corrupted = record["evidence"]["emulation"]["near"]["forward"]["corrupted"]
        assert corrupted > 0
        # A bit of a field that no checksum of this family covers does no harm.
        assert 0 < record["server"]["lost_middle"] + record["server"]["lost_tail"] <= corrupted


@pytest.mark.parametrize("link", ["delay: 1ms, emulator: netem", "lost-packets: 5, emulator: netem"])
def test_netem_where_it_cannot_is_refused_before_anything_is_built(sixbench: Any, tmp_path: Path, link: str) -> None:
    file = tmp_path / "netem.yaml"
    file.write_text(NETWORK.format(near=link, far="mtu: 1500", workload="ping"))
    done = sixbench("run", file, "--out", tmp_path / "run")
    if "delay" in link and done.returncode == 0:
        return  # This kernel has netem.
    assert done.returncode == 3
    assert "the link near is to be emulated by netem" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_shown_network_delays_as_its_file_says(sixbench: Any, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(NETWORK.format(near="delay: 30ms", far="mtu: 1500", workload="ping"))
    up = sixbench("lab", "up", file)
    assert up.returncode == 0, up.stderr
    try:
        echo = sixbench("lab", "exec", "h1", "--", "ping", "-c", "2", "198.18.1.2")
        assert echo.returncode == 0, echo.stderr
        times_ms = [
            float(line.partition("time=")[2].split()[0]) for line in echo.stdout.splitlines() if "time=" in line
        ]
        assert times_ms
        assert min(times_ms) >= 60
    finally:
        assert sixbench("lab", "down").returncode == 0


def test_a_link_holds_no_more_packets_than_it_has_memory_for(hub: AgentHub) -> None:
    """Bandwidth times delay is what `held_bytes` is computed from; beyond it packets are dropped, and counted."""
    frame_bytes, buffers, asked = 1514, 100, 1000
    topology = read_topology_only(
        parse_yaml(
            "nodes: {h1: host, h2: host}\nlinks: [{endpoints: [h1, h2], name: link, delay: 1min}]\n", "held.yaml"
        )
    )
    ((index, link),) = emulated_links(topology)
    (request,) = requests([(index, link)])
    laboratory = Laboratory(hub, Blueprint(topology=topology))
    emulator = laboratory.emulator
    assert emulator is not None
    emulator.call("emulate-remove", link="link")
    held_bytes = 2 * buffers * (frame_bytes + VIRTUAL_HEADER_BYTES)
    emulator.call("emulate-add", **{**request.fields, "held_bytes": held_bytes})
    emulator.call("emulate-change", **change(link, (1, 1)))
    sender = (
        "import socket; out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); out.bind(('eth0', 0))\n"
        f"for number in range({asked}): out.send(bytes(12) + b'\\x08\\x00' + bytes(200))"
    )
    sent = laboratory.agents["h1"].call("exec", argv=[sys.executable, "-c", sender])
    assert sent["exit"] == 0, sent["stderr"]
    record = emulator.call("emulate-record", link="link")["forward"]
    # Each direction has half of it; one batch of buffers waits for what comes next.
    assert record["packets"] + record["control_packets"] == buffers - BATCH
    assert record["packets"] + record["no_room"] >= asked
    assert record["socket_drops"] == 0
    laboratory.close()


EVENTS = """
events:
  - {at: 1s, link: near, rate: 5Mbit}
  - {at: 1500ms, link: far, forward: {delay: 30ms, lost-packets: 0-9}}
"""


def test_links_change_in_the_midst_of_a_trial_and_are_as_before_in_the_next(sixbench: Any, tmp_path: Path) -> None:
    """Events name what they change; what they leave goes on: packets are numbered through."""
    workload = "{udp-stream: {datagram: 1000B, rate: 10Mbit, duration: 2s, warmup: 0s, interval: 100ms}}"
    far = "rate: 1Gbit, delay: 1ms, emulator: user"
    records = run(sixbench, tmp_path, workload, near="rate: 20Mbit, queue: 20ms", far=far, more=EVENTS)
    for record in records:
        first, second = record["evidence"]["events"]
        assert (first["link"], second["link"]) == ("near", "far")
        assert (first["forward"], first["reverse"]) == ({"rate_bps": 5_000_000}, {"rate_bps": 5_000_000})
        assert second["forward"]["impairments"]["delay_ns"] == 30_000_000
        assert "reverse" not in second
        for event in (first, second):
            assert event["done_ns"] >= event["due_ns"]
            assert "failed" not in event
        delay = record["evidence"]["emulation"]["far"]["forward"]["delay"]
        assert delay["min"] < 20_000_000 < 29_000_000 < delay["max"]
        # Numbers 0 to 9 had passed long before they were listed.
        assert record["evidence"]["emulation"]["far"]["forward"]["lost"] == 0
        assert record["server"]["lost_middle"] + record["server"]["lost_tail"] > 100
    assert [record["metrics"]["goodput_bps"] < 9e6 for record in records] == [True, True]


def test_interval_goodputs_show_that_the_rate_fell(sixbench: Any, tmp_path: Path) -> None:
    events = "events: [{at: 1s, link: near, rate: 5Mbit}]\n"
    workload = "{tcp-stream: {duration: 3s, warmup: 0s, interval: 100ms}}"
    settings = "rate: 20Mbit, queue: 30ms"
    for record in run(sixbench, tmp_path, workload, near=settings, far="rate: 1Gbit", more=events):
        assert record["theory"]["goodput_bps"] == pytest.approx((20e6 + 2 * 5e6) / 3 * 1448 / 1538, rel=0.02)
        series = read_run(tmp_path / "run").series(record["key"])
        columns = series["forward_receiver"]
        zips = list(zip(columns["bytes:t_ns"], columns["bytes"], strict=True))
        before = sum(received for end_ns, received in zips if end_ns <= 0.9e9)
        after = sum(received for end_ns, received in zips if end_ns > 1.5e9)
        assert before / 0.9 > 2 * after / 1.5
        assert after / 1.5 < 5e6 / 8


def test_a_bunch_that_the_rate_lets_go_is_spaced_as_on_a_wire(sixbench: Any, tmp_path: Path) -> None:
    """A bucket of 60 datagrams lets all 40 pass at once."""
    workload = "{udp-stream: {datagram: 1000B, rate: 1Gbit, count: 40, warmup: 0s}}"
    for record in run(sixbench, tmp_path, workload, near="emulator: user, delay: 5ms, rate: 10Mbit, burst: 64kB"):
        assert record["server"]["received"] == 40
        assert record["server"]["measured_bytes"] * 8e9 / record["server"]["measured_ns"] < 10_000_000
