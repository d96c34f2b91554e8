"""`sixbench doctor` as people run it: as root, as a user, and where nothing is allowed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from lab.commands import Doctor
from lab.unprivileged import run_as_nobody


def answers_by_mechanism(done: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, str]]:
    assert "Traceback" not in done.stderr
    answers = json.loads(done.stdout)["mechanisms"]
    return {(answer["mechanism"], answer["engine"]): answer for answer in answers}


def test_every_mechanism_is_tried_with_every_engine_and_the_reason_is_said(doctor: Doctor) -> None:
    assert doctor.data.returncode == 0, doctor.data.stderr
    answers = answers_by_mechanism(doctor.data)
    if os.environ.get("SIXBENCH_EXPECT_LAB") == "1":
        ours = {pair: answer for pair, answer in answers.items() if pair[1] in ("ebpf", "user")}
        assert {pair: answer["reason"] for pair, answer in ours.items() if answer["answer"] != "yes"} == {}
    for (mechanism, engine), answer in answers.items():
        assert answer["answer"] in ("yes", "no"), answer
        if answer["answer"] == "yes":
            words = "3 requests over TCP and 3 over UDP" if mechanism == "trt" else "3 echoes"
            assert answer["reason"].startswith(f"{words} were answered; r1-r2 carried ipv")
        elif engine == "kernel":
            assert "this kernel has no " in answer["reason"], (mechanism, answer)
    assert doctor.left_interfaces == set()


def test_the_matrix_names_every_mechanism_and_engine(doctor: Doctor) -> None:
    assert doctor.shown.returncode == 0, doctor.shown.stderr
    lines = [line.split() for line in doctor.shown.stdout.splitlines()]
    start = next(index for index, line in enumerate(lines) if line[:1] == ["mechanism"])
    engines = lines[start][1:]
    assert sorted(engines) == sorted({engine for _, engine in answers_by_mechanism(doctor.data)})
    assert {"kernel", "ebpf", "user"} <= set(engines)
    rows = {
        line[0]: dict(zip(engines, line[1:], strict=True))
        for line in takewhile(lambda line: len(line) == len(engines) + 1, lines[start + 1 :])
    }
    assert {engine for engine, cell in rows["vxlan"].items() if cell != "-"} == {"kernel"}
    assert rows["6over4"]["kernel"] == "-"
    assert set(rows) == {
        *(
            "6in4",
            "6over4",
            "6to4",
            "6rd",
            "isatap",
            "teredo",
            "tunnel-broker",
            "4in6",
            "ds-lite",
            "lw4o6",
            "map-e",
            "dstm",
        ),
        *("gre", "vxlan", "siit", "siit-dc", "nat64", "nat-pt", "464xlat", "map-t", "bih", "trt"),
        *("program", "guest"),
    }


def test_the_conclusion_is_the_last_that_is_said_and_the_same_in_json(doctor: Doctor) -> None:
    shown = doctor.shown.stdout
    conclusion = json.loads(doctor.data.stdout)["conclusion"]
    assert conclusion["ready"] is True
    assert conclusion["sentence"].startswith("Ready")
    last_words = shown[shown.index(f"\n{conclusion['sentence']}\n") :]
    assert last_words.count("to mend it: ") == len(conclusion["limits"])
    assert all(limit["mend"] for limit in conclusion["limits"])


def test_a_user_is_told_what_bpf_needs_and_that_user_space_does_without(nobodys_directory: Path) -> None:
    done = run_as_nobody(nobodys_directory, "doctor", "--json")
    assert done.returncode == 0, done.stderr
    answers = answers_by_mechanism(done)
    for (_, engine), answer in answers.items():
        if engine == "user":
            assert answer["answer"] == "yes", answer
        if engine == "ebpf":
            assert answer["answer"] == "no"
            assert "CAP_BPF" in answer["reason"]
            assert 'engine "user"' in answer["reason"]


def test_where_no_namespace_may_be_made_everything_is_unknown_and_the_exit_code_says_so() -> None:
    forbid = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$@"'
    words = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", sys.executable, "-m", "sixbench"]
    done = subprocess.run([*words, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False)
    if not done.stdout and "Operation not permitted" in done.stderr:
        pytest.skip("this kernel lets no namespace be forbidden in a user namespace")
    assert done.returncode == 3
    assert "network namespaces" in done.stderr
    conclusion = json.loads(done.stdout)["conclusion"]
    assert conclusion["sentence"] == "Not ready. 1 thing is missing:"
    assert conclusion["missing"][0]["what"].startswith("network namespaces: ")
    assert conclusion["missing"][0]["mend"]
    assert {answer["answer"] for answer in answers_by_mechanism(done).values()} == {"unknown"}
