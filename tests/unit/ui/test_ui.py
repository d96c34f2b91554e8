"""The page's server: who is served, what a name may be, and what is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import synthetic
from served import OWN_ORIGIN, TOKEN, stranger_to
from starlette.testclient import TestClient

from sixbench.report.figures.style import path_styles
from sixbench.ui.runs import path_steps


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
