"""The report for programs: the form of its parts, and their values, held against the analysis and the trials."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
import synthetic
from json_forms import NULL, misfits
from synthetic_analysis import plain_analysis

from sixbench.model.finding import Analysis
from sixbench.report import FORMATS
from sixbench.store import Run

pytestmark = pytest.mark.computes

Document = dict[str, Any]

SCALAR = (str, int, float, bool, NULL)
NUMBER = (float, NULL)
COUNT = (int, NULL)
RESULT = {"workload": str, "metric": str, "unit": str, "levels": {str: SCALAR}, "combination": str, "path": str}
FINDING = {
    **RESULT,
    "baseline": str,
    "n": int,
    "verdict": str,
    "direction": (str, NULL),
    "p_value": NUMBER,
    "mark": str,
    **dict.fromkeys(("value", "baseline_value", "estimate", "baseline_estimate", "ratio", "difference"), NUMBER),
    **dict.fromkeys(("ci_low", "ci_high", "noise_low", "noise_high", "theory", "theory_baseline"), NUMBER),
    **dict.fromkeys(("is_aa", "headline", "constant"), bool),
    "spread": NUMBER,
    "blocks_needed": COUNT,
    "blocks_tell": NUMBER,
    "looks": COUNT,
    "estimator": (str, NULL),
    "invalid": int,
    "outlying": int,
    "apart": int,
    "apart_low": NUMBER,
    "apart_high": NUMBER,
    "mixed": (str, NULL),
}
ESTIMATE = {
    **RESULT,
    "n": int,
    "value": float,
    **dict.fromkeys(("ci_low", "ci_high", "theory"), NUMBER),
    "outlying": int,
}
CLAIM = {
    **dict.fromkeys(("claim", "text", "source", "verdict", "reason"), str),
    "blocks_needed": COUNT,
    "evidence": [str],
}
PUBLISHED = {
    **dict.fromkeys(("source", "what", "unit", "note"), str),
    "published": float,
    **dict.fromkeys(("ours", "ours_low", "ours_high"), NUMBER),
}
PATH = {
    "name": str,
    "mechanism": str,
    "family": int,
    "nodes": [str],
    "options": {str: SCALAR},
    "engines": [str],
    "baseline": bool,
    "aa_of": (str, NULL),
    "client": str,
    "client_seen": str,
    "server": str,
    "headers": [str],
    "links": [{"link": str, "near": str, "far": str, "headers": [str]}],
    "tunnels": [dict],
    "install_ns": [int],
}
LINK_EVIDENCE = {
    "link": str,
    "node": (str, NULL),
    "interface": (str, NULL),
    "claimed": [str],
    **{key: {str: int} for key in ("seen", "outer", "errors", "stacks")},
    "captured": int,
    "not_captured": int,
    "max_ip_bytes": COUNT,
}
PACKET = {
    "links": [str],
    "layers": [{"name": str, "bytes": COUNT, "is_atomic": bool}],
    "payload_bytes": COUNT,
}
EVIDENCE = {
    "path": str,
    "trials": int,
    "are_valid": bool,
    "links": [LINK_EVIDENCE],
    "middle": (str, NULL),
    "families": {str: int},
    "packets": [PACKET],
    "losses": {"places": [dict], "not_told": list},
    **{key: [dict] for key in ("tunnels", "translators", "sessions", "transactions", "programs", "moves")},
}
REASON = {
    **dict.fromkeys(("status", "kind", "reason"), str),
    "count": int,
    **{key: [str] for key in ("paths", "workloads", "keys")},
}
TRIALS = {
    **dict.fromkeys(("planned", "total", "ok", "invalid", "failed", "unusable", "repeats", "repeats_valid"), int),
    "reasons": [REASON],
}
FORM = {
    **dict.fromkeys(("schema", "experiment", "run", "title", "state", "baseline", "clock"), str),
    "paper": (str, NULL),
    "quick": bool,
    "confidence": float,
    "margin": float,
    "seed": int,
    "started_realtime_ns": int,
    "findings": [FINDING],
    "estimates": [ESTIMATE],
    "claims": [CLAIM],
    "published": [PUBLISHED],
    "paper_tables": list,
    "paths": [PATH],
    "evidence": [EVIDENCE],
    "trials": TRIALS,
    "remarks": [str],
    "rfc": NULL,
    "workers": NULL,
    "kernels": list,
    "calibration": NULL,
}


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.small().in_memory()


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return plain_analysis(run, paper=True)


@pytest.fixture(scope="module")
def document(run: Run, analysis: Analysis) -> Document:
    return dict(json.loads(FORMATS["json"].render(run, analysis)))


@pytest.mark.parametrize("name", ["small", "one_block", "no_valid_trial", "no_trials", "transition"])
def test_every_part_has_its_keys_and_types(name: str) -> None:
    """None is left out where it is not known. Parts that one kind of run has have tests with that kind."""
    some_run = getattr(synthetic, name)().in_memory()
    assert misfits(json.loads(FORMATS["json"].render(some_run, plain_analysis(some_run, paper=True))), FORM) == []


def test_it_is_written_as_before() -> None:
    """Programs of others compare these files line by line."""
    some_run = synthetic.small().in_memory()
    text = FORMATS["json"].render(some_run, plain_analysis(some_run))
    assert text.startswith('{\n "schema": "sixbench.findings/3",\n "experiment": "small",\n "run": "small",\n')
    assert text.endswith("\n}\n")
    assert list(json.loads(text)) == list(FORM_ORDER)


FORM_ORDER = (
    *("schema", "experiment", "run", "title", "state", "paper", "quick", "baseline", "confidence", "margin", "seed"),
    *("started_realtime_ns", "clock", "findings", "estimates", "claims", "published", "paper_tables", "paths"),
    *("evidence", "trials", "remarks", "rfc", "workers", "kernels", "calibration"),
)


def test_the_run(document: Document) -> None:
    assert (document["title"], document["state"]) == ("IPv4 and IPv6 through two routers", "complete")
    assert (document["paper"], document["quick"], document["baseline"]) == (None, False, "ipv4")
    assert (document["confidence"], document["margin"], document["seed"]) == (0.95, 0.01, 1)
    assert (document["started_realtime_ns"], document["clock"]) == (1_760_000_000_000_000_000, "real")
    assert document["remarks"] == ["1 of 3 paths shows a drift over the blocks"]


@pytest.mark.parametrize(
    ("key", "attribute", "number"),
    [
        ("findings", "findings", 30),
        ("estimates", "estimates", 45),
        ("claims", "claims", 4),
        ("published", "published", 7),
    ],
)
def test_results_are_those_of_the_analysis_to_the_last_digit(
    document: Document, analysis: Analysis, key: str, attribute: str, number: int
) -> None:
    results = getattr(analysis, attribute)
    assert len(document[key]) == number
    for entry, result in zip(document[key], results, strict=True):
        for field in fields(result):
            assert entry[field.name] == getattr(result, field.name), field.name


def test_a_comparison_with_theory_and_one_of_a_path_with_itself(document: Document) -> None:
    findings = {(entry["metric"], entry["path"], entry["combination"]): entry for entry in document["findings"]}
    goodput = findings["goodput", "ipv6", "c0001"]
    assert (goodput["verdict"], goodput["direction"], goodput["mark"]) == ("lower", "lower", "decided")
    assert (goodput["unit"], goodput["levels"], goodput["n"]) == ("bit/s", {"message_bytes": 64}, 3)
    assert (goodput["ratio"], goodput["ci_low"], goodput["ci_high"]) == (0.985685, 0.983607, 0.987767)
    assert (goodput["value"], goodput["baseline_value"]) == (91_887_724.207, 93_222_200.0)
    # Payload of a full segment with timestamps, beside all that it takes on the wire (docs/theory.md).
    assert goodput["theory"] == pytest.approx(1e8 * 1428 / 1538)
    assert goodput["theory_baseline"] == pytest.approx(1e8 * 1448 / 1538)
    assert (goodput["invalid"], goodput["is_aa"], goodput["headline"]) == (1, False, True)
    same = findings["cpu_busy", "ipv4-again", "c0001"]
    assert (same["is_aa"], same["verdict"], same["mark"]) == (True, "inconclusive", "undecided")
    assert (same["ratio"], same["noise_low"], same["noise_high"]) == (0.985425, same["ci_low"], same["ci_high"])
    assert (same["unit"], same["direction"], same["theory"]) == ("cores", None, None)


def test_trials_that_do_not_count_have_their_reasons(document: Document) -> None:
    trials = document["trials"]
    assert {key: value for key, value in trials.items() if key != "reasons"} == {
        "planned": 36,
        "total": 36,
        "ok": 34,
        "invalid": 1,
        "failed": 1,
        "unusable": 0,
        "repeats": 0,
        "repeats_valid": 0,
    }
    assert trials["reasons"] == [
        {
            "status": "failed",
            "kind": "agent-failed",
            "reason": "agent h2: peer-lost: the peer fell silent for 5 s",
            "count": 1,
            "paths": ["ipv4"],
            "workloads": ["ping"],
            "keys": ["b003-c0003-ipv4"],
        },
        {
            "status": "invalid",
            "kind": "cpu-limited",
            "reason": "the machine's CPU was busy for 97 % of the trial: the tester was the limit",
            "count": 1,
            "paths": ["ipv6"],
            "workloads": ["tcp-stream"],
            "keys": ["b002-c0001-ipv6"],
        },
    ]


def test_paths_are_those_of_the_experiment(document: Document) -> None:
    assert [(path["name"], path["mechanism"], path["family"], path["aa_of"]) for path in document["paths"]] == [
        ("ipv4", "native4", 4, None),
        ("ipv4-again", "native4", 4, "ipv4"),
        ("ipv6", "native6", 6, None),
    ]
    assert [path["baseline"] for path in document["paths"]] == [True, False, False]
    for path in document["paths"]:
        header = f"ipv{path['family']}"
        ends = ("198.18.0.1", "198.18.2.2") if path["family"] == 4 else ("2001:2::1", "2001:2:0:2::2")
        assert (path["client"], path["client_seen"], path["server"]) == (ends[0], ends[0], ends[1])
        assert (path["headers"], path["engines"]) == ([header], ["kernel"])
        assert [(link["link"], link["near"], link["far"]) for link in path["links"]] == [
            *(("h1-r1", "h1", "r1"), ("r1-r2", "r1", "r2"), ("r2-h2", "r2", "h2"))
        ]
        assert all(link["headers"] == [header] for link in path["links"])
        assert (path["nodes"], path["options"], path["tunnels"], path["install_ns"]) == ([], {}, [], [])


FORTH, BACK = 44, 20
"""Packets that a trial of `synthetic` has on each link."""


def test_evidence_is_the_sum_over_the_valid_trials(document: Document, run: Run) -> None:
    for evidence in document["evidence"]:
        trials = sum(trial.path == evidence["path"] and trial.status == "ok" for trial in run.trials)
        header = "ipv6" if evidence["path"] == "ipv6" else "ipv4"
        assert (evidence["trials"], evidence["are_valid"], evidence["middle"]) == (trials, True, "r1-r2")
        for link, subnet in zip(evidence["links"], "012", strict=True):
            near, far = _ends(header, subnet)
            assert link["claimed"] == [header]
            assert link["outer"] == {f"{near} > {far}": trials * FORTH, f"{far} > {near}": trials * BACK}
            assert link["seen"] == {header: trials * (FORTH + BACK)}
            assert link["captured"] == trials * (FORTH + BACK)
            assert (link["not_captured"], link["errors"], link["max_ip_bytes"]) == (0, {}, 1500)
            assert sum(link["stacks"].values()) == trials
        assert evidence["families"] == evidence["links"][1]["seen"]


def _ends(header: str, subnet: str) -> tuple[str, str]:
    prefix = f"198.18.{subnet}." if header == "ipv4" else f"2001:2:0:{subnet}::" if subnet != "0" else "2001:2::"
    return f"{prefix}1", f"{prefix}2"


def test_the_headers_of_a_packet_of_each_path(document: Document) -> None:
    for evidence in document["evidence"]:
        [packet] = evidence["packets"]
        assert packet["links"] == ["h1-r1", "r1-r2", "r2-h2"]
        layers = [(layer["name"], layer["bytes"]) for layer in packet["layers"]]
        ip = ("IPv6", 40) if evidence["path"] == "ipv6" else ("IPv4", 20)
        assert layers == [("Ethernet", 14), ip, ("TCP", 32)]
        # The packets are full: 1500 bytes behind the Ethernet header.
        assert packet["payload_bytes"] == 1500 - ip[1] - 32


def test_paths_without_tunnels_have_no_evidence_of_them(document: Document) -> None:
    for evidence in document["evidence"]:
        keys = ("tunnels", "translators", "sessions", "transactions", "programs", "moves")
        assert [evidence[key] for key in keys] == [[]] * len(keys)
        assert evidence["losses"] == {"places": [], "not_told": []}
