"""Screens of the page of `sixbench ui`, wide and narrow, light and dark: what helps everybody read them."""

from __future__ import annotations

import io
import shutil

import pytest
import synthetic
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect
from ui_browser import PATIENCE_MS, PHONE, WIDE, Served, show

SCREENS = (
    "runs",
    "live/live",
    "live/small",
    "result/small",
    "result/small/b001-c0001-ipv4",
    "result/loads/b001-c0001-ipv4",
    "compare/small/live",
    "compare/small/again",
    "servers/reach",
    "servers/reach/slow.example",
    "learn/6in4/1500",
    "new",
    "measure",
)


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_core_finds_nothing_and_nothing_scrolls_sideways(page: Page, served: Served, screen: str) -> None:
    for width in (WIDE, PHONE):
        show(page, served, screen, width)
        done = Axe().run(page, options={"resultTypes": ["violations"]})
        assert done.violations_count == 0, f"{width} px: {done.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth") == width
    show(page, served, screen, PHONE, "dark")
    done = Axe().run(page, options={"resultTypes": ["violations"], "runOnly": ["color-contrast"]})
    assert done.violations_count == 0, f"dark: {done.generate_report()}"


def test_dark_screens_are_dark(page: Page, served: Served) -> None:
    show(page, served, "live/small", PHONE, "dark")
    image = Image.open(io.BytesIO(page.screenshot())).convert("L")
    assert sum(image.histogram()[128:]) < 0.1 * image.width * image.height


def test_runs_lead_to_their_trials_and_results(page: Page, served: Served) -> None:
    show(page, served, "runs")
    shown = page.locator(".run").count()
    expect(page.get_by_text("This machine: Ready, without limits.")).to_be_visible()
    link = page.get_by_role("link", name="Result of live")
    link.focus()
    synthetic.replace_run(synthetic.small(blocks=3), run="new").write(served.directory / "new")
    expect(page.locator(".run")).to_have_count(shown + 1, timeout=PATIENCE_MS)
    expect(link).to_be_focused()
    shutil.rmtree(served.directory / "new")
    page.get_by_label("Show only").fill("complete")
    expect(page.get_by_role("link", name="Result of live")).to_have_count(0, timeout=PATIENCE_MS)
    page.get_by_role("link", name="Result of small").press("Enter")
    expect(page.frame_locator("iframe").get_by_role("heading", name="The report")).to_be_visible()


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
