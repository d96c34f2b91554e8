"""docs/measurements/reliability.md has the figures of the JSON file beside it, and broken promises are told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from endurance import document
from endurance.interruptions import KILLS, SIGNALS, times
from endurance.parts import PARTS
from endurance.serve_flood import Served
from pages import END

pytestmark = pytest.mark.computes


def test_the_page_has_the_figures_that_were_measured() -> None:
    data = json.loads(document.DATA.read_text(encoding="utf-8"))
    page = document.PAGE.read_text(encoding="utf-8")
    assert page.split(document.BEGIN)[1].split(END)[0] == document.figures(data)


TALLY = dict.fromkeys(
    (
        "interruptions",
        "acknowledged",
        "lost",
        "half",
        "left_over",
        "sets_that_differ",
        "tracebacks",
        "hung",
        "other_codes",
    ),
    0,
)
FAULT = {"runs": 1, "valid": 9, "false": 0, "lost": 0, "left_over": 0, "tracebacks": 0, "other_codes": 0}


@pytest.mark.parametrize("name", ["lost", "half", "left_over", "sets_that_differ", "tracebacks", "hung", "other_codes"])
def test_one_trial_that_is_lost_and_one_process_that_is_left_over_are_wrong(name: str) -> None:
    assert PARTS["kills"].wrong({"victims": {"agent": TALLY}}) == []
    assert PARTS["kills"].wrong({"victims": {"agent": TALLY | {name: 1}}}) == [f"agent: 1 {name.replace('_', ' ')}"]


def test_fewer_kills_than_were_asked_for_are_told() -> None:
    fields = {"victims": {"guest": TALLY | {"interruptions": 8, "asked": 10}}}
    assert PARTS["kills"].wrong(fields) == ["guest: 8 of 10 times"]


def test_a_victim_is_hit_as_often_alone_as_among_all() -> None:
    assert times(KILLS, 200) == {"orchestrator": 90, "agent": 60, "emulator": 40, "guest": 10}
    assert sum(times(SIGNALS, 100).values()) == 100


def test_one_false_number_is_wrong() -> None:
    assert PARTS["faults"].wrong({"faults": {"disk full": FAULT}}) == []
    assert PARTS["faults"].wrong({"faults": {"disk full": FAULT | {"false": 1}}}) == ["disk full: 1 false"]


def test_what_grows_without_rest_is_wrong_but_for_the_records() -> None:
    quarter = {"agents_descriptors": 40.0, "bpf_programs": 4.0, "orchestrator_mib": 100.0, "trials": 10.0}
    later = quarter | {"orchestrator_mib": 200.0, "trials": 20.0}
    soak = {"second_quarter": quarter, "last_quarter": later}
    assert PARTS["soak"].wrong(soak) == []
    leaking = soak | {"last_quarter": later | {"bpf_programs": 9.0}}
    assert PARTS["soak"].wrong(leaking) == ["bpf_programs: 4.0, then 9.0"]


def test_what_was_not_done_says_why_and_replaces_nothing() -> None:
    run = {"date": "2026-11-22", "commit": "abc", "kernel": "6.1", "processors": 2, "memory_gib": 8}
    data: dict[str, object] = {}
    document.take(data, {"part": "kills", **run, "victims": {"agent": TALLY | {"interruptions": 5}}})
    document.take(
        data, {"part": "kills", **run, "victims": {"agent": {"not_done": "no"}, "guest": {"not_done": "no kernel"}}}
    )
    text = document.figures(data)
    assert "| kill -9 of the agent | 5 |" in text
    assert "not done: no kernel" in text


ON_MACHINES = {"asked": 5, "kills": {"worker": 2, "agent": 3}, "sweeps": 1, "trials": {"ok": 990, "failed": 10}}
ON_MACHINES |= dict.fromkeys(("lost", "twice", "half", "left_over", "not_home", "sets_that_differ"), 0)
ON_MACHINES |= {"tracebacks": 0, "hung": 0, "other_codes": 0, "refused": 1, "acknowledged": 700}


def test_kills_on_machines_have_a_table_and_what_is_not_home_is_wrong() -> None:
    data: dict[str, Any] = {}
    document.take(data, {"part": "machines", "seed": 7, **RUN, "ways": {"workers": ON_MACHINES}})
    line = "| `--workers`, seed 7 | agent (3), worker (2) | 1, 1 000 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 2026-11-22, abc |"
    assert line in document.figures(data)
    assert "| all |" not in document.figures(data)
    for seed in (8, 8):  # that of a seed is replaced
        other = ON_MACHINES | {"kills": {"sshd": 4}, "not_home": 2, "hung": 1}
        document.take(data, {"part": "machines", "seed": seed, **RUN, "ways": {"hosts": other}})
    assert line in document.figures(data)
    assert "| all | 9 | 2, 2 000 | 0 | 0 | 0 | 2 | 0 | 1 | 2 |  |" in document.figures(data)
    wrong = PARTS["machines"].wrong
    assert wrong({"ways": {"workers": ON_MACHINES}}) == []
    assert wrong({"ways": {"workers": ON_MACHINES | {"not_home": 2}}}) == ["workers: 2 not home"]
    assert wrong({"ways": {"workers": ON_MACHINES | {"asked": 9}}}) == ["workers: 5 of 9 kills"]


def test_each_part_of_a_sweep_is_killed_and_two_hundred_in_all() -> None:
    from endurance.many_machines import shares

    assert sum(sum(victims.values()) for victims in shares(200).values()) == 200
    assert shares(1) == {
        "workers": {"orchestrator": 1, "scheduler": 1, "worker": 1, "agent": 1},
        "hosts": {"orchestrator": 1, "agent": 1, "sshd": 1},
    }


RUN = {"date": "2026-11-22", "commit": "abc", "kernel": "6.1", "processors": 2, "memory_gib": 8}


def test_floods_and_tampered_directories_have_tables() -> None:
    times_s = (0.2, 0.3, 1.5)
    served = Served(flood="one /48", times_s=times_s, errors=("under load",), attackers=({"opened": 1300},))
    data: dict[str, Any] = {}
    document.take(data, {"part": "flood", **RUN, "floods": {"one /48": served.to_json()}})
    counts = {"cases": 1000000, "executions": 1700000, "outcomes": 90, "failures": {}}
    document.take(data, {"part": "tampered", **RUN, "seeds": {"1": counts}})
    text = document.figures(json.loads(json.dumps(data)))
    assert "| one /48 | 2 of 4 within 1 s | 0.300 s | 1.500 s | 1 | 1 300 | 2026-11-22, abc |" in text
    assert "| 1 | 1 000 000 | 1 700 000 | 90 | 0 | 2026-11-22, abc |" in text
    assert "| all |" not in text


def test_cases_of_other_seeds_are_added_up_and_those_of_one_seed_are_not() -> None:
    data: dict[str, Any] = {}
    for seed, cases in (("7", 100), ("10", 2000), ("7", 300)):
        counts = {"cases": cases, "executions": 2 * cases, "outcomes": 9, "failures": {"X a.py:1": "words"}}
        document.take(data, {"part": "tampered", **RUN, "seeds": {seed: counts}})
    text = document.figures(json.loads(json.dumps(data)))
    assert "| 7 | 300 | 600 | 9 | 1 | 2026-11-22, abc |\n| 10 | 2 000 |" in text
    assert "| all | 2 300 | 4 600 |  | 1 |  |" in text


def test_a_flood_that_told_nothing_replaces_nothing() -> None:
    data: dict[str, Any] = {}
    document.take(data, {"part": "flood", **RUN, "failed": "serve_flood.py ended with 1"})
    assert "floods" not in document.figures(data)
    assert PARTS["flood"].wrong({"failed": "serve_flood.py ended with 1"}) == ["serve_flood.py ended with 1"]
