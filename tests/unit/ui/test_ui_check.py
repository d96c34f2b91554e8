"""Experiments on the page: which it takes, how it reads changes to them, and that they name no file and no program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served import OWN_ORIGIN
from starlette.testclient import TestClient


def test_an_experiment_is_checked_by_the_reader_of_the_command(new_client: TestClient, small: str) -> None:
    right = new_client.post("/api/check", json={"text": small, "quick": True}, headers=OWN_ORIGIN).json()
    assert right["command"] == "sixbench run experiment.yaml --quick"
    assert right["duration"].startswith("about ")
    wrong = new_client.post("/api/check", json={"text": small.replace("native6", "native7")}, headers=OWN_ORIGIN)
    assert wrong.status_code == 422
    [line] = wrong.json()["problems"]
    assert line.startswith("experiment.yaml:7: paths.ipv6")


def test_what_changes_an_experiment_is_read_as_the_command_reads_it(new_client: TestClient) -> None:
    settings = ["factors.transfer=[10MiB, 20MiB]", "factors.window=[10KiB]"]
    asked = {"name": "herrera-6to4-tunnel", "quick": True, "blocks": 2, "settings": settings}
    document = new_client.post("/api/check", json=asked, headers=OWN_ORIGIN).json()
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
def test_changes_that_cannot_be_are_refused_in_words(new_client: TestClient, settings: Any, words: str) -> None:
    answer = new_client.post(
        "/api/check", json={"name": "herrera-6to4-tunnel", "settings": settings}, headers=OWN_ORIGIN
    )
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
def test_what_is_no_experiment_is_not_started(new_client: TestClient, asked: Any) -> None:
    for address in ("/api/check", "/api/start"):
        assert new_client.post(address, json=asked, headers=OWN_ORIGIN).status_code == 422


@pytest.mark.parametrize("file", ["/etc/hostname", "../../../../../../../../etc/hostname"])
def test_an_experiment_of_the_page_reads_no_files_of_this_machine(
    new_client: TestClient, small: str, file: str
) -> None:
    text = (
        small + f"traces: {{own: {file}}}\n"
        if "traces" in small
        else small.replace("[h1, r1]}", f"[h1, r1], jitter: 1ms, jitter-distribution: {{file: {file}}}}}")
    )
    answer = new_client.post("/api/check", json={"text": text}, headers=OWN_ORIGIN)
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
    tmp_path: Path, new_client: TestClient, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, tmp_path / "sixbench-page-without-files"):
        folder.mkdir(exist_ok=True)
        for name in ("vmlinuz", "captured.pcap", "delays", "id", "anything"):
            (folder / name).write_text("1ms\n")
        (folder / "6.1.0").mkdir()
    for address in ("/api/check", "/api/start"):
        answer = new_client.post(address, json={"text": text}, headers=OWN_ORIGIN)
        assert answer.status_code == 422
        words = "\n".join(answer.json()["problems"])
        assert "use sixbench run instead" in words or "hosts" in words
    assert new_client.get("/api/jobs").json() == {"jobs": []}
