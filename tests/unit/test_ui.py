"""The page's server: who is served, what a name may be, how streams go on, and what experiments it takes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import synthetic
from recorded_events import tell_all
from served import OWN_ORIGIN, TOKEN, served, stranger_to
from starlette.testclient import TestClient
from waiting import wait_for

from sixbench.report.figures.style import path_styles
from sixbench.store import EventLog, create_run
from sixbench.ui.look import Look
from sixbench.ui.runs import path_steps
from sixbench.ui.stream import Streams


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one with a log and a report, beside what is none of the page's business."""
    place = tmp_path_factory.mktemp("runs")
    run = synthetic.small()
    run.write(place / "small")
    with EventLog(place / "small.events.jsonl") as log:
        tell_all(log, run)
    shutil.copytree(place / "small", place / "plain")
    (place / "small" / "report.html").write_text("<!doctype html><title>Report</title>")
    (place.parent / "secret").mkdir(exist_ok=True)
    (place.parent / "secret" / "manifest.json").write_text("{}")
    (place / "link").symlink_to(place / "small")
    return place


@pytest.fixture
def client(directory: Path) -> Iterator[TestClient]:
    with served(directory) as served_page:
        yield served_page


@pytest.fixture
def stranger(directory: Path) -> Iterator[TestClient]:
    with stranger_to(directory) as stranger:
        yield stranger


