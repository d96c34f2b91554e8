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
    found: dict[str, Any] = json.loads(done.stdout)["rfc"]
    return found


@pytest.mark.parametrize(("rate", "bps", "size"), [("1Mbit", 1e6, 1518), ("10Mbit", 1e7, 128), ("100Mbit", 1e8, 1518)])
def test_the_search_returns_the_rate_of_a_wire_within_its_width_and_the_latency_at_it(
    sixbench: Any, tmp_path: Path, rate: str, bps: float, size: int
) -> None:
    """Frames of both families, over a link whose rate is all that limits them."""
    told = run_rfc(sixbench, tmp_path, WIRE.format(rate=rate), "--test", "latency", "--frame", f"{size}B")
    line_pps = bps / (8 * (size + BETWEEN_BYTES))
    wires = [one for one in told["throughput"] if not one["is_tester"]]
    assert [one["path"] for one in wires] == ["ipv4", "ipv6"]
    for one in wires:
        assert one["line_pps"] == pytest.approx(line_pps)
        if one["is_settled"] and not one["is_testers"]:
            assert one["lower_pps"] == pytest.approx(line_pps, rel=WIDTH), one
        else:  # A busy machine kept the tester from its rate, which is no loss of the wire's.
            assert one["refused"], one
            assert one["refused_why"], one
    for one in told["results"]:
        if one["value"] is None:
            assert one["remark"], one
        else:  # A token bucket lets a frame that comes alone pass at once, so the line's own time is no least one.
            assert one["value"] > 0, one
    assert {one["state"] for one in told["conformance"]} == {"met", "not met", "not applicable"}
    assert all(one["reason"] for one in told["conformance"])


def test_frames_that_differ_have_the_rate_of_the_wire_too_and_their_clauses_are_decided(
    sixbench: Any, tmp_path: Path
) -> None:
    """Half of the frames over IPv4 make the others longer on average by 10 bytes less."""
    named = [word for name in ("networks-256", "prefix-126", "native-50", "chain") for word in ("--traffic", name)]
    told = run_rfc(
        sixbench,
        tmp_path,
        WIRE.format(rate="2Mbit"),
        *("--profile", "5180", "--test", "throughput", "--frame", "512B", *named),
    )
    found = {(one["path"], one["traffic"]): one for one in told["throughput"] if not one["is_tester"]}
    plain = {(path, "plain") for path in ("ipv4", "ipv6")}
    over_ipv6 = ("networks-256", "prefix-126", "native-50", "chain")
    others = {("ipv4", "networks-256"), *(("ipv6", name) for name in over_ipv6)}
    assert set(found) == plain | others
    for (_, traffic), one in found.items():
        size = 512 - 10 * (traffic == "native-50")
        assert one["line_pps"] == pytest.approx(2e6 / (8 * (size + BETWEEN_BYTES)))
        if one["is_settled"] and not one["is_testers"]:
            assert one["lower_pps"] == pytest.approx(one["line_pps"], rel=WIDTH), one
        else:  # A busy machine kept the tester from its rate.
            assert one["refused"], one
    reasons = {one["asks"]: (one["state"], one["reason"]) for one in told["conformance"]}
    state, reason = reasons["one pair of addresses, then random destinations"]
    assert state == "not met"
    assert "--quick: throughput over networks-256" in reason or "no result for" in reason
    assert (
        "not asked for: --traffic native-10, native-90" in reasons["mixes of IPv4 and IPv6: 90/10, 50/50 and 10/90"][1]
    )


def test_a_table_of_a_thousand_entries_keeps_about_a_thousand_connections(sixbench: Any, tmp_path: Path) -> None:
    """Linux finds the last free ports only by chance."""
    told = run_rfc(sixbench, tmp_path, TRANSLATOR, "--profile", "9693", "--test", "capacity")
    values = {one["what"]: one for one in told["results"]}
    assert {one["path"] for one in told["results"]} == {"nat64"}
    rate, kept = values["connections established"], values["connections kept"]
    if kept["value"] is None:  # A busy machine kept the tester from its rates.
        assert "the tester" in rate["remark"] + kept["remark"]
    else:
        assert kept["value"] == pytest.approx(1000, rel=0.15)
