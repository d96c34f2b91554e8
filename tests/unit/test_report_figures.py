"""Figures: which there are, their files, their colours, the drawing of networks, distributions."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import synthetic
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from synthetic_analysis import plain_analysis

from sixbench.model.errors import WriteError
from sixbench.model.finding import Analysis, PublishedComparison
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path as NetworkPath
from sixbench.model.topology import Node, Topology
from sixbench.report import palette, write_figures
from sixbench.report.figures import data, drawings, save, svg, sweep
from sixbench.report.figures.distribution import merge
from sixbench.report.figures.inline import _with_own_ids
from sixbench.report.figures.layout import is_blocked, layout
from sixbench.report.figures.style import WIDTH_IN, change_limits, level_axis, log_ticks, path_styles
from sixbench.store import Run

pytestmark = pytest.mark.computes

NOTHING = Analysis(estimates=[], findings=[])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return synthetic.small().write(tmp_path_factory.mktemp("figures") / "run")


def test_every_workload_and_headline_metric_has_a_figure() -> None:
    run = synthetic.standard(blocks=2).in_memory()
    names = {drawing.name for drawing in drawings(run, plain_analysis(run))}
    swept = {"goodput", "tcp-rtt-mean", "cpu-busy", "cpu-per-byte"}
    assert {f"tcp-stream-{metric}" for metric in swept} <= names
    assert {"tcp-rr-rtt-p50", "tcp-rr-rtt-p99", "tcp-rr-transactions-rate", "tcp-rr-cpu-busy"} <= names
    assert {f"{workload}-values" for workload in ("tcp-connect", "tcp-crr", "udp-stream", "ping")} <= names
    assert {f"{workload}-changes" for workload in ("tcp-stream", "tcp-rr", "ping", "udp-stream")} <= names
    assert {"tcp-rr-rtt-distribution", "tcp-connect-connect-distribution", "ping-rtt-distribution"} <= names
    assert {"network", "headers", "udp-stream-one-way-delay-distribution"} <= names


@pytest.mark.parametrize("name", ["no_trials", "no_valid_trial"])
def test_a_run_without_values_has_the_network_only(name: str) -> None:
    run: Run = getattr(synthetic, name)().in_memory()
    names = {drawing.name for drawing in drawings(run, plain_analysis(run))}
    assert names <= {"network", "headers"}
    assert "network" in names


def test_names_are_unique_and_safe_as_files() -> None:
    run = synthetic.many_levels(blocks=1).in_memory()
    names = [drawing.name for drawing in drawings(run, plain_analysis(run))]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


def test_figures_are_written_in_three_kinds_and_always_the_same(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = plain_analysis(run)
    chosen = [drawing for drawing in drawings(run, analysis) if drawing.name in ("network", "tcp-stream-goodput")]
    monkeypatch.setattr("sixbench.report.figures.catalogue.drawings", lambda run, analysis: chosen)
    files = write_figures(run, analysis, tmp_path / "first" / "figures")
    again = write_figures(run, analysis, tmp_path / "second")
    assert [path.name for path in files] == [f"{d.name}.{kind}" for d in chosen for kind in ("svg", "pdf", "png")]
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
    for path in files:
        head = path.read_bytes()[:8]
        assert head.startswith({".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}[path.suffix])
    ElementTree.parse(files[0])


def test_a_directory_that_cannot_be_written_is_an_error_that_says_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(WriteError, match=r"making the folder .*file/figures: .*; give another directory"):
        write_figures(run, NOTHING, tmp_path / "file" / "figures")


def test_user_settings_of_matplotlib_change_nothing(run: Run) -> None:
    import matplotlib as mpl

    [drawing] = [d for d in drawings(run, plain_analysis(run)) if d.name == "ping-changes"]
    before = svg(drawing)
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "axes.facecolor": "black"}):
        assert svg(drawing) == before


def test_texts_are_not_formulas_and_unknown_letters_are_no_error(run: Run) -> None:
    """Text in a paper's file, and in a kernel's setting, may be any text on one line."""
    hostile = "中文 $\\frac$"
    analysis = plain_analysis(run)
    levels: dict[str, Scalar] = {"net_ipv4_tcp_congestion_control": hostile}
    titled = replace(
        analysis,
        estimates=[
            replace(estimate, levels=levels) if estimate.workload == "ping" else estimate
            for estimate in analysis.estimates
        ],
        findings=[
            replace(finding, levels=levels) if finding.workload == "ping" else finding for finding in analysis.findings
        ],
        published=[PublishedComparison(source=f"Table 1, {hostile}", what=hostile, published=94.0, unit="bit/s")],
    )
    actual_drawings = [d for d in drawings(run, titled) if d.name in ("published", "ping-values")]
    assert len(actual_drawings) == 2
    for drawing in actual_drawings:
        assert hostile in svg(drawing)
        assert save.render(drawing.draw(WIDTH_IN), "png").startswith(b"\x89PNG")


def test_importing_reports_does_not_import_slow_libraries() -> None:
    code = "import sys, sixbench.report; print(sorted({'matplotlib', 'jinja2', 'rich', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- style --------------------------------------------------------------------------------------------------------


def test_a_path_has_one_colour_in_all_figures(run: Run) -> None:
    svgs = {drawing.name: svg(drawing) for drawing in drawings(run, plain_analysis(run))}
    for name in ("network", "tcp-stream-goodput", "ping-values", "ping-rtt-distribution", "tcp-stream-time"):
        assert palette.variable("#0072b2") in svgs[name], name
        assert palette.variable("#d55e00") in svgs[name], name


def test_an_aa_path_looks_like_the_path_it_repeats() -> None:
    styles = path_styles(synthetic.standard(blocks=1).manifest.experiment)
    assert styles["ipv4-again"].colour == styles["ipv4"].colour != styles["ipv6"].colour
    assert (styles["ipv4"].hollow, styles["ipv4-again"].hollow) == (False, True)
    assert styles["ipv4-again"].line == ":"


def test_more_paths_than_colours_can_still_be_told_apart() -> None:
    experiment = synthetic.small(blocks=1).manifest.experiment
    paths = tuple(NetworkPath(name=f"p{index}", mechanism="native4", family=4) for index in range(20))
    styles = path_styles(replace(experiment, paths=paths)).values()
    assert len({(style.colour, style.marker, style.line) for style in styles}) == 20


def test_levels_that_lie_close_have_their_labels_in_two_lines() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    levels = [1304.0, 1500.0, 9000.0]
    level_axis(axes, "mtu_bytes", levels, 5.4)
    shown = axes.xaxis.get_major_formatter()
    assert [shown(level, None) for level in levels] == ["\n1304 B", "1500 B", "9000 B"]


@example(1.03125, 942668456.0, 2.1, 0.52)
@given(
    st.floats(1, 1e12), st.floats(1.05, 1e9), st.sampled_from([1.5, 2.1, 6.4]), st.sampled_from([0.4, 0.52])
)  # fmt: skip
def test_labels_of_logarithmic_axes_do_not_touch(low: float, ratio: float, width_in: float, label_in: float) -> None:
    ticks = log_ticks(low, low * ratio, width_in, label_in)
    places = [math.log(tick / low) / math.log(ratio) * width_in for tick in ticks]
    assert all(low <= tick <= low * ratio for tick in ticks)
    assert all(after - before >= 0.9 * label_in for before, after in pairwise(places))


@given(
    st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8), st.lists(st.floats(-1e300, 1e300)), st.floats(0.1, 10)
)  # fmt: skip
def test_axes_of_changes_hold_all_changes_and_no_difference(
    centres: list[float], ends: list[float], margin: float
) -> None:
    low, high = change_limits(centres, ends, margin)
    assert low < min([0, -margin, *centres])
    assert high > max([0, margin, *centres])
    assert high - low < 1e6


# --- networks -----------------------------------------------------------------------------------------------------


def topology(hosts: str, routers: str, links: str) -> Topology:
    """`h1 h2`, `r1`, `h1-r1 r1-h2`."""
    nodes = {name: Node(name=name, kind="host") for name in hosts.split()}
    nodes |= {name: Node(name=name, kind="router") for name in routers.split()}
    ends = [pair.split("-") for pair in links.split()]
    return Topology(nodes=nodes, links=tuple(synthetic.link(a, b, index) for index, (a, b) in enumerate(ends)))


NETWORKS = {
    "direct": topology("h1 h2", "", "h1-h2"),
    "chain": synthetic.chain(),
    "long": synthetic.chain(names=("h1", *(f"r{index}" for index in range(30)), "h2")),
    "ring": topology("h1 h2", "a b c d", "h1-a a-b b-c c-d d-a c-h2"),
    "star": topology("h1 h2 h3 h4 h5 h6 h7", "hub", "h1-hub h2-hub h3-hub h4-hub h5-hub h6-hub h7-hub"),
    "mesh": topology("h1 h2", "a b c d", "h1-a a-b a-c a-d b-c b-d c-d d-h2"),
    "apart": topology("h1 h2", "x lonely", "h1-x"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_node_has_a_place_of_its_own(name: str) -> None:
    places = layout(NETWORKS[name], ("h1", "h2"))
    assert places.squares.keys() == NETWORKS[name].nodes.keys()
    assert len(set(places.squares.values())) == len(places.squares)


@pytest.mark.parametrize("name", ["direct", "chain", "ring", "star", "mesh"])
def test_the_way_between_the_hosts_is_one_row_from_left_to_right(name: str) -> None:
    places = layout(NETWORKS[name], ("h1", "h2"))
    squares = [places.squares[node] for node in places.route]
    assert places.straight
    assert (places.route[0], places.route[-1]) == ("h1", "h2")
    assert [column for column, _ in squares] == sorted(column for column, _ in squares)
    assert len({row for _, row in squares}) == 1


def test_no_way_is_drawn_where_there_is_none() -> None:
    assert not layout(NETWORKS["apart"], ("h1", "h2")).straight


def test_links_that_would_run_through_a_node_are_bent() -> None:
    assert is_blocked([(0, 0), (1, 0), (2, 0)], (0, 0), (2, 0))
    assert not is_blocked([(0, 0), (1, 1), (2, 0)], (0, 0), (2, 0))
    assert not is_blocked([(0, 0), (3, 0), (2, 0)], (0, 0), (2, 0))


@pytest.mark.parametrize("name", NETWORKS)
def test_any_network_can_be_drawn(name: str) -> None:
    run = synthetic.no_trials()
    experiment = replace(run.manifest.experiment, topologies=(NETWORKS[name],), between=("h1", "h2"))
    [drawing] = drawings(synthetic.replace_run(run, experiment=experiment).in_memory(), NOTHING)
    text = svg(drawing)
    if name != "long":
        assert all(f">{node}<" in text for node in NETWORKS[name].nodes)


def test_links_that_differ_between_networks_say_so() -> None:
    run = synthetic.many_levels(blocks=1).in_memory()
    [drawing] = [d for d in drawings(run, NOTHING) if d.section == "network"]
    text = svg(drawing)
    assert "MTU 1500 / 9000" in text
    assert "10 Mbit/s to 10 Gbit/s (4)" in text
    assert "with a slash between them" in drawing.caption


def test_the_network_shows_where_packets_are_in_a_tunnel_and_which() -> None:
    run = synthetic.many_levels(blocks=1).in_memory()
    [drawing] = [d for d in drawings(run, NOTHING) if d.section == "network"]
    text = svg(drawing)
    assert text.count(">IPv6 in IPv4<") == 2
    assert ">6in4-1, MTU 1480 / 8980<" in text
    assert ">6in4, kernel<" in text
    assert "A pipe is a tunnel" in drawing.caption


def test_a_way_that_is_not_the_row_of_the_drawing_has_its_own_nodes() -> None:
    run = synthetic.no_trials()
    tunnel = NetworkPath(name="tunnel", mechanism="6in4", family=6, nodes=("r1", "r7"))
    nodes = ("h1", *(f"r{index}" for index in range(10)), "h2")
    experiment = replace(
        run.manifest.experiment, topologies=(synthetic.chain(names=nodes),), paths=(tunnel,), baseline="tunnel"
    )
    [drawing] = drawings(synthetic.replace_run(run, experiment=experiment).in_memory(), NOTHING)
    assert all(svg(drawing).count(f">{node}<") == 2 for node in nodes)


# --- packets ------------------------------------------------------------------------------------------------------


def test_packets_are_drawn_header_by_header_on_the_links_where_they_differ() -> None:
    run = synthetic.transition(blocks=1).in_memory()
    [drawing] = [d for d in drawings(run, NOTHING) if d.name == "headers"]
    text = svg(drawing)
    for item in (">h1-r1, r2-h2<", ">r1-r2<", ">1494 B<", ">1408<", ">6over4, ebpf<"):
        assert item in text, item
    assert text.count(">1514 B<") == 4
    assert "offload" not in drawing.caption


def test_packets_of_very_many_paths_are_drawn_on_several_pages() -> None:
    run = synthetic.no_trials()
    [ipv4, *_] = synthetic.one_block().trials
    paths = tuple(NetworkPath(name=f"p{index}", mechanism="native4", family=4) for index in range(40))
    experiment = replace(run.manifest.experiment, paths=paths, baseline="p0")
    trials = [replace(ipv4, path=path.name) for path in paths]
    many = replace(synthetic.replace_run(run, experiment=experiment), trials=trials).in_memory()
    pages = [d for d in drawings(many, NOTHING) if d.section == "evidence"]
    assert [page.name for page in pages] == ["headers-1", "headers-2"]
    assert [svg(page).count(">1514 B<") for page in pages] == [34, 6]


def test_what_the_baseline_has_no_value_of_is_shown_and_not_compared() -> None:
    run = synthetic.transition(blocks=3).in_memory()
    analysis = plain_analysis(run)
    result = {d.name: d for d in drawings(run, analysis)}
    alone = svg(result["tcp-stream-bpf-encapsulate"])
    assert "host-to-host" in alone
    assert "router-to-router" not in alone
    assert "change against" not in result["tcp-stream-bpf-encapsulate"].caption
    lines = re.findall(">([^<]+)<", svg(result["tcp-connect-values"]))
    titles = " ".join(line.strip() for line in lines if line.strip())
    assert "Run time of the encapsulating program (ns), not compared, because ipv6 has no values for it" in titles


# --- distributions and markup -------------------------------------------------------------------------------------


def test_histograms_of_several_trials_become_one_curve() -> None:
    curve = merge("ipv4", [{"buckets": [[100.0, 1], [200.0, 1]]}, {"buckets": [[200.0, 1], [400.0, 1]]}])
    assert curve is not None
    assert (curve.count, curve.times_ns, curve.shares) == (4, [100.0, 200.0, 400.0], [0.25, 0.75, 1.0])


@pytest.mark.parametrize("histogram", [{}, {"buckets": None}, {"buckets": []}, {"count": 0, "buckets": [[0, 5]]}])
def test_histograms_that_hold_nothing_have_no_curve(histogram: dict[str, object]) -> None:
    assert merge("ipv4", [histogram]) is None


def test_curves_end_before_the_last_thousandth() -> None:
    curve = merge("ipv4", [{"buckets": [[100.0, 99_999], [1e9, 1]]}])
    assert curve is not None
    assert curve.times_ns == [100.0]


def test_two_figures_of_a_page_share_no_id(run: Run) -> None:
    svgs = [svg(drawing) for drawing in drawings(run, plain_analysis(run))[:4]]
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in svgs]
    assert all(not ids[a] & ids[b] for a in range(len(ids)) for b in range(a))
    assert _with_own_ids('<a id="x"/><a id="y"/><use xlink:href="#x"/>', "n").count(" id=") == 1


def test_workloads_of_one_kind_that_vary_different_factors_have_figures_of_their_own() -> None:
    run = synthetic.small().in_memory()
    analysis = plain_analysis(run)
    estimates = [estimate for estimate in analysis.estimates if "message_bytes" in estimate.levels]
    others = [replace(estimate, levels={"size_bytes": estimate.levels["message_bytes"]}) for estimate in estimates]
    plain = [replace(estimate, levels={}) for estimate in estimates if estimate.levels == estimates[0].levels]
    items = data.measured(replace(analysis, estimates=[*estimates, *others, *plain], findings=[]))
    workload, metric = items[0].workload, items[0].metric
    same = [item for item in items if (item.workload, item.metric) == (workload, metric)]
    assert [(item.main, item.is_first) for item in same] == [
        ("message_bytes", True),
        ("size_bytes", False),
        (None, False),
    ]
    names = [drawing.name for drawing in sweep.drawings(data.Context.of(run.manifest.experiment), same[:2], metric)]
    assert len(set(names)) == 2


# --- categories ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        ("congestion", ["cubic", "bbr"]),
        ("nodelay", [False, True]),
        ("seed", [1, 2, 30]),
        ("net_ipv4_tcp_ecn", [0, 1, 2]),
        ("net_ipv4_tcp_sack", [1, 0]),
        ("sack", [0, 1]),
        ("trace", ["1", "2"]),
        ("link_queue_ecn", [False, True]),
        ("net_ipv4_tcp_rmem", ["4096 87380 6291456", 4096]),
    ],
)
def test_between_levels_of_a_category_there_is_no_line(run: Run, column: str, levels: list[Scalar]) -> None:
    names = {drawing.name: drawing for drawing in drawings(run, with_factor(run, column, levels))}
    assert "tcp-stream-goodput" not in names
    for axes in names["tcp-stream-values"].draw(WIDTH_IN).figure.axes:
        assert not [line for line in axes.lines if line.get_linestyle() != "None" and len(line.get_xdata()) > 2]


@pytest.mark.parametrize(
    ("column", "levels"),
    [("streams", [1, 2]), ("link_loss_ratio", [0.0, 0.01]), ("node_filter_rules", [0, 100]), ("warmup_ns", [0, 1])],
)
def test_between_levels_of_a_quantity_there_is_one(run: Run, column: str, levels: list[Scalar]) -> None:
    [drawing] = [d for d in drawings(run, with_factor(run, column, levels)) if d.name == "tcp-stream-goodput"]
    lines = [line for axes in drawing.draw(WIDTH_IN).figure.axes for line in axes.lines]
    assert [line for line in lines if line.get_linestyle() == "-" and len(line.get_xdata()) == len(levels)]


def with_factor(run: Run, column: str, levels: list[Scalar]) -> Analysis:
    """The run's values of one combination, with this factor instead of its own, as if all levels gave the same."""
    analysis = plain_analysis(run)
    first = next(estimate.levels for estimate in analysis.estimates if estimate.workload == "tcp-stream")
    estimates = [
        estimate for estimate in analysis.estimates if estimate.levels == first and estimate.workload == "tcp-stream"
    ]
    compared = [
        finding for finding in analysis.findings if finding.levels == first and finding.workload == "tcp-stream"
    ]
    return Analysis(
        estimates=[replace(estimate, levels={column: level}) for level in levels for estimate in estimates],
        findings=[replace(comparison, levels={column: level}) for level in levels for comparison in compared],
    )
