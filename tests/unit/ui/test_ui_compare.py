"""Runs beside each other on the page."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from starlette.testclient import TestClient


def test_runs_over_each_other_are_compared_by_the_command_s_own_code(directory: Path, client: TestClient) -> None:
    document = client.get("/api/compare?run=small&run=plain").json()
    assert [run["run"] for run in document["runs"]] == ["plain", "small"]
    [against] = document["against"]
    assert against["settings"] == []
    verdicts = {row[-1].partition(" (")[0] for table in against["tables"] for row in table["rows"]}
    assert verdicts == {"equivalent", "undecided"}
    [place, *_] = document["places"]
    assert {"ipv4, small", "ipv4, plain"} <= set(place["rows"])
    colours = dict(zip(place["rows"], place["colours"], strict=True))
    assert (colours["ipv4, small"], colours["ipv4, plain"], colours["ipv6, small"]) == ("blue", "blue", "vermilion")
    statuses = {value["status"] for place in document["places"] for value in place["values"]}
    assert "invalid" in statuses


def test_the_reference_is_the_oldest_run_unless_one_is_chosen(directory: Path, client: TestClient) -> None:
    run = synthetic.small()
    synthetic.replace_run(run, started_realtime_ns=run.manifest.started_realtime_ns - 10**9).write(directory / "older")
    for order in ("run=small&run=older", "run=older&run=small"):
        document = client.get(f"/api/compare?{order}").json()
        assert [document["reference"], document["against"][0]["run"]] == ["older", "small"]
        document = client.get(f"/api/compare?{order}&reference=small").json()
        assert [document["reference"], document["against"][0]["run"]] == ["small", "older"]
    assert client.get("/api/compare?run=small&run=older&reference=plain").status_code == 422


def test_a_run_before_its_planned_end_has_no_verdict(directory: Path, client: TestClient) -> None:
    run = synthetic.replace_run(synthetic.small(), run="stopped", state="interrupted")
    run.write(directory / "stopped")
    [against] = client.get("/api/compare?run=small&run=stopped").json()["against"]
    assert against.keys() == {"run", "reference", "refused"}
    assert "not at the planned end" in against["refused"]


@pytest.mark.parametrize(
    ("query", "code"),
    [("run=small", 422), ("run=small&run=small", 422), ("run=small&run=none", 404), ("run=small&run=..%2Fsecret", 404)],
)
def test_what_cannot_be_compared_is_refused(client: TestClient, query: str, code: int) -> None:
    assert client.get(f"/api/compare?{query}").status_code == code
