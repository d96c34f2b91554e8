"""Runs that the page starts, stops and goes on with."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import synthetic
from served import OWN_ORIGIN, events_after, jobs_of, served
from waiting import wait_for

from sixbench.ui.look import Look


def test_one_run_at_a_time_the_others_wait_and_each_can_be_stopped(
    tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A signal that comes before it waits is kept: none is lost, whenever it is sent.
    sleeping = (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [15]); print(1); signal.sigwait([15]); "
        "exit('sixbench: stopped')"
    )
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", sleeping))
    with served(tmp_path / "new") as client:
        first_document, other = (
            client.post("/api/start", json={"text": small}, headers=OWN_ORIGIN).json() for _ in range(2)
        )
        assert (first_document["waits"], other["waits"]) == (False, True)
        assert first_document["run"] != other["run"]
        assert (tmp_path / "new" / f"{first_document['run']}.yaml").read_text() == small
        assert client.get(f"/api/runs/{first_document['run']}").json() == {"preparing": True}
        client.post(f"/api/runs/{other['run']}/stop", headers=OWN_ORIGIN, json={})
        assert [state for state, _ in jobs_of(client)] == ["running", "ended"]
        client.post(f"/api/runs/{first_document['run']}/stop", headers=OWN_ORIGIN, json={})
        wait_for(lambda: [state for state, _ in jobs_of(client)] == ["ended", "ended"], lambda: jobs_of(client))
        assert client.post("/api/runs/unknown/stop", headers=OWN_ORIGIN, json={}).status_code == 404


def test_only_an_interrupted_run_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", "import sys; print(sys.argv)"))
    synthetic.replace_run(synthetic.small(), run="stopped", state="interrupted").write(tmp_path / "stopped")
    synthetic.small().write(tmp_path / "whole")
    (tmp_path / "stopped.events.jsonl").touch()
    with served(tmp_path) as client:
        assert client.post("/api/runs/whole/resume", headers=OWN_ORIGIN, json={}).status_code == 409
        assert client.post("/api/runs/none/resume", headers=OWN_ORIGIN, json={}).status_code == 404
        assert client.post("/api/runs/stopped/resume", json={}).status_code == 403
        answer = client.post("/api/runs/stopped/resume", headers=OWN_ORIGIN, json={})
        assert (answer.status_code, answer.json()["run"]) == (202, "stopped")
        wait_for(lambda: jobs_of(client)[0][0] == "ended")
        assert client.get("/api/runs").json()["jobs"][0]["exit_code"] == 0


def test_a_run_is_over_when_its_process_has_ended_which_is_after_it_has_let_its_directory_go(
    tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "may-end")
    lingering = f"open({str(tmp_path / 'may-end')!r}).read()"
    monkeypatch.setattr("sixbench.ui.jobs.SIXBENCH", (sys.executable, "-c", lingering))
    looked = []

    def look(_: Look) -> None:
        """The page is told that the run goes on."""
        if not looked:
            (tmp_path / "may-end").write_text("")
        looked.append(True)

    monkeypatch.setattr(Look, "announce", look)
    with served(tmp_path) as client:
        name = client.post("/api/start", json={"text": small}, headers=OWN_ORIGIN).json()["run"]
        synthetic.replace_run(synthetic.small(), run=name, state="interrupted").write(tmp_path / name)
        early = client.post(f"/api/runs/{name}/resume", headers=OWN_ORIGIN, json={})
        assert (early.status_code, early.json()) == (409, {"error": f"{name} has not ended yet"})
        assert events_after(client, name)[1][-1]["data"] == '{"state": "interrupted"}'
        assert looked
        assert client.post(f"/api/runs/{name}/resume", headers=OWN_ORIGIN, json={}).status_code == 202
        (tmp_path / "may-end").write_text("")
        wait_for(lambda: jobs_of(client)[0][0] == "ended")
