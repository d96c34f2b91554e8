"""The screens that start something: a new run, and a measurement to another machine."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import paper_runs
from playwright.sync_api import Page, Route, expect
from recorded_events import tell_within
from ui_browser import PATIENCE_MS, Served, show

from sixbench.model.experiment import PlannedTrial
from sixbench.store import EventLog, create_run


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
    page.get_by_label("Values, one per line").fill("seed=5\n\n")
    expect(page.get_by_text("sixbench run quickstart --quick --blocks=7 --set=seed=5")).to_be_visible()
    page.get_by_label("Values, one per line").fill("sed=5")
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
    page.get_by_role("button", name="mtu", exact=False).filter(has_text="Cost of IPv6's larger header").press("Enter")
    expect(page.get_by_text("sixbench run mtu --quick")).to_be_visible(timeout=PATIENCE_MS)
    with page.expect_response("**/api/gallery/quickstart") as late:
        for route in held:
            route.continue_()
    late.value.finished()
    page.unroute("**/api/gallery/quickstart")
    page.evaluate("() => new Promise((done) => setTimeout(done))")
    expect(page.get_by_text("sixbench run mtu --quick")).to_be_visible()
    expect(page.locator("button[aria-pressed=true]")).to_contain_text("mtu")


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
    *before, under_way = [trial for trial in imagined.trials if trial.block == 1]
    manifest = replace(imagined.manifest, run=name, paper=name, quick=True, state="running", ended_realtime_ns=None)
    combinations = {combination.name: combination for combination in manifest.experiment.combinations}
    job = {"run": name, "title": manifest.experiment.title, "state": "running", "waits": False}
    page.route("**/api/start", lambda route: route.fulfill(json=job))
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
            with page.expect_request("**/api/start") as started:
                page.get_by_role("button", name="Start", exact=True).press("Enter")
            assert started.value.post_data_json == {"name": name, "quick": True, "settings": []}
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
