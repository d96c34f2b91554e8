"""Resolvers with DNS64 under test (RFC 8219 section 9): each asks the authority and is told for what it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RESOLVER = """\
import socket, struct, sys
own, authority, kind = sys.argv[1:]
asked = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
asked.bind((own, 53))
behind = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
behind.connect((authority, 53))
PREFIX = socket.inet_pton(socket.AF_INET6, "64:ff9b::")[:12]
WELL_KNOWN = [bytes([192, 0, 0, 170]), bytes([192, 0, 0, 171])]
while True:
    question, client = asked.recvfrom(512)
    name = question[12 : question.index(0, 12) + 1]
    addresses, flags = WELL_KNOWN, 0x8180
    if b"ipv4only" not in name:
        behind.send(question[:12] + name + struct.pack("!2H", 1, 1))
        addresses = [behind.recv(512)[-4:]]
        if kind == "wrong":
            addresses = [bytes([192, 0, 2, 1])]
        elif kind == "failing":
            addresses, flags = [], 0x8182
    records = [b"\\xc0\\x0c" + struct.pack("!2HIH", 28, 1, 60, 16) + PREFIX + one for one in addresses]
    header = question[:2] + struct.pack("!5H", flags, 1, len(records), 0, 0)
    asked.sendto(header + name + struct.pack("!2H", 28, 1) + b"".join(records), client)
"""
LONGEST_S = 600


NAT64_WITH_DNS64 = {"mechanism": {"nat64": {"nodes": ["dut"], "dns64": "dut"}}}


def program(kind: str) -> dict[str, Any]:
    fields = {
        "start": f"python3 {{dir}}/resolver.py {{near-address}} {{authority}} {kind}",
        "ready": "grep -q :0035 /proc/net/udp6",
        "family": 6,
        "prefix": "64:ff9b::/96",
        "dns64": True,
        "files": {"resolver.py": RESOLVER},
    }
    return {"program": fields}


def dns64(sixbench: Any, directory: Path, dut: dict[str, Any]) -> dict[str, Any]:
    file = directory / "experiment.yaml"
    file.write_text(json.dumps({"dut": dut, "workloads": ["ping"]}))
    command = ("rfc", file, "--test", "dns64", "--quick", "--json", "--quiet", "--allow-programs")
    done = sixbench(*command, "--out", directory / "run", timeout=LONGEST_S, figures=False)
    assert done.returncode == 0, done.stderr
    rfc: dict[str, Any] = json.loads(done.stdout)["rfc"]
    return rfc


@pytest.mark.parametrize(
    ("kind", "words"),
    [("wrong", "it answers wrongly: of the questions at 1000/s 100 % had a wrong answer"), ("failing", "by an error")],
)
def test_one_that_answers_wrongly_or_by_errors_has_no_rate_and_is_told_for_it(
    sixbench: Any, tmp_path: Path, kind: str, words: str
) -> None:
    rfc_results = dns64(sixbench, tmp_path, program(kind))
    results = {result["what"]: result for result in rfc_results["results"]}
    answers = results["answers"]
    assert answers["value"] is None
    # A tester that a busy machine keeps from its questions knows nothing of errors. What is wrong is wrong late, too.
    assert words in answers["remark"] or (kind == "failing" and "the tester could not ask" in answers["remark"])
    states = {
        item["section"]: (item["state"], item["reason"])
        for item in rfc_results["conformance"]
        if "DNS64" in item["asks"]
    }
    assert all(reason for _, reason in states.values())
    assert states["section 9.2.1"][0] == "not met"


@pytest.mark.parametrize("dut", [program("right"), NAT64_WITH_DNS64], ids=["a program", "ours"])
def test_one_that_answers_rightly_has_a_rate_beside_the_testers_own(
    sixbench: Any, tmp_path: Path, dut: dict[str, Any]
) -> None:
    rfc_results = dns64(sixbench, tmp_path, dut)
    for result in rfc_results["results"]:
        if result["value"] is None:
            assert "the tester could not ask" in result["remark"], result
        else:
            assert result["value"] >= 500, result
    answers = next(result for result in rfc_results["results"] if result["what"] == "answers")
    assert "self-test" in answers["remark"]
    assert "wrong" not in answers["remark"]
    assert not [item for item in rfc_results["conformance"] if not item["reason"]]
