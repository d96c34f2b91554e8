"""The screen of a run to servers of others: the servers by their change, and the blocks of one of them."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from ui_browser import PATIENCE_MS, Served, show


def test_servers_lead_from_the_slowest_to_their_blocks(page: Page, served: Served) -> None:
    show(page, served, "result/reach")
    page.get_by_role("link", name="Servers", exact=True).press("Enter")
    rows = page.locator(".forest li a")
    expect(rows.first).to_have_text("slow.example", timeout=PATIENCE_MS)
    names = rows.all_inner_texts()
    assert (len(names), names[-2:]) == (12, ["fast.example", "dead.example"])
    expect(page.get_by_text("Of 11 servers, 1 is slower over IPv6, 1 is faster")).to_be_visible()
    expect(page.locator(".forest li", has_text="slow.example").locator(".badge")).to_have_text("higher")
    expect(page.locator(".forest li", has_text="dead.example").locator(".badge")).to_have_text("not compared")
    expect(page.locator(".forest .mean")).to_contain_text("mean of 11")
    expect(page.get_by_text("IPv6 to dead.example").first).to_be_visible()
    which = page.get_by_label("Compared", exact=True)
    which.focus()
    which.select_option("1")
    page.wait_for_url("**?of=1")
    expect(which).to_be_focused(timeout=PATIENCE_MS)
    expect(which).to_have_value("1")
    rows.first.press("Enter")
    expect(page.get_by_role("heading", name="slow.example")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator(".forest .reach")).to_have_count(2)
    expect(page.locator(".dots").first.locator(".dot")).to_have_count(16)
    page.locator("summary", has_text="Block by block").first.press("Enter")
    page.get_by_role("link", name="ipv6, block 3").first.press("Enter")
    page.wait_for_url("**/result/reach/b003-*-ipv6")


def test_a_run_to_servers_before_its_end_has_no_verdicts(page: Page, served: Served) -> None:
    page.goto(f"{served.base}#/servers/stopped")
    words = "the run is not at its planned end, so there are no verdicts on its servers yet"
    expect(page.get_by_role("alert")).to_have_text(words, timeout=PATIENCE_MS)
    served.wrong.clear()  # the browser's note of the request that was refused


def test_an_interrupted_run_to_servers_is_resumed_from_the_page(page: Page, served: Served) -> None:
    show(page, served, "live/stopped")
    asked: list[str] = []
    page.route("**/resume", lambda route: (asked.append(route.request.url), route.fulfill(json={"waits": False})))
    resume = page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible(timeout=PATIENCE_MS)
    resume.press("Enter")
    page.wait_for_url("**#/runs")
    page.unroute("**/resume")
    assert asked == [f"{served.base}api/runs/stopped/resume"]
