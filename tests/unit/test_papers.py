"""The shipped papers and experiments: they can be read, are complete and short enough; and errors of the file."""

from __future__ import annotations

import pytest
from paper_runs import HEAD, claim, experiment, imagined, paper, read
from synthetic import rate_of

from sixbench.analysis.claims import judge
from sixbench.analysis.estimates import estimates
from sixbench.analysis.findings import findings
from sixbench.model.errors import ExperimentError
from sixbench.model.experiment import Experiment
from sixbench.model.finding import ClaimResult, PublishedComparison
from sixbench.model.paper import SYSTEM, OurMeasurement, OurTheory, Untestable
from sixbench.plan.schedule import trial_counts

pytestmark = pytest.mark.computes

PAPERS = ("soorty-sarkar-kernels", "raicu-stack-rtt")
KERNELS = ("debian-5.10", "debian-6.1", "debian-6.12")
BETWEEN_TRIALS_NS = 200_000_000


def length_ns(chosen: Experiment) -> int:
    """Lower bound for the length of a run."""
    lengths = [c.workload.params["duration_ns"] for c in chosen.combinations]
    warmups = [c.workload.params["warmup_ns"] for c in chosen.combinations]
    per_path = sum(
        int(length) + int(warmup) + BETWEEN_TRIALS_NS for length, warmup in zip(lengths, warmups, strict=True)
    )
    return per_path * len(chosen.paths) * chosen.blocks.minimum


def judged(
    name: str, quick: bool, kernels: tuple[str, ...] = ()
) -> tuple[list[ClaimResult], list[PublishedComparison]]:
    run = imagined(experiment(name, quick, kernels))
    actual_estimates = estimates(run)
    return judge(paper(name), run, findings(run, actual_estimates), actual_estimates)


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_has_the_name_of_its_experiment(name: str) -> None:
    assert paper(name).name == experiment(name, quick=False).name == name


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", PAPERS)
def test_every_testable_claim_is_judged(name: str, quick: bool) -> None:
    claims, _ = judged(name, quick, KERNELS)
    untestable = {claim.name for claim in paper(name).claims if isinstance(claim.test, Untestable)}
    left = {c.claim for c in claims if c.verdict == "not testable here"}
    assert left == untestable


@pytest.mark.parametrize("name", PAPERS)
def test_one_kernel_cannot_judge_claims_between_systems(name: str) -> None:
    claims, _ = judged(name, quick=True)
    between = {claim.name for claim in paper(name).claims if getattr(claim.test, "factor", None) == SYSTEM}
    assert between
    assert {c.claim for c in claims if "--kernels" in c.reason} == between


@pytest.mark.parametrize("name", PAPERS)
def test_every_number_that_can_be_compared_is(name: str) -> None:
    _, published = judged(name, quick=False, kernels=KERNELS)
    comparable = [value.ours is not None for value in paper(name).values]
    assert [comparison.ours is not None for comparison in published] == comparable


def test_quickstart_takes_under_two_and_a_half_minutes() -> None:
    assert length_ns(experiment("quickstart", quick=False)) < 150e9
    assert experiment("quickstart", quick=False).paths[-1].aa_of == "ipv4"


def test_both_papers_quickly_take_under_eight_minutes() -> None:
    assert sum(length_ns(experiment(name, quick=True)) for name in PAPERS) < 480e9


@pytest.mark.parametrize(
    ("name", "quick", "trials"),
    [
        ("quickstart", False, (360, 2160)),
        ("quickstart", True, (90, 90)),
        ("soorty-sarkar-kernels", False, (360, 720)),
        ("soorty-sarkar-kernels", True, (120, 120)),
        ("raicu-stack-rtt", False, (1920, 1920)),
        ("raicu-stack-rtt", True, (260, 260)),
    ],
)
def test_the_counts_in_the_files_comments(name: str, quick: bool, trials: tuple[int, int]) -> None:
    assert trial_counts(experiment(name, quick)) == trials


