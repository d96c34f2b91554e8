"""Streams of events: what a client gets that connects anew, and what becomes of streams that cannot go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import synthetic
from served import events_after
from starlette.testclient import TestClient

from sixbench.store import create_run
from sixbench.ui.stream import Streams


@pytest.mark.parametrize(("run", "source"), [("small", "log"), ("plain", "records")])
def test_a_stream_goes_on_without_loss_or_doubles(client: TestClient, run: str, source: str) -> None:
    whole, events = events_after(client, run)
    assert events[0]["event"] == "reset"
    assert events[-1] == {"event": "over", "data": '{"state": "complete"}'}
    ended = [event["key"] for event in whole if event["event"] == "trial-ended"]
    assert len(ended) == len(set(ended)) == 36
    last = int(events[-2]["id"].removeprefix(f"{source}-"))
    for known in (1, 7, last - 1, last):
        rest, again = events_after(client, run, f"{source}-{known}")
        assert again[0]["event"] != "reset"
        assert rest == whole[known:]


@pytest.mark.parametrize("last_id", ["", "log-", "log-x", "records-5", "-1", "9" * 40])
def test_a_stream_that_is_not_known_begins_anew(client: TestClient, last_id: str) -> None:
    whole, _ = events_after(client, "small")
    assert events_after(client, "small", last_id)[0] == whole


def test_damaged_lines_of_a_log_are_left_out_and_keep_their_number(directory: Path, client: TestClient) -> None:
    lines = (directory / "small.events.jsonl").read_text().splitlines()
    lines[1:1] = ["nonsense", '{"event": "built"}', "[" * 5000]
    shutil.copytree(directory / "small", directory / "damaged")
    (directory / "damaged.events.jsonl").write_text("\n".join(lines) + "\n")
    whole, events = events_after(client, "damaged")
    assert whole == events_after(client, "small")[0]
    assert events[-2]["id"] == f"log-{len(lines)}"


def test_a_run_that_was_killed_is_told(directory: Path, client: TestClient) -> None:
    run = synthetic.replace_run(synthetic.small(), state="running")
    with create_run(directory / "killed", run.manifest) as writer:
        writer.add_trial(run.trials[0], {})
    assert events_after(client, "killed")[1][-1]["data"] == '{"state": "interrupted"}'


def test_too_many_streams_are_refused(directory: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Streams, "is_full", True)
    assert client.get("/api/runs/small/events").status_code == 429