@pytest.mark.parametrize("address", ["/", "/report", "/static/app.js"])
def test_the_page_itself_is_for_anybody_and_has_nothing_in_it(stranger: TestClient, address: str) -> None:
    answer = stranger.get(address)
    assert answer.status_code == 200
    assert TOKEN not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "address", ["/api/runs", "/api/no/such", "/runs/small/manifest.json", "/static", f"/api/runs?token={TOKEN}"]
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer other"},
        {"authorization": f"Basic {TOKEN}"},
        {"cookie": f"sixbench-8066={TOKEN}; token={TOKEN}"},
    ],
)
def test_nothing_of_runs_is_served_without_the_token(
    stranger: TestClient, address: str, headers: dict[str, str]
) -> None:
    answer = stranger.get(address, headers=headers)
    assert answer.status_code == 403
    assert "the address that sixbench ui printed" in answer.json()["error"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8066", ""])
def test_a_server_asked_for_by_another_name_does_not_answer(client: TestClient, host: str) -> None:
    assert client.get("/api/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_sites_get_nothing(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/api/runs", headers=headers).status_code == 403
    assert client.post("/api/check", json={"name": "quickstart"}, headers=headers).status_code == 403


def test_what_changes_something_names_its_origin(client: TestClient) -> None:
    assert client.post("/api/start", json={"name": "quickstart"}).status_code == 403
    assert client.put("/api/start", headers=OWN_ORIGIN).status_code == 405
    assert client.post("/api/start", content=b"x" * (2**18 + 1), headers=OWN_ORIGIN).status_code == 413


@pytest.mark.parametrize(
    "address", ["/", "/api/runs", "/static/app.js", "/report", "/runs/small/report.html", "/no/such"]
)
def test_every_answer_has_the_headers_that_keep_a_page_safe(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    if address == "/report":
        assert policy.startswith("sandbox allow-scripts;")
    elif address.endswith("report.html"):
        assert policy == "sandbox"
    else:
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    "name", ["..%2Fsecret", "%2e%2e", "..", "%2Fetc", "small%2F..%2Fplain", "link", "no-such", "a%00b", "x" * 300]
)
def test_no_name_leads_out_of_the_directory(client: TestClient, name: str) -> None:
    for address in (f"/api/runs/{name}", f"/api/runs/{name}/events", f"/runs/{name}/manifest.json"):
        assert client.get(address).status_code in (404, 405), address


@pytest.mark.parametrize("file", ["trial.json", "accepted.jsonl", "..%2Fsecret", "trials", "report.html.partial"])
def test_only_the_files_of_the_list_are_given(client: TestClient, file: str) -> None:
    assert client.get(f"/runs/small/{file}").status_code == 404


def test_runs_are_listed_with_their_answers(client: TestClient) -> None:
    document = client.get("/api/runs").json()
    assert {run["run"] for run in document["runs"]} >= {"small", "plain"}
    [small] = [run for run in document["runs"] if run["run"] == "small"]
    assert (small["state"], small["invalid_trials"], small["failed_trials"], small["kernel"]) == (
        "complete",
        1,
        1,
        "6.18.0",
    )
    assert small["answer"]


def test_a_run_is_described_with_its_topology_and_the_way_of_each_path(client: TestClient) -> None:
    document = client.get("/api/runs/small").json()
    assert [node["name"] for node in document["topology"]["nodes"]] == ["h1", "r1", "r2", "h2"]
    assert [step["link"] for step in document["paths"][0]["steps"]] == ["h1-r1", "r1-r2", "r2-h2"]
    assert {path["name"]: path["colour"] for path in document["paths"]} == {
        "ipv4": "blue",
        "ipv4-again": "blue",
        "ipv6": "vermilion",
    }
    assert [file["name"] for file in document["files"]] == ["report.html", "experiment.yaml", "manifest.json"]


def test_the_style_sheet_has_a_class_for_the_colour_of_every_path(client: TestClient) -> None:
    experiment = synthetic.transition(blocks=1).manifest.experiment
    sheet = client.get("/static/palette.css").text
    paths = [path_steps(experiment, path) for path in experiment.paths]
    assert len({path["colour"] for path in paths if path["aa_of"] is None}) > 2
    for path in paths:
        assert f".of-{path['colour']}{{--path:var(--f-{path['colour']})}}" in sheet
        assert f"--f-{path['colour']}:{path_styles(experiment)[path['name']].colour.lower()}" in sheet


def messages(text: str) -> list[dict[str, str]]:
    return [
        dict(line.split(": ", 1) for line in word.splitlines())
        for word in text.split("\n\n")
        if word and not word.startswith(":")
    ]


def events_after(
    client: TestClient, run: str, last_id: str | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    headers = {} if last_id is None else {"last-event-id": last_id}
    actual_messages = messages(client.get(f"/api/runs/{run}/events", headers=headers).text)
    return [
        event
        for actual_message in actual_messages
        if actual_message["event"] == "run"
        for event in json.loads(actual_message["data"])
    ], actual_messages


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


def test_an_experiment_is_checked_by_the_reader_of_the_command(client: TestClient, small: str) -> None:
    right = client.post("/api/check", json={"text": small, "quick": True}, headers=OWN_ORIGIN).json()
    assert right["command"] == "sixbench run experiment.yaml --quick"
    assert right["duration"].startswith("about ")
    wrong = client.post("/api/check", json={"text": small.replace("native6", "native7")}, headers=OWN_ORIGIN)
    assert wrong.status_code == 422
    [line] = wrong.json()["problems"]
    assert line.startswith("experiment.yaml:7: paths.ipv6")


def test_what_changes_an_experiment_is_read_as_the_command_reads_it(client: TestClient) -> None:
    settings = ["factors.transfer=[10MiB, 20MiB]", "factors.window=[10KiB]"]
    asked = {"name": "herrera-6to4-tunnel", "quick": True, "blocks": 2, "settings": settings}
    document = client.post("/api/check", json=asked, headers=OWN_ORIGIN).json()
    assert document["trials"] == str((2 * 2 + 9) * 2 * 2)
    changes = "'--set=factors.transfer=[10MiB, 20MiB]' '--set=factors.window=[10KiB]'"
    assert document["command"] == f"sixbench run herrera-6to4-tunnel --quick --blocks=2 {changes}"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["blocks"], "write it as a.b=c"),
        (["factors.transfr.x=1"], "did you mean"),
        (["topology.links.r1-r2.jitter-distribution={file: /etc/hostname}"], "cannot use files of this machine"),
        (["topology.links.r1-r2.jitter-distribution={file: published.yaml}"], "published.yaml"),
        (["title={"], "title"),
        (["seed=1"] * 51, "is not an experiment"),
        ("seed=1", "is not an experiment"),
        ([5], "is not an experiment"),
    ],
)
def test_changes_that_cannot_be_are_refused_in_words(client: TestClient, settings: Any, words: str) -> None:
    answer = client.post("/api/check", json={"name": "herrera-6to4-tunnel", "settings": settings}, headers=OWN_ORIGIN)
    assert answer.status_code == 422
    assert words in "\n".join(answer.json()["problems"])


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "quickstart", "blocks": True},
        {"name": "quickstart", "blocks": "2"},
        {"name": "quickstart", "blocks": 0},
        None,
        [],
        {},
        {"name": "../x"},
        {"name": "quickstart", "text": "x"},
        {"text": 5},
        {"name": "quickstart", "quick": "yes"},
    ],
)
def test_what_is_no_experiment_is_not_started(client: TestClient, asked: Any) -> None:
    for address in ("/api/check", "/api/start"):
        assert client.post(address, json=asked, headers=OWN_ORIGIN).status_code == 422


@pytest.mark.parametrize("file", ["/etc/hostname", "../../../../../../../../etc/hostname"])
def test_an_experiment_of_the_page_reads_no_files_of_this_machine(client: TestClient, small: str, file: str) -> None:
    text = (
        small + f"traces: {{own: {file}}}\n"
        if "traces" in small
        else small.replace("[h1, r1]}", f"[h1, r1], jitter: 1ms, jitter-distribution: {{file: {file}}}}}")
    )
    answer = client.post("/api/check", json={"text": text}, headers=OWN_ORIGIN)
    assert answer.status_code == 422


OF_TWO = "experiment: x\npaths: {ipv4: native4}\nworkloads: [udp-stream: {rate: 1Mbit, datagram: 100B}]\n"
DEVICE = "experiment: x\ndut: {%s}\nworkloads: [udp-stream: {rate: 1Mbit, datagram: 100B}]\n"