def test_packets_of_soorty_sarkar_have_the_papers_lengths() -> None:
    chosen = experiment("soorty-sarkar-kernels", quick=False)
    streams = [c for c in chosen.combinations if c.workload.kind == "tcp-stream"]
    assert [c.levels["length_bytes"] for c in streams] == [128, 384, 640, 896, 1152, 1408]
    assert all(c.workload.params["mss_bytes"] == c.workload.params["message_bytes"] for c in streams)
    assert (chosen.blocks.minimum, chosen.blocks.deviation) == (10, 0.1)


def test_raicu_is_on_the_papers_addresses_and_leaves_out_the_extremes() -> None:
    chosen = experiment("raicu-stack-rtt", quick=False)
    first, second = chosen.topologies[0].links
    assert (str(first.ends[0].ipv4.ip), str(second.ends[1].ipv4.ip)) == ("192.168.0.100", "10.0.0.100")
    assert (chosen.blocks.maximum, chosen.statistics.trim) == (10, 1)
    assert {rate_of(topology.links[0]) for topology in chosen.topologies} == {100_000_000, 10_000_000}


def test_table_1_of_raicu_is_ours_to_the_digit() -> None:
    _, published = judged("raicu-stack-rtt", quick=True)
    table = [comparison for comparison in published if comparison.source == "Table 1"]
    assert len(table) == 28
    for comparison in table:
        assert comparison.ours == pytest.approx(comparison.published, abs=0.005)


def test_percentages_of_soorty_sarkar_follow_from_its_numbers() -> None:
    """They are percentages of the mean of the two: the file gives this formula for them."""
    values = {(value.source, value.what, value.system): value.value for value in paper("soorty-sarkar-kernels").values}
    pairs = [
        ("Table II", "TCP throughput over {}, 1408 B", "throughput of IPv6 against IPv4, 1408 B"),
        ("Table III", "TCP round-trip time over {}, 1408 B", "round-trip time of IPv6 against IPv4, 1408 B"),
        (
            "Table IV",
            "TCP jitter over {}, mean over packet lengths",
            "jitter of IPv6 against IPv4, mean over packet lengths",
        ),
    ]
    for source, single, compared in pairs:
        for system in ("rhes", "ubuntu"):
            ipv4, ipv6 = (values[source, single.format(family), system] for family in ("IPv4", "IPv6"))
            percent = 100 * (ipv6 - ipv4) / ((ipv6 + ipv4) / 2)
            assert percent == pytest.approx(values[source, compared, system], abs=0.011)


def test_what_compares_systems_is_not_ours() -> None:
    for name in PAPERS:
        for value in paper(name).values:
            assert ("compares two systems" in value.note) <= (value.ours is None), value.what


# The file's errors

GOOD_TEST = "{workload: tcp-stream, metric: goodput, path: ipv6, expect: lower}"


def value(text: str) -> str:
    return f"{HEAD}claims: []\nvalues:\n  - source: Table 1\n    what: w\n    {text}\n"


def test_a_small_paper_is_read() -> None:
    content = read(claim(f"test: {{direction: {GOOD_TEST}}}"))
    assert (content.name, content.year, len(content.claims)) == ("p", None, 1)


