"""The two papers on applications: that they can be judged, and that their experiments are as documents say."""

from __future__ import annotations

import pytest
from paper_runs import experiment, imagined, paper

from sixbench.analysis.claims import judge
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.model.experiment import Experiment
from sixbench.model.finding import ClaimResult, PublishedComparison
from sixbench.model.paper import Untestable
from sixbench.plan.schedule import trial_counts

pytestmark = pytest.mark.computes

PAPERS = ("dns-transports", "quic-and-tcp")
QUICK_S = 600
BETWEEN_TRIALS_NS = 300_000_000
ROUND_TRIPS = {"udp": 1, "tcp": 2, "tls": 3, "https": 3, "quic": 2}


def judged(name: str, *, quick: bool) -> tuple[list[ClaimResult], list[PublishedComparison]]:
    run = imagined(experiment(name, quick))
    actual_estimates = estimates(run)
    return judge(paper(name), run, findings(run, actual_estimates), actual_estimates)


def least_ns(chosen: Experiment) -> int:
    """Time of the traffic of a block on one path: round trips, or the time that a workload lasts."""
    total_ns = 0
    for combination in chosen.combinations:
        params = combination.workload.params
        round_trip_ns = 2 * int(combination.levels["delay_ns"])
        is_new = params.get("connection") == "new"
        # Of QUIC: the handshake, that of a long chain again, a Retry, and the answer.
        round_trips = ROUND_TRIPS[str(params["over"])] if is_new else 4 if "over" not in params else 1
        if "count" in params:
            total_ns += int(params["count"]) * round_trips * round_trip_ns
        else:
            total_ns += int(params["duration_ns"]) + int(params["warmup_ns"])
        total_ns += BETWEEN_TRIALS_NS
    return total_ns


@pytest.mark.parametrize("name", PAPERS)
def test_a_quick_run_takes_under_ten_minutes(name: str) -> None:
    chosen = experiment(name, quick=True)
    assert least_ns(chosen) * len(chosen.paths) * chosen.blocks.maximum < QUICK_S * 1e9


@pytest.mark.parametrize(
    ("name", "quick", "trials"),
    [
        ("dns-transports", False, 2940),
        ("dns-transports", True, 448),
        ("quic-and-tcp", False, 480),
        ("quic-and-tcp", True, 96),
    ],
)
def test_the_counts_in_the_files_comments(name: str, quick: bool, trials: int) -> None:
    assert trial_counts(experiment(name, quick)) == (trials, trials)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPERS)
def test_every_testable_claim_is_judged(name: str, quick: bool) -> None:
    claims, _ = judged(name, quick=quick)
    untestable = {claim.name for claim in paper(name).claims if isinstance(claim.test, Untestable)}
    assert {claim.claim for claim in claims if claim.verdict == "not testable here"} == untestable


@pytest.mark.parametrize("quick", [False, True])
def test_dns_goes_over_both_families_through_a_translator_and_a_tunnel(quick: bool) -> None:
    mechanisms = {path.mechanism for path in experiment("dns-transports", quick).paths}
    assert {"native4", "native6", "nat64", "ds-lite"} <= mechanisms


@pytest.mark.parametrize("quick", [False, True])
def test_quic_and_tcp_have_the_same_levels_over_both_families(quick: bool) -> None:
    chosen = experiment("quic-and-tcp", quick)
    assert {path.mechanism for path in chosen.paths} == {"native4", "native6"}
    levels = {
        kind: [c.levels for c in chosen.combinations if c.workload.kind == kind]
        for kind in ("quic-stream", "tcp-stream")
    }
    assert levels["quic-stream"] == levels["tcp-stream"]


def test_a_full_run_has_ours_beside_every_number_of_curl() -> None:
    _, published = judged("quic-and-tcp", quick=False)
    of_curl = [comparison for comparison in published if comparison.what.startswith("throughput of cURL")]
    assert len(of_curl) == 12
    assert all(comparison.ours is not None for comparison in of_curl)


@pytest.mark.parametrize("mbps", [50, 200, 600, 1000])
def test_the_differences_follow_from_the_papers_throughputs(mbps: int) -> None:
    values = {value.what: value.value for value in paper("quic-and-tcp").values}
    http2, quic = (values[f"throughput of cURL over {over} at {mbps} Mbit/s"] for over in ("HTTP/2", "QUIC"))
    percent = values[f"throughput of cURL over QUIC against HTTP/2 at {mbps} Mbit/s"]
    assert 100 * (quic / http2 - 1) == pytest.approx(percent, abs=0.1)
