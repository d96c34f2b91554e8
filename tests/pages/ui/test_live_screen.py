"""Live, the screen of a run that goes on: the trial under way, values, reasons, and thousands of trials."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

import paper_runs
import pytest
import synthetic
from playwright.sync_api import Page, Route, expect
from recorded_events import tell_until
from ui_browser import PATIENCE_MS, WIDE, Served, show

from sixbench.model.experiment import PlannedTrial
from sixbench.model.trial import TrialRecord
from sixbench.store import EventLog, create_run

MANY = 5_000
MOST_HEAP_BYTES = 200 * 2**20


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


@pytest.fixture
def many(served: Served) -> Iterator[tuple[EventLog, list[TrialRecord]]]:
    """A run of thousands of trials that goes on: its log, and those that have not ended yet."""
    run = synthetic.replace_run(synthetic.small(blocks=3), run="many", state="running", ended_realtime_ns=None)
    valid = [trial for trial in run.trials if trial.status == "ok" and trial.combination == run.trials[0].combination]
    trials = [replace(valid[number % len(valid)], key=f"t{number}", block=1 + number // 3) for number in range(MANY)]
    *before, first, second, third = trials
    with create_run(served.directory / "many", run.manifest), EventLog(served.directory / "many.events.jsonl") as log:
        tell_until(log, run, before, first)
        yield log, [first, second, third]
    shutil.rmtree(served.directory / "many")


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
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapTotalSize"] < MOST_HEAP_BYTES


def test_stop_says_at_once_that_the_run_is_stopping(page: Page, served: Served) -> None:
    asked: list[Route] = []

    def keep(route: Route) -> None:
        asked.append(route)

    page.route("**/api/runs/live/stop", keep)
    try:
        show(page, served, "live/live")
        button = page.get_by_role("button", name="Stop and keep finished trials")
        button.press("Enter")
        expect(page.get_by_text("Stopping...")).to_be_visible()
        expect(button).to_be_disabled()
        asked[0].fulfill(status=409, json={"error": "only root can stop it"})
        expect(page.get_by_text("only root can stop it")).to_be_visible()
        expect(button).to_be_enabled()
    finally:
        page.unroute("**/api/runs/live/stop")
    served.wrong.clear()  # the browser's note of the refusal