@pytest.mark.parametrize(
    "text",
    [
        DEVICE % 'guest: "./vmlinuz:./6.1.0"',
        DEVICE % "guest: vmlinuz:6.1.0",
        DEVICE % "guest: debian-6.1, setup: [reboot]",
        DEVICE % "program: {start: ./anything, interface: x, family: 4}",
        DEVICE % "program: {start: anything, ready: date, interface: x, family: [6, 4], prefix: 2001:db8:64::/96, "
        "client-as: 192.0.2.2}",
        OF_TWO.replace("rate: 1Mbit", "trace: captured.pcap"),
        OF_TWO.replace("udp-stream: {rate: 1Mbit, datagram: 100B}", "http: {page: captured.pcap}"),
        OF_TWO + "topology: {nodes: {a: host, b: host}, links: [{endpoints: [a, b], delay: 2ms, jitter: 1ms, "
        "jitter-distribution: {file: delays}}]}\n",
        OF_TWO + "factors: {trace: [captured.pcap]}\n",
        OF_TWO + "topology: {nodes: {a: host, b: host}, links: [{endpoints: [a, b]}]}\nhosts: {a: {ssh: x, key: id}}\n",
    ],
)
def test_an_experiment_of_the_page_names_no_file_and_no_program_wherever_the_server_stands(
    tmp_path: Path, client: TestClient, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / "sixbench-page-without-files"):
        folder.mkdir(exist_ok=True)
        for name in ("vmlinuz", "captured.pcap", "delays", "id", "anything"):
            (folder / name).write_text("1ms\n")
        (folder / "6.1.0").mkdir()
    for address in ("/api/check", "/api/start"):
        answer = client.post(address, json={"text": text}, headers=OWN_ORIGIN)
        assert answer.status_code == 422
        words = "\n".join(answer.json()["problems"])
        assert "use sixbench run instead" in words or "hosts" in words
    assert client.get("/api/jobs").json() == {"jobs": []}


def test_a_packet_is_followed_through_a_tunnel(client: TestClient) -> None:
    lesson = client.get("/api/learn/6in4?bytes=1500").json()
    assert [[header["name"] for header in step["headers"]] for step in lesson["steps"]] == [
        ["IPv6", "UDP"],
        ["IPv4", "IPv6", "UDP"],
        ["IPv6", "UDP"],
    ]
    assert [(step["total_bytes"], step["fits"]) for step in lesson["steps"]] == [
        (1500, True),
        (1520, False),
        (1500, True),
    ]
    assert (lesson["outcome"], lesson["lost_first"]) == ("delivered", 1)
    names = [path["name"] for path in client.get("/api/learn").json()["paths"]]
    assert all(client.get(f"/api/learn/{name}?bytes=1280").json()["steps"] for name in names)
    assert client.get("/api/learn/6in4?bytes=99999").status_code == 422
    assert client.get("/api/learn/none").status_code == 404


def jobs_of(client: TestClient) -> list[tuple[str, str]]:
    return [(job["state"], job["words"]) for job in client.get("/api/jobs").json()["jobs"]]


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


def test_clients_that_leave_in_the_midst_of_a_request_leave_no_traceback(directory: Path) -> None:
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        host, token = f"127.0.0.1:{address.port}", address.fragment.removeprefix("token=")
        head = f"host: {host}\r\norigin: http://{host}\r\nauthorization: Bearer {token}\r\n"
        for path in ("/api/start", "/api/check", "/api/measure/start", "/api/measure/check", "/api/runs/small/resume"):
            with socket.create_connection(("127.0.0.1", address.port), timeout=60) as client:
                client.sendall(f'POST {path} HTTP/1.1\r\n{head}content-length: 900\r\n\r\n{{"name": '.encode())
        actual_httpconnection = http.client.HTTPConnection(host, timeout=60)
        actual_httpconnection.request("GET", "/api/jobs", headers={"authorization": f"Bearer {token}"})
        assert json.loads(actual_httpconnection.getresponse().read()) == {"jobs": []}
        actual_httpconnection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert "Traceback" not in process.stderr.read()


def test_whoever_was_served_stays_served_among_hundreds_of_slow_clients(directory: Path) -> None:
    command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process, contextlib.ExitStack() as slow:
        assert process.stderr is not None
        address = urlsplit(process.stderr.readline().rpartition(" ")[2].strip())
        assert address.port is not None
        actual_httpconnection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        bearer = {"authorization": f"Bearer {address.fragment.removeprefix('token=')}"}
        actual_httpconnection.request("GET", "/api/jobs", headers=bearer)
        actual_httpconnection.getresponse().read()
        clients = []
        for _ in range(600):
            clients.append(slow.enter_context(socket.create_connection(("127.0.0.1", address.port), timeout=60)))
            clients[-1].sendall(b"GET /api/runs HTTP/1.1\r\nhost: 127.0.0.1\r\n")
        for connection in (actual_httpconnection, http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)):
            connection.request("GET", "/api/runs", headers=bearer)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            connection.close()
        with contextlib.suppress(ConnectionResetError):
            received = clients[0].recv(100)
            assert received == b"" or received.startswith(b"HTTP/1.1 408 ")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
