"""The page's screen of a run to servers of others: the servers by their change, and the blocks of each."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from reach_runs import changed
from starlette.testclient import TestClient

SLOW, SAME, FAST, DEAD = "slow.example", "same.example", "fast.example", "dead.example"
CHANGES = {SAME: 0.0, SLOW: 0.3, FAST: -0.2, DEAD: None}


@pytest.fixture(scope="module")
def run() -> synthetic.Synthetic:
    return synthetic.replace_run(changed(CHANGES), run="reach")


def test_servers_are_in_the_order_of_their_changes(
    run: synthetic.Synthetic, new_client: TestClient, tmp_path: Path
) -> None:
    run.write(tmp_path / "reach")
    answer = new_client.get("/api/runs/reach/servers").json()
    assert [comparison["title"] for comparison in answer["comparisons"]] == [
        "TCP connection: Connection time, median, IPv6 against IPv4",
        "TLS handshake: Handshake time, median, IPv6 against IPv4",
    ]
    comparison = answer["comparisons"][0]
    assert [row["server"] for row in comparison["rows"]] == [SLOW, SAME, FAST, DEAD]
    slow, same, fast, dead = comparison["rows"]
    assert (slow["tone"], same["tone"], fast["tone"]) == ("worse", "same", "better")
    assert slow["low"] <= slow["change"] <= slow["high"]
    assert slow["change"] == pytest.approx(30, abs=3)
    assert (dead["change"], dead["word"]) == (None, "not compared")
    assert comparison["mean"]["n"] == 3
    assert comparison["sentence"].startswith("Of 3 servers, 1 is slower over IPv6, 1 is faster,")
    assert [fault["server"] for fault in answer["faults"]] == [DEAD] * 2


def test_a_server_has_its_blocks(run: synthetic.Synthetic, new_client: TestClient, tmp_path: Path) -> None:
    run.write(tmp_path / "reach")
    answer = new_client.get("/api/runs/reach/servers", params={"server": SLOW}).json()
    assert [change["server"] for change in answer["changes"]] == [SLOW] * 2
    assert answer["faults"] == []
    place = answer["places"][0]
    assert place["rows"] == ["ipv4", "ipv6"]
    assert {value["block"] for value in place["values"]} == set(range(1, 9))
    assert {value["key"] for value in place["values"]} <= {trial.key for trial in run.trials}


def test_runs_without_servers_and_before_their_end_are_refused(
    run: synthetic.Synthetic, new_client: TestClient, tmp_path: Path
) -> None:
    synthetic.replace_run(run, run="early", state="interrupted").write(tmp_path / "early")
    synthetic.small(blocks=2).write(tmp_path / "small")
    early = new_client.get("/api/runs/early/servers")
    assert (early.status_code, "not at its planned end" in early.json()["error"]) == (409, True)
    small = new_client.get("/api/runs/small/servers")
    assert (small.status_code, small.json()["error"]) == (409, "the run goes to no servers of others")
    run.write(tmp_path / "reach")
    other = new_client.get("/api/runs/reach/servers", params={"server": "other.example"})
    assert (other.status_code, other.json()["error"]) == (409, 'the run has no server "other.example"')


def test_an_interrupted_run_to_servers_can_go_on_from_the_page(
    run: synthetic.Synthetic, new_client: TestClient, tmp_path: Path
) -> None:
    synthetic.replace_run(run, run="early", state="interrupted").write(tmp_path / "early")
    described = new_client.get("/api/runs/early").json()
    assert described["is_resumable"]
    assert described["servers"] == [*CHANGES]
