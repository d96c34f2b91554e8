"""The screens of results: series, packets, files and tables of a run, and runs compared."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest
import synthetic
from playwright.sync_api import Page, Route, expect
from synthetic_analysis import plain_analysis
from ui_browser import CAPTURE, PATIENCE_MS, PHONE, Served, show

from sixbench.report import html

PHONE_HEIGHT = 844
RGB_BETTER, RGB_WORSE = "rgb(23, 114, 79)", "rgb(164, 38, 44)"


def test_answers_are_on_the_first_screen_of_a_phone(
    page: Page, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "drawings", lambda run, analysis: [])
    directory = served.directory / "answered"
    run = synthetic.replace_run(synthetic.small(), run="answered")
    run.write(directory)
    (directory / "report.html").write_text(html.render(run.in_memory(), plain_analysis(run.in_memory())))
    try:
        show(page, served, "result/answered", PHONE)
        answer = page.frame_locator("iframe").locator(".answer").first
        expect(answer).to_contain_text("decided")
        place = answer.bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= PHONE_HEIGHT
        properties = page.frame_locator("iframe").locator(".properties").first.bounding_box()
        assert properties is not None
        assert properties["y"] > place["y"]
    finally:
        shutil.rmtree(directory)


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
    page.get_by_text("All packets in order").press("Enter")
    expect(page.get_by_text("1 · 0.000 ms · 66 bytes: Ethernet")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("block", exact=True).select_option("2")
    expect(page.get_by_text("b002-c0001-ipv6 invalid")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("the machine's CPU was busy for 97 % of the trial")).to_be_visible()


def test_a_page_load_is_a_waterfall_of_both_families(page: Page, served: Served) -> None:
    show(page, served, "result/loads/b002-c0001-ipv6")
    figure = page.locator("figure", has_text="Objects of the last page")
    name = "Objects of the last page over time, 3 of them; ipv4: 45 ms, ipv6: 45 ms"
    expect(figure.get_by_role("img", name=name)).to_be_visible()
    assert figure.locator(".key li").all_inner_texts() == ["ipv4: 45 ms", "ipv6: 45 ms"]
    # Three objects of two paths, each until its answer began and from then on.
    bars = figure.locator("rect")
    expect(bars).to_have_count(12)
    waiting, arriving = (figure.locator(f"rect.{kind}").first for kind in ("waiting", "arriving"))
    before, after = waiting.bounding_box(), arriving.bounding_box()
    assert before is not None
    assert after is not None
    assert before["x"] + before["width"] == pytest.approx(after["x"], abs=0.1)
    assert before["y"] == after["y"]
    words = "ipv4, object 1: asked for at 2 ms, answered from 12 ms to 17 ms"
    assert waiting.locator("title").text_content() == words
    expect(waiting).to_have_css("fill-opacity", "0.35")
    page.get_by_label("path", exact=True).select_option("nat64")
    expect(figure.get_by_role("img", name="ipv4: 45 ms, nat64: 45 ms")).to_be_hidden()
    expect(figure.get_by_role("img", name="nat64: 45 ms, ipv4: 45 ms")).to_be_visible()


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


def test_runs_that_are_ticked_are_compared_by_keyboard(page: Page, served: Served) -> None:
    show(page, served, "runs")
    button = page.get_by_role("button", name="Compare ticked runs")
    page.get_by_label("Compare small").press("Space")
    expect(button).to_be_disabled()
    page.get_by_label("Compare again").press("Space")
    button.press("Enter")
    expect(page.get_by_role("heading", name="small against again")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_label("against", exact=True).focus()
    page.get_by_label("against", exact=True).select_option("small")
    expect(page.get_by_role("heading", name="again against small")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_label("against", exact=True)).to_be_focused()
    expect(page.get_by_text("form no pairs")).to_be_visible()
    expect(page.get_by_text("none has changed for certain")).to_be_visible()
    expect(page.locator(".dot.invalid").first).to_be_attached()


def test_better_and_worse_have_the_colours_of_the_report(page: Page, served: Served) -> None:
    directory, run = served.directory / "slower", synthetic.small(blocks=3)
    slower = [
        replace(trial, metrics=trial.metrics | {"goodput_bps": trial.metrics["goodput_bps"] * 0.8})
        if "goodput_bps" in trial.metrics
        else trial
        for trial in run.trials
    ]
    synthetic.replace_run(replace(run, trials=slower), run="slower").write(directory)
    try:
        show(page, served, "compare/slower/small?reference=small")
        worse = page.get_by_text("worse", exact=True).first
        expect(worse).to_have_css("color", RGB_WORSE)
        page.get_by_label("against", exact=True).select_option("slower")
        expect(page.get_by_role("heading", name="small against slower")).to_be_visible(timeout=PATIENCE_MS)
        expect(page.get_by_text("better", exact=True).first).to_have_css("color", RGB_BETTER)
    finally:
        shutil.rmtree(directory)


def test_runs_before_their_planned_end_are_shown_without_a_verdict(page: Page, served: Served) -> None:
    show(page, served, "compare/small/live")
    expect(page.get_by_text("live: not at the planned end, so there is no verdict yet")).to_be_visible()
    expect(page.locator("table")).to_have_count(0)
    expect(page.locator(".dot").first).to_be_attached()


def test_a_report_that_comes_after_its_screen_was_left_is_no_error(page: Page, served: Served) -> None:
    asked: list[Route] = []

    def keep(route: Route) -> None:
        asked.append(route)

    page.route("**/report.html", keep)
    with page.expect_request("**/report.html"):
        page.goto(f"{served.base}#/result/small")
    show(page, served, "runs")
    with page.expect_event("requestfinished", lambda request: request.url.endswith("/report.html")):
        asked[0].continue_()
    page.unroute("**/report.html")
    show(page, served, "result/small")  # what was wrong until here is known before it is shown


def test_a_report_that_cannot_be_read_is_a_sentence(page: Page, served: Served) -> None:
    show(page, served, "runs")
    page.route("**/report.html", lambda route: route.abort())
    page.goto(f"{served.base}#/result/small")
    expect(page.get_by_role("alert")).to_contain_text("The report could not be read", timeout=PATIENCE_MS)
    page.unroute("**/report.html")
    served.wrong.clear()  # the browser's note of the request that failed