@pytest.mark.parametrize(("written", "year"), [("2020", 2020), ("", None)])
def test_a_paper_has_the_year_that_its_text_says(written: str, year: int | None) -> None:
    assert read(f"{HEAD}claims: []\nyear: {written}\n").year == year


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("paper: p\n", "published.yaml:1: title, authors, published, doc, claims are missing"),
        (HEAD + "claims: []\nclaim: 1\n", 'published.yaml:8: claim: unknown key; did you mean "claims"?'),
        (claim("note: n"), "published.yaml:8: claims.0: give either test, or untestable with the reason"),
        (
            claim("test: {guess: {}}"),
            'published.yaml:11: claims.0.test.guess: "guess" is not a test; known here: direction',
        ),
        (
            claim("test: {direction: {workload: tcp-stream, metric: godput, path: ipv6, expect: lower}}"),
            'claims.0.test.direction.metric: "godput" is not a metric; did you mean "goodput"?',
        ),
        (
            claim("test: {direction: {workload: tcp-rr, metric: goodput, path: ipv6, expect: lower}}"),
            "claims.0.test.direction.metric: tcp-rr does not measure goodput",
        ),
        (
            claim("test: {direction: {workload: tcp-stream, metric: goodput, path: ipv6, expect: slower}}"),
            '"slower" is not a value of expect; did you mean "lower"?',
        ),
        (
            claim("test: {magnitude: {workload: tcp-stream, metric: goodput, path: ipv6, formula: of-mean, low: 3}}"),
            "claims.0.test.magnitude: give about, or low and high",
        ),
        (
            claim(
                "test: {magnitude: {workload: tcp-stream, metric: goodput, path: ipv6, formula: of-mean, "
                "low: 3, high: 2}}"
            ),
            "low (3) is greater than high (2)",
        ),
        (
            claim(
                "test: {trend: {workload: tcp-stream, metric: goodput, path: ipv6, levels: {length_bytes: 128}, "
                "factor: length_bytes, expect: rises}}"
            ),
            "claims.0.test.trend.levels.length_bytes: 128 has no unit",
        ),
        (
            claim("test: {in-theory: {theory: extra_wire_percent, mechanism: native6, transport: tcp, about: 3}}"),
            "extra_header_percent, extra_wire_percent, ip_header_percent, extra_ip_header_percent need a message, "
            "and other quantities cannot have one",
        ),
        (value("value: many\n    unit: ms"), 'values.0.value: a value must be a number, not "many"'),
        (value("value: 1\n    unit: ms\n    system: new"), '"new" is not a system; known here: old'),
        (
            value("value: 1\n    unit: ms\n    ours: {workload: tcp-stream, metric: goodput, path: ipv6}"),
            "goodput by the formula value cannot be compared with a number in ms",
        ),
        (
            value(
                "value: 1\n    unit: Mbit/s\n"
                "    ours: {workload: tcp-stream, metric: goodput, path: ipv6, formula: of-mean}"
            ),
            "goodput by the formula of-mean cannot be compared with a number in Mbit/s",
        ),
        (
            value(
                "value: 1\n    unit: '%'\n    ours: {workload: tcp-stream, metric: goodput, path: ipv6, "
                "formula: of-mean, against: {length_bytes: 128}}"
            ),
            "values.0.ours.against.length_bytes: 128 has no unit",
        ),
        (
            value(
                "value: 1\n    unit: bytes\n    ours: {theory: overhead_percent, mechanism: native4, transport: tcp}"
            ),
            "overhead_percent is not in bytes",
        ),
    ],
)
def test_errors_name_the_line_and_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        read(text)
    assert message in str(raised.value)
    assert str(raised.value).startswith("published.yaml:")


def test_two_claims_of_one_name() -> None:
    twice = claim("untestable: r") + "  - {claim: c, text: y, source: s, untestable: r}\n"
    with pytest.raises(ExperimentError, match='there is another claim "c"'):
        read(twice)


def test_about_is_a_fifth_to_each_side() -> None:
    test = "{workload: tcp-stream, metric: goodput, path: ipv6, formula: of-mean, about: -15}"
    claim_test = read(claim(f"test: {{magnitude: {test}}}")).claims[0].test
    assert (getattr(claim_test, "low", None), getattr(claim_test, "high", None)) == (-18, -12)


def test_numbers_of_ours_are_kept_as_they_are_meant() -> None:
    measured = read(
        value(
            "value: 1\n    unit: '%'\n    ours: {workload: tcp-stream, metric: tcp_rtt_mean, path: ipv6, "
            "levels: {length_bytes: [128B, 1KiB]}, formula: of-mean, against: {length_bytes: 64B}}"
        )
    ).values[0]
    assert isinstance(measured.ours, OurMeasurement)
    assert measured.ours.selector.levels == {"length_bytes": (128, 1024)}
    assert measured.ours.against == {"length_bytes": 64}
    computed = read(
        value("value: 20\n    unit: bytes\n    ours: {theory: ip_header_bytes, mechanism: native4, transport: tcp}")
    ).values[0]
    assert computed.ours == OurTheory(quantity="ip_header_bytes", mechanism="native4", transport="tcp")
