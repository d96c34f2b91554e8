"""The two papers on tunnels: that they can be judged, and that their tables are as the notes say."""

from __future__ import annotations

import pytest
from paper_runs import experiment, imagined, paper

from sixbench.analysis.claims import in_own_columns, judge
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.model.experiment import Experiment
from sixbench.model.finding import ClaimResult, ComparedTable
from sixbench.model.paper import Untestable
from sixbench.plan.schedule import trial_counts

pytestmark = pytest.mark.computes

PAPERS = ("raicu-zeadally-transition", "herrera-6to4-tunnel")
BETWEEN_TRIALS_NS = 200_000_000
TUNNEL_BPS = 90e6
"""Lower bound for the rate of a transfer, where nothing but headers is in its way (theory: 88.6 Mbit/s and more)."""


def length_s(chosen: Experiment) -> float:
    """Lower bound for the length of a run."""
    total_ns = 0.0
    for combination in chosen.combinations:
        params = combination.workload.params
        length_ns = int(params.get("duration_ns", 0)) + int(params.get("warmup_ns", 0))
        total_ns += length_ns + int(params.get("bytes", 0)) * 8e9 / TUNNEL_BPS + BETWEEN_TRIALS_NS
    return total_ns * len(chosen.paths) * chosen.blocks.minimum / 1e9


def judged(name: str, quick: bool) -> list[ClaimResult]:
    run = imagined(experiment(name, quick))
    actual_estimates = estimates(run)
    return judge(paper(name), run, findings(run, actual_estimates), actual_estimates)[0]


def compared(quick: bool) -> dict[str, ComparedTable]:
    run = imagined(experiment("herrera-6to4-tunnel", quick))
    actual_estimates = estimates(run)
    tables = in_own_columns(paper("herrera-6to4-tunnel"), run, findings(run, actual_estimates), actual_estimates)
    return {table.name: table for table in tables}


@pytest.mark.parametrize("name", PAPERS)
def test_a_quick_run_takes_under_seven_minutes(name: str) -> None:
    assert length_s(experiment(name, quick=True)) < 420


@pytest.mark.parametrize(
    ("name", "quick", "trials"),
    [
        ("raicu-zeadally-transition", False, 900),
        ("raicu-zeadally-transition", True, 288),
        ("herrera-6to4-tunnel", False, 1300),
        ("herrera-6to4-tunnel", True, 210),
    ],
)
def test_the_counts_in_the_files_comments(name: str, quick: bool, trials: int) -> None:
    assert trial_counts(experiment(name, quick)) == (trials, trials)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPERS)
def test_every_testable_claim_is_judged(name: str, quick: bool) -> None:
    untestable = {claim.name for claim in paper(name).claims if isinstance(claim.test, Untestable)}
    left = {c.claim for c in judged(name, quick) if c.verdict == "not testable here"}
    assert left == untestable


def test_headers_are_the_papers_to_its_digits() -> None:
    verdicts = {claim.claim: claim.verdict for name in PAPERS for claim in judged(name, quick=True)}
    for name in ("header-ipv6", "header-tunnel", "header-share", "header-share-small"):
        assert verdicts[name] == "reproduced", name


def test_raicu_zeadally_is_on_the_papers_addresses() -> None:
    links = experiment("raicu-zeadally-transition", quick=False).topologies[0].links
    ends = [end for link in links for end in link.ends]
    assert [str(end.ipv4) for end in ends] == [
        *("141.217.17.26/24", "141.217.17.49/24"),
        *("10.0.0.1/8", "10.0.0.3/8"),
        *("172.17.0.1/24", "172.17.0.27/24"),
    ]
    assert [str(end.ipv6) for end in (ends[0], ends[-1])] == ["4:4:4:4:4:4:4:2/64", "8:8:8:8:8:8:8:2/64"]


def test_a_window_of_herreras_is_both_socket_buffers() -> None:
    chosen = experiment("herrera-6to4-tunnel", quick=False)
    transfers = [c.workload.params for c in chosen.combinations if c.workload.kind == "tcp-stream"]
    assert len(transfers) == 56
    assert all(p["sndbuf_bytes"] == p["rcvbuf_bytes"] and "window_bytes" not in p for p in transfers)


# The tables


def rows_of(table: str) -> list[tuple[float, ...]]:
    [only_table] = [t for t in paper("herrera-6to4-tunnel").tables if t.name == table]
    return [tuple(cell for cell in row.cells if cell is not None) for row in only_table.rows]


@pytest.mark.parametrize("table", ["Table 1", "Table 2"])
def test_columns_of_herreras_tcp_tables_follow_from_one_another(table: str) -> None:
    """As the notes say: total = 60 averages; time = average by bandwidth, to the last digits."""
    for size, _, _, total4, average4, rate4, time4, total6, average6, rate6, time6 in rows_of(table):
        assert (total4, total6) == (60 * average4, 60 * average6)
        assert average4 == 1024 * size
        assert average4 / rate4 == pytest.approx(time4, abs=0.0011)
        assert average6 / rate6 == pytest.approx(time6, abs=0.0011)


def test_totals_over_ipv6_are_whole_buffers_but_for_one() -> None:
    buffers = [row[7] / (1024 * row[0]) for row in rows_of("Table 1")]
    assert [round(number) for number in buffers] == [65, 32, 22, 16, 13, 6, 4]
    assert [abs(number - round(number)) < 0.003 for number in buffers] == [True] * 5 + [False, True]


def test_average_size_of_a_datagram_is_datagrams_per_second() -> None:
    for _, _, _, datagrams, average, lost, percent, *_ in rows_of("Table 3"):
        assert datagrams / 60 == pytest.approx(average, rel=0.021)
        assert 100 * lost / datagrams == pytest.approx(percent, abs=0.0051)


def test_datagrams_had_1500_bytes() -> None:
    fitting = [
        abs((sent - lost) * 1500 / 1024 - kept) < 1.01 for _, _, _, sent, _, lost, _, _, kept, _ in rows_of("Table 3")
    ]
    assert (len(fitting), sum(fitting)) == (30, 21)


def test_ours_stand_beside_each_row_that_a_full_run_has() -> None:
    tables = compared(quick=False)
    assert {name: len(table.rows) for name, table in tables.items()} == {"Table 1": 7, "Table 2": 7, "Table 3": 30}
    for table in tables.values():
        for row in table.ours:
            assert [cell is not None for cell in row] == [column.is_compared for column in table.columns]


def test_a_quick_run_has_some_rows_and_five_events() -> None:
    tables = compared(quick=True)
    assert [row[-1] is not None for row in tables["Table 1"].ours] == [True] * 3 + [False] * 4
    assert [row[-1] is not None for row in tables["Table 3"].ours] == ([True] * 5 + [False] * 5) * 3


def test_ours_are_in_the_units_of_the_paper() -> None:
    """The imagined run has 10^6 of everything over IPv4, and 1.03 times that over IPv6."""
    row = compared(quick=True)["Table 1"].ours[0]
    goodput4, time4, total6, per_second6, goodput6, time6 = (cell for cell in row if cell is not None)
    assert goodput4 == pytest.approx(1e6 / 8192, rel=0.02)
    assert time4 == pytest.approx(1e-3, rel=0.02)
    assert time6 == pytest.approx(1.03e-3, rel=0.02)
    assert total6 == pytest.approx(60 * goodput6) == pytest.approx(60 * per_second6)
    sent, per_second = compared(quick=True)["Table 3"].ours[0][3:5]
    assert sent is not None
    assert per_second is not None
    assert sent == pytest.approx(60 * per_second)
