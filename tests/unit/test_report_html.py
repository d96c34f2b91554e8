"""The page: whole, self-contained, escaped, and right for every kind of run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import pytest
import synthetic
from synthetic_analysis import plain_analysis

from sixbench.analysis import analyse
from sixbench.model.finding import Analysis
from sixbench.model.parameter import Scalar
from sixbench.report import FORMATS, html, marks
from sixbench.report.evidence import PacketSum, by_path
from sixbench.store import Run

pytestmark = pytest.mark.computes

VOID = {"meta", "link", "br", "input", "img", "hr", "use", "path", "rect", "circle"}
LOADS = {"src", "href", "xlink:href", "data", "action", "poster", "srcset", "formaction"}


@dataclass
class Page(HTMLParser):
    """Page as a browser would see it: elements, the text, and what is not closed."""

    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> in {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def parse(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return synthetic.small().write(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return plain_analysis(run, paper=True)


@pytest.fixture(scope="module")
def text(run: Run, analysis: Analysis) -> str:
    return FORMATS["html"].render(run, analysis)


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is not about figures, which take most of the time."""
    monkeypatch.setattr(html, "drawings", lambda run, analysis: [])


def test_page_is_well_formed(text: str) -> None:
    page = parse(text)
    assert page.problems == []
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_page_loads_nothing(text: str) -> None:
    for tag, attributes in parse(text).elements:
        for name in LOADS & attributes.keys():
            assert attributes[name].startswith("#"), f"<{tag} {name}={attributes[name]!r}>"
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "default-src 'none'" in text


def test_links_and_references_of_figures_lead_somewhere(text: str) -> None:
    ids = {attributes["id"] for _, attributes in parse(text).elements if "id" in attributes}
    targets = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert targets <= ids


def test_page_has_every_finding(text: str, analysis: Analysis) -> None:
    rows = [row for row in parse(text).all("tr") if "data-verdict" in row]
    assert len(rows) == len(analysis.findings)
    shown = sorted((row["data-workload"], row["data-path"], row["data-verdict"]) for row in rows)
    assert shown == sorted((f.workload, f.path, marks.verdict(f)) for f in analysis.findings)


def test_page_has_figures_that_say_what_they_show(text: str) -> None:
    figures = parse(text).all("svg")
    titles = {figure["aria-label"] for figure in figures}
    assert {"Network and paths", "TCP bulk transfer: Goodput", "ICMP echo: value of each path, and change"} <= titles
    assert {"TCP bulk transfer: goodput over time", "ICMP echo: distribution of the round-trip time"} <= titles
    assert {"Published values and ours", "Packets of each path, link by link"} <= titles
    assert {figure["role"] for figure in figures} == {"img", "group"}  # a group has markers that can be reached
    assert all("viewbox" in figure for figure in figures)
    forms = [figure["class"] for figure in figures if figure["class"] in ("wide", "narrow")]
    assert forms == ["wide", "narrow"] * (len(forms) // 2)


def test_markers_of_figures_say_their_value(text: str) -> None:
    tips = [attributes["data-tip"] for _, attributes in parse(text).elements if "data-tip" in attributes]
    assert any(re.match(r"ipv6, message 64 B\n91\.89 Mbit/s \(.*\)\n3 trials\n−1\.43 %", tip) for tip in tips)


def test_page_answers_first(text: str) -> None:
    actual_text = "".join(parse(text).text)
    row = actual_text[actual_text.index("Median round-trip time of ICMP echo") :]
    assert text.index('id="answers"') < text.index("Median round-trip time of ICMP echo") < text.index('id="paths"')
    assert " ".join(row.split()).startswith(
        "Median round-trip time of ICMP echo IPv4 52.38 → IPv6 55.53 µs, +6.01 % [+3.83, +8.24], A/A −0.98 .. +0.30 "
        "decided: worse"
    )


def test_every_answer_has_a_bar_that_says_what_it_shows(text: str) -> None:
    drawn = [svg for svg in parse(text).all("svg") if (svg.get("class") or "").startswith("answer-bar")]
    assert len(drawn) == 3
    assert drawn[0]["aria-label"].replace("\u00a0", " ").startswith("Interval beside no difference: −1.43 % [−1.64, ")


def test_colours_of_answers_follow_the_scheme_of_the_page(text: str) -> None:
    colours = re.findall(r"\.bar-[a-z]+ \{ (?:fill|stroke): ([^;]+);", text)
    assert len(colours) == 5
    assert all(colour.startswith("var(--") for colour in colours)


def test_page_tells_what_a_reader_needs_to_believe_it(text: str) -> None:
    actual_text = " ".join("".join(parse(text).text).split())
    for phrase in (
        "36 trials: 34 ok, 1 invalid, 1 failed",
        "agent h2: peer-lost: the peer fell silent for 5 s",
        "ipv4-again repeats ipv4",
        "Ethernet / IPv6 / TCP",
        "6.18.0",
        "net.ipv4.tcp_congestion_control",
        "sixbench run small.yaml --seed 1 --out 'runs/a run'",
        "The trial is the statistical unit",
        "A host-to-host tunnel doubles the connection time.",
        "not testable here",
    ):
        assert phrase in actual_text, phrase


def test_tables_have_headers_for_readers_of_screens(text: str) -> None:
    page = parse(text)
    assert all("scope" in header for header in page.all("th"))
    assert page.all("html") == [{"lang": "en"}]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_trials", "The run has no trials yet"),
        ("no_valid_trial", "None of 84 trials is valid"),
        ("one_block", "With only one block"),
    ],
)
def test_runs_that_lack_something_have_a_page_that_says_so(name: str, words: str, no_figures: None) -> None:
    run: Run = getattr(synthetic, name)().in_memory()
    page = parse(FORMATS["html"].render(run, plain_analysis(run)))
    assert page.problems == []
    assert words in " ".join("".join(page.text).split())


