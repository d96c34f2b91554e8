"""`sixbench rfc` in networks of this machine: a wire of a known rate, a table of a known size, a resolver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WIRE = """
experiment: wire
dut: {{mechanism: wire, rate: {rate}}}
workloads: [ping]
"""
TRANSLATOR = """
experiment: translator
dut: {mechanism: {nat64: {nodes: [dut], ports: 1000}}}
workloads: [ping]
"""
BETWEEN_BYTES = 20
WIDTH = 0.03
LONGEST_S = 600
"""A search ends once 60 of its trials were refused, of about a second each; there are four searches."""


def run_rfc(sixbench: Any, directory: Path, text: str, *more: str) -> dict[str, Any]:
    file = directory / "experiment.yaml"
    file.write_text(text)
    command = ("rfc", file, "--quick", "--json", "--quiet", "--out", directory / "run", *more)
    done = sixbench(*command, timeout=LONGEST_S, figures=False)
    assert done.returncode == 0, done.stderr
    rfc: dict[str, Any] = json.loads(done.stdout)["rfc"]
    return rfc


@pytest.mark.parametrize(("rate", "bps", "size"), [("1Mbit", 1e6, 1518), ("10Mbit", 1e7, 128), ("100Mbit", 1e8, 1518)])
def test_the_search_returns_the_rate_of_a_wire_within_its_width_and_the_latency_at_it(
    sixbench: Any, tmp_path: Path, rate: str, bps: float, size: int
) -> None:
    """Frames of both families, over a link whose rate is all that limits them."""
    asked_for = ("--test", "latency", "--frame", f"{size}B", "--traffic", "plain")
    rfc_results = run_rfc(sixbench, tmp_path, WIRE.format(rate=rate), *asked_for)
    line_pps = bps / (8 * (size + BETWEEN_BYTES))
    wires = [item for item in rfc_results["throughput"] if not item["is_tester"]]
    assert [wire["path"] for wire in wires] == ["ipv4", "ipv6"]
    for wire in wires:
        assert wire["line_pps"] == pytest.approx(line_pps)
        if wire["is_settled"] and not wire["is_testers"]:
            assert wire["lower_pps"] == pytest.approx(line_pps, rel=WIDTH), wire
        else:  # A busy machine kept the tester from its rate, which is no loss of the wire's.
            assert wire["refused"], wire
            assert wire["refused_why"], wire
    for wire in rfc_results["results"]:
        if wire["value"] is None:
            assert wire["remark"], wire
        else:  # A token bucket lets a frame that comes alone pass at once, so the line's own time is no least one.
            assert wire["value"] > 0, wire
    assert {item["state"] for item in rfc_results["conformance"]} == {"met", "not met", "not applicable"}
    assert all(item["reason"] for item in rfc_results["conformance"])


def test_frames_that_differ_have_the_rate_of_the_wire_too_and_their_clauses_are_decided(
    sixbench: Any, tmp_path: Path
) -> None:
    """Half of the frames over IPv4 make the others longer on average by 10 bytes less."""
    named = [word for name in ("networks-256", "prefix-126", "native-50", "chain") for word in ("--traffic", name)]
    rfc_results = run_rfc(
        sixbench,
        tmp_path,
        WIRE.format(rate="2Mbit"),
        *("--profile", "5180", "--test", "throughput", "--frame", "512B", *named),
    )
    by_path = {(item["path"], item["traffic"]): item for item in rfc_results["throughput"] if not item["is_tester"]}
    plain = {(path, "plain") for path in ("ipv4", "ipv6")}
    over_ipv6 = ("networks-256", "prefix-126", "native-50", "chain")
    others = {("ipv4", "networks-256"), *(("ipv6", name) for name in over_ipv6)}
    assert set(by_path) == plain | others
    for (_, traffic), value in by_path.items():
        size = 512 - 10 * (traffic == "native-50")
        assert value["line_pps"] == pytest.approx(2e6 / (8 * (size + BETWEEN_BYTES)))
        if value["is_settled"] and not value["is_testers"]:
            assert value["lower_pps"] == pytest.approx(value["line_pps"], rel=WIDTH), value
        else:  # A busy machine kept the tester from its rate.
            assert value["refused"], value
    reasons = {item["asks"]: (item["state"], item["reason"]) for item in rfc_results["conformance"]}
    state, reason = reasons["one pair of addresses, then random destinations"]
    assert state == "not met"
    assert "--quick: throughput over networks-256" in reason or "no result for" in reason
    assert (
        "not asked for: --traffic native-10, native-90" in reasons["mixes of IPv4 and IPv6: 90/10, 50/50 and 10/90"][1]
    )


def test_a_table_of_a_thousand_entries_keeps_about_a_thousand_connections(sixbench: Any, tmp_path: Path) -> None:
    """Linux finds the last free ports only by chance."""
    rfc_results = run_rfc(sixbench, tmp_path, TRANSLATOR, "--profile", "9693", "--test", "capacity")
    values = {result["what"]: result for result in rfc_results["results"]}
    assert {result["path"] for result in rfc_results["results"]} == {"nat64"}
    rate, kept = values["connections established"], values["connections kept"]
    if kept["value"] is None:  # A busy machine kept the tester from its rates.
        assert "the tester" in rate["remark"] + kept["remark"]
    else:
        assert kept["value"] == pytest.approx(1000, rel=0.15)
