"""The page of `sixbench ui` as people have it, over recorded events: wide and narrow, light and dark."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import observed
import paper_runs
import pytest
import synthetic
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, Route, expect
from told_events import tell_until, tell_within

from sixbench.model.experiment import PlannedTrial
from sixbench.model.trial import TrialRecord
from sixbench.run.proof.pcapng import to_pcapng
from sixbench.store import EventLog, create_run

PHONE, WIDE = 390, 1400
PATIENCE_MS = 240_000
"""Reading and analysing a run takes long where the machine is busy."""
REPORT = "<!doctype html><html lang=en><title>Report</title><h1>The report</h1><script>document.title='ran'</script>"
CAPTURE = to_pcapng(
    [observed.packet({"realtime_ns": 10**18, "wire_bytes": 66, "data": "00" * 60})], "eth0 of r1 on r1-r2", 128
)
MANY = 5_000
MOST_HEAP_BYTES = 200 * 2**20
SCREENS = (
    "runs",
    "live/live",
    "live/small",
    "result/small",
    "result/small/b001-c0001-ipv4",
    "compare/small/live",
    "compare/small/again",
    "learn/6in4/1500",
    "new",
    "measure",
)


@dataclass(kw_only=True)
class Served:
    """The page's address with its token, and what the browser said of it."""

    address: str
    directory: Path
    wrong: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return self.address.partition("?")[0]

    def watch(self, page: Page) -> None:
        """Notes whatever should not happen."""
        page.on("console", lambda said: self.wrong.append(said.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda asked: self.wrong.append(asked.url) if not self._is_own(asked.url) else None)

    def _is_own(self, url: str) -> bool:
        return url.startswith((self.base, "data:"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A run that is over, and one in the midst of a trial, whose directory this process has locked."""
    directory = tmp_path_factory.mktemp("runs")
    run = synthetic.small(blocks=3)
    with create_run(directory / "small", run.manifest) as writer:
        for trial in run.trials:
            writer.add_trial(trial, run.series.get(trial.key, {}), {"r1-r2.pcapng": CAPTURE})
    (directory / "small" / "report.html").write_text(REPORT)
    synthetic.replace_run(synthetic.small(blocks=3), run="again").write(directory / "again")
    live = synthetic.replace_run(run, run="live", state="running", ended_realtime_ns=None)
    with create_run(directory / "live", live.manifest), EventLog(directory / "live.events.jsonl") as log:
        tell_until(log, live, live.trials[:14], live.trials[14])
        command = [sys.executable, "-m", "sixbench", "ui", str(directory), "--port", "0"]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        ) as process:
            assert process.stderr is not None
            address = process.stderr.readline().rpartition(" ")[2].strip()
            found = Served(address=address, directory=directory)
            yield found
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            said = process.stderr.read()
            assert not said or re.fullmatch(
                "sixbench: the page's server runs as nobody, but may read all files, .*\n", said
            )


@pytest.fixture(scope="module")
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    page = context.new_page()
    served.watch(page)
    page.goto(served.address)
    page.route("**/api/doctor", lambda route: route.fulfill(json={"sentence": "Ready, without limits."}))
    yield page
    context.close()


@pytest.fixture(scope="module")
def many(served: Served) -> Iterator[tuple[EventLog, list[TrialRecord]]]:
    """A run of thousands of trials that goes on: its log, and those that have not ended yet."""
    run = synthetic.replace_run(synthetic.small(blocks=3), run="many", state="running", ended_realtime_ns=None)
    valid = [one for one in run.trials if one.status == "ok" and one.combination == run.trials[0].combination]
    trials = [replace(valid[number % len(valid)], key=f"t{number}", block=1 + number // 3) for number in range(MANY)]
    *before, first, second, third = trials
    with create_run(served.directory / "many", run.manifest), EventLog(served.directory / "many.events.jsonl") as log:
        tell_until(log, run, before, first)
        yield log, [first, second, third]


@pytest.fixture(autouse=True)
def nothing_went_wrong(served: Served) -> Iterator[None]:
    served.wrong.clear()
    yield
    assert served.wrong == []


def show(page: Page, served: Served, screen: str, width: int = WIDE, scheme: str = "light") -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{served.base}#/{screen}")
    page.locator(f"main > .{screen.partition('/')[0]} h1").wait_for()
    if screen.startswith("result/") and screen.count("/") > 1:
        page.get_by_role("heading", name="Files of this trial").wait_for()
    if screen.startswith("result/small"):
        # Until its frame holds it, what axe-core posts there is an error of this page.
        page.frame_locator("iframe").get_by_role("heading", name="The report").wait_for()


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_core_finds_nothing_and_nothing_scrolls_sideways(page: Page, served: Served, screen: str) -> None:
    for width in (WIDE, PHONE):
        show(page, served, screen, width)
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, f"{width} px: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") == width
    show(page, served, screen, PHONE, "dark")
    found = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": ["color-contrast"]})
    assert found.violations_count == 0, f"dark: {found.generate_report()}"


def test_dark_screens_are_dark(page: Page, served: Served) -> None:
    show(page, served, "live/small", PHONE, "dark")
    image = Image.open(io.BytesIO(page.screenshot())).convert("L")
    assert sum(image.histogram()[128:]) < 0.1 * image.width * image.height


def test_runs_lead_to_their_trials_and_results(page: Page, served: Served) -> None:
    show(page, served, "runs")
    expect(page.locator(".run")).to_have_count(3)
    expect(page.get_by_text("This machine: Ready, without limits.")).to_be_visible()
    link = page.get_by_role("link", name="Result of live")
    link.focus()
    synthetic.replace_run(synthetic.small(blocks=3), run="new").write(served.directory / "new")
    expect(page.locator(".run")).to_have_count(4, timeout=PATIENCE_MS)
    expect(link).to_be_focused()
    shutil.rmtree(served.directory / "new")
    page.get_by_label("Show only").fill("complete")
    expect(page.locator(".run")).to_have_count(2, timeout=PATIENCE_MS)
    page.get_by_role("link", name="Result of small").press("Enter")
    expect(page.frame_locator("iframe").get_by_role("heading", name="The report")).to_be_visible()


def test_a_run_is_seen_as_it_goes_on_and_reloading_restores_it(page: Page, served: Served) -> None:
    show(page, served, "live/live")
    for _ in range(2):
        expect(page.locator(".counts")).to_have_text("14 of 27 trials, 1 invalid, 1:35 left")
        expect(page.locator(".now").first).to_have_text("Now: ipv6, block 2, TCP bulk transfer, message 64 KiB")
        expect(page.locator(".wire.lit")).to_have_count(3)
        expect(page.locator("td.ok")).to_have_count(13)
        for name, values in (
            ("What arrives", "12 values, 94.4 Mbit/s at most"),
            ("Congestion window", "12 values, 148 p"),
        ):
            expect(page.get_by_role("img", name=f"{name} over time: {values}")).to_be_visible()
        expect(page.locator(".within figure canvas")).to_have_count(4)
        expect(page.locator(".dot")).to_have_count(14)
        page.reload()


def test_values_within_a_trial_are_read_at_the_pointer(page: Page, served: Served) -> None:
    show(page, served, "live/live")
    figure = page.locator("figure", has_text="TCP's round trip, smoothed")
    expect(figure.locator("figcaption")).to_contain_text("11 ms at 1.1 s")
    figure.locator(".u-over").hover(position={"x": 2, "y": 40})
    expect(figure.locator("figcaption")).to_contain_text("8 ms at 0 s")


def test_the_page_shows_no_verdict_before_the_end(page: Page, served: Served) -> None:
    show(page, served, "live/live")
    expect(page.locator(".dot")).to_have_count(14)
    shown = page.locator("main").inner_text().lower()
    assert [word for word in ("better", "worse", "decided", "equivalent", "p =", "95 %") if word in shown] == []


def test_the_reason_of_an_invalid_trial_is_told_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "live/small")
    page.get_by_role("button", name="ipv6, block 2: invalid. Why?").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("the machine's CPU was busy for 97 % of the trial")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_report_can_ask_nobody_anything(page: Page, served: Served) -> None:
    show(page, served, "result/small")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading")).to_have_text("The report")
    [_, inside] = page.frames
    assert inside.evaluate("document.title") == "ran"
    assert inside.evaluate("window.origin") == "null"
    assert inside.evaluate("fetch('/api/runs').then(() => 'read', () => 'refused')") == "refused"
    served.wrong.clear()  # the browser tells of what it refused


def test_series_and_packets_of_a_trial_are_shown_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "result/small")
    page.locator("summary", has_text="Series and packets of each trial").press("Enter")
    page.get_by_label("path", exact=True).select_option("ipv6")
    for _ in range(2):
        expect(page.get_by_text("b001-c0001-ipv6")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.locator("figure .line").first).to_be_attached()
        page.locator(".packets summary", has_text="Ethernet / IPv6 / TCP").first.press("Enter")
        expect(page.get_by_role("rowheader", name="TCP").first).to_be_visible()
        page.reload()
    page.get_by_text("All of them in their order").press("Enter")
    expect(page.get_by_text("1 · 0.000 ms · 66 bytes: Ethernet")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("block", exact=True).select_option("2")
    expect(page.get_by_text("b002-c0001-ipv6 invalid")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("the machine's CPU was busy for 97 % of the trial")).to_be_visible()


def test_each_attempt_at_a_trial_can_be_looked_at(page: Page, served: Served) -> None:
    directory = served.directory / "disturbed"
    run = synthetic.disturb(synthetic.small(blocks=3), "b001-c0001-ipv6")
    synthetic.replace_run(run, run="disturbed").write(directory)
    try:
        show(page, served, "result/disturbed/b001-c0001-ipv6+1")
        expect(page.get_by_text("b001-c0001-ipv6+1 ok")).to_be_visible(timeout=PATIENCE_MS)
        block = page.get_by_label("block", exact=True)
        assert block.locator("option").all_inner_texts()[:2] == ["1 (invalid)", "1, repeat 1"]
        block.select_option("1")
        expect(page.get_by_text("b001-c0001-ipv6 invalid")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.get_by_text("late timers kept r1 from sending on r1-r2")).to_be_visible()
    finally:
        shutil.rmtree(directory)


def test_a_capture_is_downloaded_for_wireshark(page: Page, served: Served) -> None:
    show(page, served, "result/small/b001-c0001-ipv4")
    with page.expect_download() as download:
        page.get_by_role("link", name="r1-r2.pcapng").click()
    assert download.value.suggested_filename == "r1-r2.pcapng"
    assert download.value.path().read_bytes() == CAPTURE


def test_tables_for_a_paper_are_copied(page: Page, served: Served) -> None:
    show(page, served, "result/small")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("summary", has_text="Tables for a paper or a spreadsheet").press("Enter")
    page.get_by_role("button", name="LaTeX").press("Enter")
    expect(page.get_by_label("The tables")).to_have_value(re.compile(r"\\begin\{tabular\}"), timeout=PATIENCE_MS)
    page.get_by_role("button", name="Copy").press("Enter")
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert "\\begin{tabular}" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="CSV").press("Enter")
    expect(page.get_by_label("The tables")).to_have_value(re.compile("^experiment,run,"), timeout=PATIENCE_MS)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "small.csv"
    assert download.value.path().read_text().startswith("experiment,run,")


def test_a_packet_is_followed_step_by_step(page: Page, served: Served) -> None:
    show(page, served, "learn/6in4/1500")
    expect(page.get_by_text("h1 sends it.")).to_be_visible()
    page.get_by_role("button", name="Next").press("Enter")
    expect(page.get_by_text("r1 puts IPv4 before it.")).to_be_visible()
    expect(page.get_by_text("it is 20 bytes too long")).to_be_visible()
    path = page.get_by_label("over", exact=True)
    path.press("ArrowDown")
    page.wait_for_url("**/learn/6over4/1500")
    expect(path).to_be_focused()
    path.select_option("siit")
    expect(page.locator(".lead")).to_contain_text("RFC 7915")
    expect(page.locator(".wire.lit.ipv6")).to_have_count(1)
    page.get_by_role("button", name="Next").press("Enter")
    expect(page.get_by_text("r1 translates it: IPv6 becomes IPv4.")).to_be_visible()
    expect(page.locator(".wire.lit.ipv4")).to_have_count(1)


def test_a_path_of_both_families_is_lit_with_the_headers_of_each_link(page: Page, served: Served) -> None:
    experiment = paper_runs.experiment("what-each-costs", quick=True)
    manifest = replace(
        synthetic.small().manifest, run="both", experiment=experiment, state="running", ended_realtime_ns=None
    )
    combination = experiment.combinations[0]
    with create_run(served.directory / "both", manifest), EventLog(served.directory / "both.events.jsonl") as log:
        log.planned(experiment, "both", 0)
        show(page, served, "live/both")
        for path, headers in (("nat64", ["IPv6", "IPv4", "IPv4"]), ("464xlat", ["IPv4", "IPv6", "IPv4"])):
            planned = PlannedTrial(block=1, combination=combination.name, path=path)
            log.trial_begins(experiment, combination, planned)
            show(page, served, "live/both")
            expect(page.locator(".now").first).to_contain_text(f"Now: {path}, block 1")
            expect(page.locator(".headers")).to_have_text(headers)
            for header in set(headers):
                expect(page.locator(f".wire.lit.{header.lower()}")).to_have_count(headers.count(header))
    shutil.rmtree(served.directory / "both")


def test_an_experiment_is_checked_as_one_types(page: Page, served: Served) -> None:
    show(page, served, "new")
    expect(page.get_by_text("sixbench run quickstart --quick")).to_be_visible()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled()
    editor = page.get_by_label("Experiment (YAML)")
    editor.fill(editor.input_value().replace("ipv6: native6", "ipv6: native7"))
    page.locator(".problems").get_by_role("button", name="experiment.yaml:").press("Enter")
    expect(editor).to_be_focused()
    selected = editor.evaluate("one => one.value.slice(one.selectionStart, one.selectionEnd)")
    assert selected == "  ipv6: native7"
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    served.wrong.clear()  # the browser tells of the answer 422


def test_a_part_of_an_experiment_is_changed_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "new")
    page.reload()
    expect(page.get_by_text("sixbench run quickstart --quick")).to_be_visible()
    page.get_by_text("Change some of it").press("Enter")
    page.get_by_label("Blocks", exact=True).fill("7")
    page.get_by_label("Values, one a line").fill("seed=5\n\n")
    expect(page.get_by_text("sixbench run quickstart --quick --blocks=7 --set=seed=5")).to_be_visible()
    page.get_by_label("Values, one a line").fill("sed=5")
    expect(page.locator(".problems")).to_contain_text("sed", timeout=PATIENCE_MS)
    served.wrong.clear()  # the browser tells of the answer 422


def test_a_choice_stays_when_the_answer_to_an_earlier_one_comes_late(page: Page, served: Served) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    show(page, served, "learn")
    page.route("**/api/gallery/quickstart", hold)
    with page.expect_request("**/api/gallery/quickstart"):
        show(page, served, "new")
    page.get_by_role("button", name="mtu", exact=False).filter(has_text="What IPv6's larger header costs").press(
        "Enter"
    )
    expect(page.get_by_text("sixbench run mtu --quick")).to_be_visible(timeout=PATIENCE_MS)
    with page.expect_response("**/api/gallery/quickstart"):
        for route in held:
            route.continue_()
    page.unroute("**/api/gallery/quickstart")
    page.wait_for_timeout(500)
    expect(page.get_by_text("sixbench run mtu --quick")).to_be_visible()
    expect(page.locator("button[aria-pressed=true]")).to_contain_text("mtu")


def test_runs_that_are_ticked_are_compared_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "runs")
    button = page.get_by_role("button", name="Compare ticked runs")
    page.get_by_label("Compare small").press("Space")
    expect(button).to_be_disabled()
    page.get_by_label("Compare again").press("Space")
    button.press("Enter")
    expect(page.get_by_role("heading", name="again against small")).to_be_visible()
    expect(page.get_by_text("form no pairs")).to_be_visible()
    expect(page.get_by_text("none has changed for certain")).to_be_visible()
    expect(page.locator(".dot.invalid").first).to_be_attached()


def test_runs_before_their_planned_end_are_shown_without_a_verdict(page: Page, served: Served) -> None:
    show(page, served, "compare/small/live")
    expect(page.get_by_text("live: not at the planned end, so there is no verdict yet")).to_be_visible()
    expect(page.locator("table")).to_have_count(0)
    expect(page.locator(".dot").first).to_be_attached()


def test_an_update_among_thousands_of_trials_touches_what_is_new(
    page: Page, served: Served, many: tuple[EventLog, list[TrialRecord]]
) -> None:
    log, rest = many
    show(page, served, "live/many")
    expect(page.locator(".counts")).to_contain_text(f"{MANY - len(rest)} of ", timeout=PATIENCE_MS)
    page.evaluate(
        "() => { window.added = 0; new MutationObserver((all) => { for (const one of all) "
        "window.added += one.addedNodes.length; }).observe(document.querySelector('main'), "
        "{ childList: true, subtree: true }); }"
    )
    for record in rest:
        log.trial_ended(record)
    expect(page.locator(".counts")).to_contain_text(f"{MANY} of ", timeout=PATIENCE_MS)
    expect(page.locator(".dot")).to_have_count(MANY)
    assert page.evaluate("window.added") < 20 * len(rest)
    assert page.evaluate("document.documentElement.scrollWidth") == WIDE
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapTotalSize"] < MOST_HEAP_BYTES


def test_a_measurement_to_another_machine_is_asked_for_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "measure")
    page.get_by_label("Machine").fill("192.0.2.1,2001:db8::1")
    page.get_by_role("button", name="path MTU, hop by hop").press("Enter")
    page.get_by_label("Key").fill("0123456789abcdef" * 4)
    command = "sixbench measure 192.0.2.1,2001:db8::1 --pmtu -46 --key FILE"
    expect(page.get_by_text(command)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled()
    assert "0123" not in page.url
    page.get_by_label("Key").fill("short")
    expect(page.locator(".problems")).to_contain_text("a key is 64 hexadecimal digits")
    served.wrong.clear()  # the browser tells of the answer 422


def test_herreras_tables_are_run_watched_and_exported_without_a_terminal(page: Page, served: Served) -> None:
    name, imagined = (
        "herrera-6to4-tunnel",
        paper_runs.imagined(paper_runs.experiment("herrera-6to4-tunnel", quick=True)),
    )
    *before, under_way = [one for one in imagined.trials if one.block == 1]
    manifest = replace(imagined.manifest, run=name, paper=name, quick=True, state="running", ended_realtime_ns=None)
    combinations = {one.name: one for one in manifest.experiment.combinations}
    asked: list[object] = []

    def start(route: Route) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json={"run": name, "title": manifest.experiment.title, "state": "running", "waits": False})

    page.route("**/api/start", start)
    with create_run(served.directory / name, manifest) as writer:
        with EventLog(served.directory / f"{name}.events.jsonl") as log:
            show(page, served, "new")
            page.get_by_role("button", name=name).press("Enter")
            expect(page.get_by_text(f"sixbench run {name} --quick")).to_be_visible(timeout=PATIENCE_MS)
            log.planned(manifest.experiment, name, 0)
            for record in before:
                writer.add_trial(record, {})
                log.trial_ended(record)
            log.progress(len(before), len(imagined.trials), 95 * 10**9)
            planned = PlannedTrial(block=1, combination=under_way.combination, path=under_way.path)
            log.trial_begins(manifest.experiment, combinations[under_way.combination], planned)
            tell_within(log, under_way)
            page.get_by_role("button", name="Start", exact=True).press("Enter")
            assert asked == [{"name": name, "quick": True, "settings": []}]
            expect(page.locator(".now").first).to_contain_text("Now: 6to4, block 1, UDP stream", timeout=PATIENCE_MS)
            expect(page.locator(".counts")).to_have_text("41 of 210 trials, 1:35 left")
            expect(
                page.get_by_role("img", name="What arrives over time: 12 values, 99.28 Mbit/s at most")
            ).to_be_visible()
            expect(page.get_by_role("img", name="UDP's jitter over time: 11 values, 270 µs at most")).to_be_visible()
            jitter = page.locator("figure", has_text="UDP's jitter")
            expect(jitter).to_contain_text("270 µs at 1.2 s")
            expect(jitter).to_contain_text("RFC 3550 section 6.4.1")
            expect(page.get_by_text("TCP's round trip, smoothed")).to_be_hidden()
            for record in imagined.trials[len(before) :]:
                writer.add_trial(record, {})
                log.trial_ended(record)
            log.ended("complete", len(imagined.trials))
        writer.set_state("complete", 10**18)
    expect(page.get_by_text("The run is over.")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".counts")).to_have_text("210 of 210 trials")
    page.get_by_role("link", name="Result").press("Enter")
    page.locator("summary", has_text="Tables for a paper or a spreadsheet").press("Enter")
    for table in ("Table 1", "Table 2"):
        page.get_by_label("Which").select_option(table)
        exported = {}
        for form in ("LaTeX", "CSV"):
            page.get_by_role("button", name=form).press("Enter")
            begins = re.escape("\\begin{table" if form == "LaTeX" else "of,")
            expect(page.get_by_label("The tables")).to_have_value(re.compile(f"^{begins}"), timeout=PATIENCE_MS)
            with page.expect_download() as download:
                page.get_by_role("link", name="Download").click()
            exported[download.value.suggested_filename] = download.value.path().read_text()
        stem = f"{name}-{table.lower().replace(' ', '-')}"
        assert exported.keys() == {f"{stem}.tex", f"{stem}.csv"}
        assert f"caption[{table}: Time for different TCP buffers" in exported[f"{stem}.tex"]
        [_, theirs, ours, *_] = csv.reader(exported[f"{stem}.csv"].splitlines())
        assert (theirs[0], theirs[1], theirs[3], ours[0]) == ("paper", "10", table[-1], "ours")
        assert all(float(ours[column]) > 0 for column in (6, 7, 10, 11))
    page.unroute("**/api/start")