def test_page_escapes_what_the_experiment_says(no_figures: None) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>\" ' {{ 7 * 7 }}"
    run = synthetic.small()
    analysis = plain_analysis(run.in_memory())
    experiment = replace(
        run.manifest.experiment, title=hostile, description=hostile, text=hostile, file=hostile, notes=(hostile,)
    )
    analysis = replace(
        analysis,
        remarks=[hostile],
        findings=[replace(analysis.findings[0], path=hostile, levels={"congestion": hostile})],
    )
    hostile_run = synthetic.replace_run(run, experiment=experiment, run=hostile, command=[hostile]).in_memory()
    page = parse(FORMATS["html"].render(hostile_run, analysis))
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert page.problems == []
    assert not any("onerror" in attributes for _, attributes in page.elements)
    assert "49" not in "".join(page.all("title")[0].values())


def test_page_of_very_many_findings_stays_under_5_megabytes(no_figures: None) -> None:
    run = synthetic.many_levels(blocks=1).in_memory()
    text = FORMATS["html"].render(run, plain_analysis(run))
    assert text.count("data-verdict=") == 2080
    assert len(text.encode()) + html.MOST_FIGURE_BYTES < 5_000_000


def test_figures_beyond_the_limit_are_named_and_left_out(
    run: Run, analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "MOST_FIGURE_BYTES", 60_000)
    text = FORMATS["html"].render(run, analysis)
    page = parse(text)
    assert sum(len(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)) <= 60_000
    assert "Left out so that this page stays small" in " ".join(page.text)
    assert "TCP bulk transfer: Goodput" in {figure["aria-label"] for figure in page.all("svg")}


def test_page_is_the_same_every_time(run: Run, analysis: Analysis, text: str) -> None:
    assert FORMATS["html"].render(run, analysis) == text


def test_page_says_of_tunnels_what_they_carried_dropped_and_cost(no_figures: None) -> None:
    run = synthetic.transition(blocks=2).in_memory()
    page = parse(FORMATS["html"].render(run, plain_analysis(run)))
    text = " ".join(" ".join(page.text).split())
    assert page.problems == []
    assert {"id": "tunnels"} in page.all("h3")
    for phrase in (
        "router-to-router 6in4 kernel r1, r2 2001:2::1 to 2001:2:0:2::2 r1 198.18.1.1, r2 198.18.1.2 IPv6 in IPv4 1480",
        "host-to-host ebpf h1 6over4-1 10 410 000 30 205 000 0 <0.01 % 30 (<0.01 %) no-mapping 20, ecn-invalid 10",
        "neighbour-unresolved 30",
        "Packets dropped by no-mapping are harmless: nodes send them by themselves",
        "r1-r2 r2 eth-1 IPv6 in IPv4 640 IPv6 in IPv4 198.18.1.1 to 198.18.1.2: 440",
        "Run time of the BPF programs",
    ):
        assert phrase in text, phrase


def test_page_of_native_paths_has_no_tunnels(text: str) -> None:
    assert 'id="tunnels"' not in text
    assert "Run time of the BPF programs" not in text


def test_names_of_combinations_reach_no_reader_unexplained(analysis: Analysis, run: Run) -> None:
    for form in ("terminal", "md", "latex", "html"):
        text = FORMATS[form].render(run, analysis)
        shown_text = " ".join(parse(text).text) if form == "html" else text
        # The directories of trials that do not count are named as such, and nothing else is.
        assert not re.search(r"(?<!-)\bc\d{4}\b", shown_text), form
        assert not re.search(r"\b(rtt|goodput|connect|transactions|cpu|loss)_[a-z0-9]+\b", shown_text), form


def test_a_page_of_very_many_levels_stays_small_and_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many levels make no larger page. What is left out is counted, and other formats have all findings."""
    monkeypatch.setattr(html, "_figures", lambda *_: ([], []))
    most_bytes = 200_000
    monkeypatch.setattr(html, "MOST_PAGE_BYTES", most_bytes)
    for levels in (100, 200):
        sizes: list[Scalar] = [2 + size for size in range(levels)]
        experiment = synthetic.experiment(synthetic.NATIVE, [("tcp-stream", {"message_bytes": sizes})], blocks=2)
        run = synthetic.build(experiment, 2).in_memory()
        analysis = analyse(run)
        page = html.render(run, analysis)
        assert len(page.encode()) <= most_bytes
        left_out = re.search(r"This page leaves out (\d+) more findings", page)
        assert left_out is not None
        assert page.count("<tr data-workload=") + int(left_out[1]) == len(analysis.findings)
        assert len(json.loads(FORMATS["json"].render(run, analysis))["findings"]) == len(analysis.findings)


def test_long_lists_of_a_page_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_figures", lambda *_: ([], []))
    monkeypatch.setattr(html, "MOST_ROWS", (2,))
    run = synthetic.transition(blocks=2).in_memory()
    analysis = analyse(run)
    by_links = [path.of(PacketSum).links for path in by_path(run)]
    links = [link for links in by_links for link in links if len(links) > 1]
    page = html.render(run, analysis)
    assert f"{len(links) - 2} links of paths" in page
    table = page.split("Every link of every path")[1].split("</table>")[0]
    assert table.count('<tr><th scope="row">') == 2
