"""The page's results: series and packets of each trial, files, and tables for a paper."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import observed
import page_loads
import paper_runs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import synthetic
from starlette.testclient import TestClient
from stored import bare_record, manifest_of

from sixbench.agent import find_agent
from sixbench.bench.proof.pcapng import to_pcapng
from sixbench.model.evidence import Evidence
from sixbench.model.evidence.packets import Segment
from sixbench.model.experiment import Experiment
from sixbench.report.page_loads import MOST_OBJECTS
from sixbench.store import Run, create_run, read_run
from sixbench.ui import runs, trial

CAPTURE = to_pcapng(
    [observed.packet({"realtime_ns": 10**18, "wire_bytes": 66, "data": "00" * 60})], "eth0 of r1 on r1-r2", 128
)

SERIES: dict[str, dict[str, list[Any]]] = {
    "forward_receiver": {"t_ns": [100_000_000, 200_000_000], "bytes": [1_250_000, 2_500_000]},
    "forward_sender": {
        "t_ns": [100_000_000, 200_000_000, 300_000_000],
        "rtt_ns": [5e6, None, 6e6],
        "retransmits": [0, 1, 1],
    },
}


TUNNELLED = {
    "wire_bytes": 1514,
    "layers": [
        {"kind": "ethernet", "bytes": 14},
        {"kind": "ipv4", "bytes": 20, "source": "198.18.1.1", "destination": "198.18.1.2", "total_bytes": 1500}
        | {"hop_limit": 63, "dont_fragment": True},
        {"kind": "ipv6", "bytes": 48, "source": "2001:db8::1", "destination": "2001:db8::2"}
        | {"extensions": ["fragment"], "fragment": {"offset_bytes": 0, "more": False, "identification": 5}},
        {"kind": "udp", "bytes": 8, "source_port": 1000, "destination_port": 2000, "payload_bytes": 0},
    ],
}


def series_file(rows: list[tuple[str | None, int, str, float | None]]) -> bytes:
    names = ("source", "t_ns", "quantity", "value")
    types = (pa.string(), pa.int64(), pa.string(), pa.float64())
    columns = [pa.array([row[index] for row in rows], kind) for index, kind in enumerate(types)]
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, names=names), buffer)
    return buffer.getvalue()


def written(
    directory: Path, files: dict[str, bytes], *, state: str = "complete", packets: Sequence[dict[str, Any]] = ()
) -> list[str]:
    """A run whose first trial has these files, `SERIES`, and packets on a link if any; the keys of its trials."""
    run = synthetic.replace_run(synthetic.small(), state=state)
    if packets:
        seen = tuple(observed.packet(packet).kept for packet in packets)
        segment = Segment(link="r1-r2", node="r1", captured_packets=7, stacks={"ipv6 in ipv4": 7}, packets=seen)
        run.trials[0] = replace(run.trials[0], evidence=Evidence(segments=(segment,)))
    with create_run(directory, run.manifest) as writer:
        for number, record in enumerate(run.trials):
            chosen = SERIES if number == 0 and trial.SERIES not in files else {}
            writer.add_trial(record, chosen, files if number == 0 else {})
    return [record.key for record in run.trials]


def test_a_run_that_goes_on_has_no_answer_and_is_read_again_after_a_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_s = [1000.0]

    def slow(directory: Path) -> Run:
        clock_s[0] += 0.5
        return read_run(directory)

    monkeypatch.setattr(runs, "read_run", slow)
    monkeypatch.setattr(runs, "time", SimpleNamespace(monotonic=lambda: clock_s[0]))
    run = synthetic.replace_run(synthetic.small(), run="live", state="running", ended_realtime_ns=None)
    listed = runs.Runs(tmp_path)

    def output() -> tuple[str, int, bool]:
        description = listed.description("live")
        trials = description["ok_trials"] + description["invalid_trials"] + description["failed_trials"]
        return description["state"], trials, description["answer"] is None

    with create_run(tmp_path / "live", run.manifest) as writer:
        for number, record in enumerate(run.trials, 1):
            writer.add_trial(record, {})
            if number == 5:
                assert output() == ("running", 5, True)
        assert output() == ("running", 5, True)
        clock_s[0] += runs.REST * 0.5
        assert output() == ("running", len(run.trials), True)
        writer.set_state("complete", 10**18)
    assert output() == ("complete", len(run.trials), False)


def test_a_trial_is_shown_with_its_series_and_what_is_missing_is_missing(
    tmp_path: Path, new_client: TestClient
) -> None:
    key, *others = written(tmp_path / "mine", {})
    listed = new_client.get("/api/runs/mine/trials").json()["trials"]
    assert [listed_run["key"] for listed_run in listed] == [key, *others]
    assert {listed_run["status"] for listed_run in listed} == {"ok", "invalid", "failed"}
    document = new_client.get(f"/api/runs/mine/trials/{key}").json()
    values = {
        (each_values["source"], each_values["title"], each_values["unit"]): each_values["values"]
        for each_values in document["series"]
    }
    assert values == {
        ("forward receiver", "goodput", "bit/s"): [1e8, 2e8],
        ("forward sender", "rtt", "ns"): [5e6, None, 6e6],
        ("forward sender", "retransmits", ""): [0, 1, 1],
    }
    assert document["files"] == ["trial.json", "series.parquet"]
    [invalid] = [listed_run["key"] for listed_run in listed if listed_run["status"] == "invalid"]
    assert new_client.get(f"/api/runs/mine/trials/{invalid}").json()["reasons"][0]["text"]


def test_the_last_page_of_a_trial_is_shown_and_named_what_it_is_compared_with(
    tmp_path: Path, new_client: TestClient, read: Callable[[str], Experiment]
) -> None:
    experiment = read(page_loads.TEXT)
    long = {name: times * 50 for name, times in page_loads.page_times(2).items()}
    records = [*page_loads.page_trials(experiment), bare_record("http", key="b004-c0001-ipv4", block=4)]
    records[0] = replace(records[0], client={"last_page": long})
    with create_run(tmp_path / "mine", manifest_of(experiment)) as writer:
        for record in records:
            writer.add_trial(record, {})
    assert new_client.get("/api/runs/mine").json()["compared_pages"] == ["ipv4", "ipv6"]
    page = new_client.get("/api/runs/mine/trials/b002-c0001-ipv6").json()["page"]
    assert page == {"objects": 3, "page_ns": 45 * page_loads.MS, **page_loads.page_times(2)}
    cut = new_client.get(f"/api/runs/mine/trials/{records[0].key}").json()["page"]
    assert (cut["objects"], len(cut["begun_ns"]), len(cut["ended_ns"])) == (150, MOST_OBJECTS, MOST_OBJECTS)
    assert new_client.get("/api/runs/mine/trials/b004-c0001-ipv4").json()["page"] is None


def test_packets_are_told_by_their_headers_link_by_link(tmp_path: Path, new_client: TestClient) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE})
    document = new_client.get(f"/api/runs/mine/trials/{key}").json()
    assert [(link["link"], link["file"]) for link in document["links"]] == [
        ("h1-r1", None),
        ("r1-r2", "r1-r2.pcapng"),
        ("r2-h2", None),
    ]
    assert document["links"][1]["packets"][0]["stack"].startswith("Ethernet / IPv4 / ")


def test_a_header_says_whence_where_to_and_what_else(tmp_path: Path, new_client: TestClient) -> None:
    key, *_ = written(tmp_path / "mine", {}, packets=[TUNNELLED])
    [link] = new_client.get(f"/api/runs/mine/trials/{key}").json()["links"]
    assert (link["link"], link["node"], link["captured"], link["not_captured"]) == ("r1-r2", "r1", 7, None)
    assert link["stacks"] == [{"stack": "IPv6 in IPv4", "packets": 7}]
    [packet] = link["packets"]
    assert (packet["wire_bytes"], packet["stack"]) == (1514, "Ethernet / IPv4 / IPv6 / UDP")
    assert packet["layers"][1:] == [
        {
            "name": "IPv4",
            "bytes": 20,
            "from": "198.18.1.1",
            "to": "198.18.1.2",
            "rest": "total 1500 bytes, hop limit 63, dont fragment yes",
        },
        {
            "name": "IPv6",
            "bytes": 48,
            "from": "2001:db8::1",
            "to": "2001:db8::2",
            "rest": "extensions fragment, fragment offset 0 bytes, fragment more no, fragment identification 5",
        },
        {"name": "UDP", "bytes": 8, "from": "port 1000", "to": "port 2000", "rest": "payload 0 bytes"},
    ]


FRAME = (
    "00000000000200000000000186dd"
    "60000000000c114020010db800010000000000000000000120010db800020000000000000000000203e807d0000cbeef64617461"
)
"""UDP from 2001:db8:1::1 to 2001:db8:2::2, with 4 bytes of payload."""


def capture(packets: int, data: str = FRAME) -> bytes:
    frames = [{"realtime_ns": 10**18 + number * 10**6, "wire_bytes": 66, "data": data} for number in range(packets)]
    return to_pcapng(map(observed.packet, frames), "eth0 of r1 on r1-r2", 128)


def test_all_packets_of_a_capture_are_told_a_page_at_a_time(tmp_path: Path, new_client: TestClient) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": capture(205)})
    pages = [
        new_client.get(f"/api/runs/mine/trials/{key}/packets/r1-r2?first={first}").json() for first in (0, 100, 200)
    ]
    assert [(len(page["packets"]), page["more"]) for page in pages] == [(100, True), (100, True), (5, False)]
    packets = [packet for page in pages for packet in page["packets"]]
    assert [(packet["number"], packet["after_ns"]) for packet in packets] == [
        (1 + index, index * 10**6) for index in range(205)
    ]
    assert {(packet["wire_bytes"], packet["stack"]) for packet in packets} == {(66, "Ethernet / IPv6 / UDP")}
    assert packets[204]["layers"][1]["to"] == "2001:db8:2::2"
    assert new_client.get(f"/api/runs/mine/trials/{key}/packets/r1-r2?first=900").json() == {
        "packets": [],
        "more": False,
    }


@pytest.mark.parametrize("asked", ["h1-r1", "no-such", "..%2Fr1-r2", "r1-r2?first=-1", "r1-r2?first=x"])
def test_packets_that_there_are_not_are_not_told(tmp_path: Path, new_client: TestClient, asked: str) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE})
    assert new_client.get(f"/api/runs/mine/trials/{key}/packets/{asked}").status_code in (404, 422)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no capture", "r1-r2.pcapng: "), (capture(3)[:-9], "r1-r2.pcapng: "), (capture(2, "ff" * 60), None)],
)
def test_packets_of_a_stranger_are_told_as_far_as_they_are_any(
    tmp_path: Path, new_client: TestClient, content: bytes, words: str | None
) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": content})
    answer = new_client.get(f"/api/runs/mine/trials/{key}/packets/r1-r2")
    if words is None:
        assert [packet["layers"][0]["name"] for packet in answer.json()["packets"]] == ["Ethernet", "Ethernet"]
    else:
        assert (answer.status_code, words in answer.json()["error"]) == (404, True)


def test_an_agent_that_cannot_decode_is_told(
    tmp_path: Path, new_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE})
    for program, words in (
        ("/no/such", "starting /no/such"),
        ("/bin/false", "ended with code 1"),
        ("/bin/true", "0 of"),
    ):
        monkeypatch.setattr(trial, "find_agent", lambda program=program: Path(program))
        answer = new_client.get(f"/api/runs/mine/trials/{key}/packets/r1-r2")
        assert (answer.status_code, words in answer.json()["error"]) == (500, True)


def test_packets_are_decoded_where_the_server_s_user_may_not_get_to_the_agent(tmp_path: Path) -> None:
    key, *_ = written(tmp_path / "runs" / "mine", {"r1-r2.pcapng": capture(2)})
    closed = tmp_path / "closed"
    closed.mkdir()
    shutil.copy(find_agent(), closed)
    closed.chmod(0o700)
    command = [sys.executable, "-m", "sixbench", "ui", str(tmp_path / "runs"), "--port", "0"]
    environment = os.environ | {"SIXBENCH_AGENT": str(closed / "sixbench-agent")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        base, _, token = process.stderr.readline().rpartition(" ")[2].strip().partition("#token=")
        asked = urllib.request.Request(
            f"{base}api/runs/mine/trials/{key}/packets/r1-r2", headers={"authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            document = json.loads(answer.read())
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert [packet["stack"] for packet in document["packets"]] == ["Ethernet / IPv6 / UDP"] * 2


def test_files_of_a_trial_are_given_as_they_were_recorded(tmp_path: Path, new_client: TestClient) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE, "other.bin": b"x"})
    answer = new_client.get(f"/runs/mine/trials/{key}/r1-r2.pcapng")
    assert answer.content == CAPTURE
    assert answer.headers["content-disposition"] == 'attachment; filename="r1-r2.pcapng"'
    assert answer.headers["content-security-policy"] == "sandbox"
    for name in ("other.bin", "h1-r1.pcapng", "no-such.pcapng", "..%2Ftrial.json", "packets.parquet"):
        assert new_client.get(f"/runs/mine/trials/{key}/{name}").status_code == 404
    for other in ("b001", "..%2F..", "x" * 300):
        assert new_client.get(f"/runs/mine/trials/{other}/trial.json").status_code == 404
        assert new_client.get(f"/api/runs/mine/trials/{other}").status_code == 404


def test_what_was_changed_is_not_shown(tmp_path: Path, new_client: TestClient) -> None:
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE})
    place = tmp_path / "mine" / "trials" / key
    (place / "series.parquet").write_bytes(series_file([("a", 1, "b", 2.0)]))
    (place / "r1-r2.pcapng").unlink()
    (place / "r1-r2.pcapng").symlink_to("/etc/hostname")
    document = new_client.get(f"/api/runs/mine/trials/{key}").json()
    assert document["series"] == []
    assert "it was changed after the run recorded it" in document["series_problem"]
    assert new_client.get(f"/runs/mine/trials/{key}/r1-r2.pcapng").status_code == 404
    (place / "r1-r2.pcapng").unlink()
    os.mkfifo(place / "r1-r2.pcapng")
    assert new_client.get(f"/runs/mine/trials/{key}/r1-r2.pcapng").status_code == 404


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no parquet", "damaged interval series"),
        (series_file([("a", 1, "b", math.inf)]), "damaged interval series"),
        (series_file([("a", 1, "b", None)]), "damaged interval series"),
        (series_file([(None, 1, "b", 1.0)]), "damaged interval series"),
        (series_file([("sender", 1, "b", 1.0)]).replace(b"sender", b"sen\x83er"), "damaged interval series"),
        (series_file([("a", t, "b", 1.0) for t in range(101)]), "at most 100 are read here"),
    ],
)
def test_series_of_a_stranger_are_bounded_and_checked(
    tmp_path: Path, new_client: TestClient, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(trial, "MOST_VALUES", 100)
    key, *_ = written(tmp_path / "mine", {"series.parquet": content})
    document = new_client.get(f"/api/runs/mine/trials/{key}").json()
    assert document["series"] == []
    assert words in document["series_problem"]


def test_files_of_a_stranger_are_bounded(
    tmp_path: Path, new_client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "MOST_FILE_BYTES", 100)
    key, *_ = written(tmp_path / "mine", {"r1-r2.pcapng": CAPTURE})
    answer = new_client.get(f"/runs/mine/trials/{key}/r1-r2.pcapng")
    assert answer.status_code == 404
    assert "more than 100 bytes" in answer.json()["error"]
    assert new_client.get(f"/api/runs/mine/trials/{key}").json()["links"][1]["packets"]


def test_tables_for_a_paper_are_those_of_the_report(tmp_path: Path, new_client: TestClient) -> None:
    written(tmp_path / "mine", {})
    written(tmp_path / "stopped", {}, state="interrupted")
    assert "\\begin{tabular}" in new_client.get("/api/runs/mine/tables/latex").json()["text"]
    assert "| --- |" in new_client.get("/api/runs/mine/tables/md").json()["text"]
    document = new_client.get("/api/runs/mine/tables/csv").json()
    assert (document["text"].partition(",")[0], document["suffix"]) == ("experiment", ".csv")
    assert new_client.get("/api/runs/mine/tables/html").status_code == 409
    early = new_client.get("/api/runs/stopped/tables/latex")
    assert early.status_code == 409
    assert "not at its planned end" in early.json()["error"]


def test_the_tables_of_a_paper_that_a_run_from_the_page_repeats_are_copied(
    tmp_path: Path, new_client: TestClient
) -> None:
    name = "herrera-6to4-tunnel"
    assert name in {experiment["name"] for experiment in new_client.get("/api/gallery").json()["experiments"]}
    run = paper_runs.imagined(paper_runs.experiment(name, quick=True))
    manifest = replace(run.manifest, paper=name, state="complete")
    with create_run(tmp_path / "mine", manifest) as writer:
        for record in run.trials:
            writer.add_trial(record, {})
    for form in ("latex", "md"):
        text = new_client.get(f"/api/runs/mine/tables/{form}").json()["text"]
        assert [table for table in ("Table 1", "Table 2") if table not in text] == [], form
    listed = new_client.get("/api/runs/mine/tables").json()["tables"]
    assert [listed_run["name"] for listed_run in listed][:2] == ["Table 1", "Table 2"]
    for number, mss in ((1, "1"), (2, "2")):
        asked = {"table": f"Table {number}"}
        document = new_client.get("/api/runs/mine/tables/csv", params=asked).json()
        assert document["suffix"] == f"-table-{number}.csv"
        [heading, theirs, ours, *_] = csv.reader(document["text"].splitlines())
        assert heading[3] == "Max segment size (kbyte) [KiB]"
        assert (theirs[0], theirs[1:4], ours[0]) == ("paper", ["10", "10", mss], "ours")
        assert 0 < float(ours[6]) != float(theirs[6])
        latex = new_client.get("/api/runs/mine/tables/latex", params=asked).json()["text"]
        assert latex.startswith("\\begin{table")
        assert latex.count("\\begin{tabular}") == 1
        assert f"caption[Table {number}: Time" in latex
        markdown = new_client.get("/api/runs/mine/tables/md", params=asked).json()["text"]
        assert markdown.startswith(f"## Table {number}: Time")
    unknown = new_client.get("/api/runs/mine/tables/csv", params={"table": "Table 9"})
    assert unknown.status_code == 409
    assert "Table 9" in unknown.json()["error"]


def test_a_path_that_cannot_be_in_its_network_has_no_steps() -> None:
    experiment = synthetic.small().manifest.experiment
    (topology,), path = experiment.topologies, experiment.paths[0]
    link = topology.links[0]
    bare = replace(link, ends=(link.ends[0], replace(link.ends[1], ipv4=None)))
    damaged = replace(experiment, topologies=(replace(topology, links=(bare, *topology.links[1:])),))
    assert runs.path_steps(experiment, path)["steps"] != []
    assert runs.path_steps(damaged, path)["steps"] == []


def test_processes_that_make_tables_import_no_more_packages(tmp_path: Path) -> None:
    """Packages and forms that take longer than a table are there before anybody asks for one."""
    synthetic.standard(blocks=2).write(tmp_path / "mine")
    program = (
        "import sys, pathlib, pydantic; from sixbench.ui.app import prepare_works, works; prepare_works(); "
        "before = {*sys.modules}; built = []; pydantic.TypeAdapter.__init__ = lambda *words, **more: built.append(1); "
        "tables = works(pathlib.Path(sys.argv[1]))['tables']; "
        "[tables('mine', form, None) for form in ('csv', 'md', 'latex')]; "
        "packages = ('matplotlib', 'scipy', 'pydantic', 'sixbench'); "
        "print(*sorted({one for one in {*sys.modules} - before if one.split('.')[0] in packages}), *built)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
