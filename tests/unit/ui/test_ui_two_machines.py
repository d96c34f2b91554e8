"""The page's screen for two machines: what it takes, what becomes of the key, and what it shows of path MTUs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from served import OWN_ORIGIN
from starlette.testclient import TestClient
from waiting import wait_for

from sixbench.ui.two_machines import path_mtus

KEY = "0123456789abcdef" * 4


def checked(client: TestClient, **asked: Any) -> dict[str, Any]:
    return client.post("/api/measure/check", json={"host": "server.example", **asked}, headers=OWN_ORIGIN).json()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ({}, "sixbench measure server.example -i 0.2"),
        ({"options": "-46 -i 1"}, "sixbench measure server.example -46 -i 1"),
        ({"options": "-u -b 100M -R", "port": 1}, "sixbench measure server.example -p 1 -u -b 100M -R -i 0.2"),
        ({"options": "--pmtu -46"}, "sixbench measure server.example --pmtu -46"),
        ({"host": "192.0.2.1,2001:db8::1", "key": KEY}, "sixbench measure 192.0.2.1,2001:db8::1 -i 0.2 --key FILE"),
        (
            {"options": "--workload tcp-rr --set message=1KiB --blocks 3"},
            "sixbench measure server.example --workload tcp-rr --set message=1KiB --blocks 3",
        ),
        (
            {"options": "-46 --workload http --set version=3 --set objects=10"},
            "sixbench measure server.example -46 --workload http --set version=3 --set objects=10",
        ),
        (
            {"options": "--workload quic-stream"},
            "sixbench measure server.example --workload quic-stream -i 0.2",
        ),
    ],
)
def test_letters_are_those_of_the_command(new_client: TestClient, asked: dict[str, Any], command: str) -> None:
    assert checked(new_client, **asked) == {"command": command}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"host": ""}, "give the name or the address"),
        ({"host": "-h"}, "give the name or the address"),
        ({"host": "a b"}, "give the name or the address"),
        ({"host": "/etc/passwd"}, "give the name or the address"),
        ({"port": "5210"}, "a port is a number"),
        ({"port": 0}, "a port is a number"),
        ({"port": True}, "a port is a number"),
        ({"key": "abc"}, "64 hexadecimal digits"),
        ({"options": "--out /tmp/x"}, "--out is not an option here"),
        ({"options": "--events x"}, "--events is not an option here"),
        ({"options": "--key x"}, "--key is not an option here"),
        ({"options": "-J"}, "-J is not an option here"),
        ({"options": "other.example"}, "other.example is not an option here"),
        ({"options": "-t -R"}, "-t lacks its value"),
        ({"options": "-b"}, "-b lacks its value"),
        ({"options": "-P two"}, "-P: two is not a number"),
        ({"options": "-t 'x"}, "the options cannot be read"),
        ({"options": "-R --bidir"}, "-R and --bidir exclude each other"),
        ({"options": "-u --pmtu"}, "ask for different workloads"),
        ({"options": "--workload nothing"}, "there is no such workload"),
        ({"options": "-u --set trace=x"}, "only experiments can name files"),
        ({"options": " -R" * 61}, "more than 60"),
        ({"options": 5}, "is not a measurement"),
    ],
)
def test_what_cannot_be_measured_is_said(new_client: TestClient, asked: dict[str, Any], words: str) -> None:
    [problem] = checked(new_client, **asked)["problems"]
    assert words in problem


@pytest.mark.parametrize("body", ["[]", "nonsense", '"x"', "null"])
def test_what_is_no_measurement_is_not_started(new_client: TestClient, body: str) -> None:
    for address in ("/api/measure/check", "/api/measure/start"):
        assert new_client.post(address, content=body, headers=OWN_ORIGIN).status_code == 422
    assert new_client.post("/api/measure/start", json={"host": "x"}).status_code == 403, "it has to name its origin"


TELLING = """
import os, signal, stat, sys
at = sys.argv[sys.argv.index("--key") + 1]
found = os.stat(at)
mode = stat.S_IMODE(found.st_mode)
print(f"sixbench: {open(at).read()[:4]} {mode:o} {stat.S_ISREG(found.st_mode)}", file=sys.stderr)
sys.exit(3)
"""


def test_the_key_reaches_the_measurement_and_nothing_else(
    tmp_path: Path, new_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", TELLING))
    held = len(os.listdir("/proc/self/fd"))
    answer = new_client.post("/api/measure/start", json={"host": "x", "key": KEY, "options": "-46"}, headers=OWN_ORIGIN)
    wait_for(lambda: new_client.get("/api/runs").json()["jobs"][0]["state"] == "ended")
    listed = new_client.get("/api/runs")
    [job] = listed.json()["jobs"]
    assert (job["title"], job["exit_code"]) == ("tcp-stream to x over IPv4 and IPv6", 3)
    assert job["words"] == "sixbench: 0123 600 True"
    assert KEY not in answer.text + listed.text
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and KEY in file.read_text()]
    assert len(os.listdir("/proc/self/fd")) == held


def test_the_key_of_a_measurement_that_is_taken_from_the_queue_is_gone(
    new_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = "import signal; signal.pause()"
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", waiting))
    jobs = [
        new_client.post("/api/measure/start", json={"host": "x", "key": KEY}, headers=OWN_ORIGIN).json()["run"]
        for _ in range(2)
    ]
    held = len([link for link in _links() if "memfd:key" in link])
    new_client.post(f"/api/runs/{jobs[1]}/stop", json={}, headers=OWN_ORIGIN)
    assert len([link for link in _links() if "memfd:key" in link]) == held - 1
    new_client.post(f"/api/runs/{jobs[0]}/stop", json={}, headers=OWN_ORIGIN)
    wait_for(lambda: new_client.get("/api/runs").json()["jobs"][0]["state"] == "ended")


def _links() -> Iterator[str]:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/self/fd/{name}")


RESULT = {
    "tcp": {"stalled": False},
    "tcp_bytes": 1280,
    "probes": 20,
    "probe_bytes": 30000,
    "interface_bytes": 1500,
    "kernel": {"confirmed": True, "silent": False},
    "kernel_bytes": 1280,
    "probed_bytes": 1280,
    "routers": 2,
    "hops": ["2001:db8::1", None],
    "limiting_hop": {"index": 1, "address": "2001:db8::1"},
}
FREE = {name: value for name, value in RESULT.items() if name not in ("hops", "limiting_hop")} | {"routers": 2}


def test_the_path_mtu_is_told_hop_by_hop() -> None:
    run = synthetic.small(blocks=1).in_memory()
    first, second = (replace(trial, workload="pmtu") for trial in run.trials[:2])
    fields = {"client": {"forward": RESULT}, "server": {"reverse": FREE}}
    trials = [replace(first, path="ipv4", **fields), replace(second, path="ipv6", client={}, server={})]
    ways = path_mtus(replace(run, trials=trials))["ways"]
    assert [(direction["path"], direction["direction"]) for direction in ways] == [
        ("ipv4", "sent"),
        ("ipv4", "received"),
    ]
    assert ways[0]["hops"] == [{"index": 1, "address": "2001:db8::1"}, {"index": 2, "address": None}]
    assert (ways[0]["limiting"], ways[1]["limiting"], ways[1]["hops"]) == (1, None, [])
    facts = {fact["name"]: fact["value"] for fact in ways[0]["facts"]}
    assert (facts["probing found"], facts["limited by"]) == ("1280 B", "hop 1 (2001:db8::1)")
