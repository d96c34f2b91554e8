"""A path has the report's colour on every screen."""

from __future__ import annotations

import pytest
import synthetic
from playwright.sync_api import Page, expect
from ui_browser import PATIENCE_MS, Served, show

from sixbench.report.figures.style import path_styles

STYLES = path_styles(synthetic.small().manifest.experiment)
PIXELS = """(canvas, wanted) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = wanted.map(() => 0);
  const is = (at, colour) => data[at + 3] === 255 && colour.every((part, place) => part === data[at + place]);
  for (let at = 0; at < data.length; at += 4) wanted.forEach((one, index) => { if (is(at, one)) counts[index] += 1; });
  return counts;
}"""


def rgb(path: str) -> list[int]:
    return [*bytes.fromhex(STYLES[path].colour.removeprefix("#"))]


def css(path: str) -> str:
    return f"rgb({', '.join(map(str, rgb(path)))})"


@pytest.mark.parametrize(
    ("screen", "row"),
    [("live/live", "{}, block"), ("compare/small/again", "{}, small, block")],
    ids=["live", "compare"],
)
def test_the_dots_of_a_path_have_its_colour(page: Page, served: Served, screen: str, row: str) -> None:
    show(page, served, screen)
    for path in STYLES:
        dot = page.locator(".dot.ok", has_text=row.format(path)).first
        expect(dot).to_have_css("stroke", css(path), timeout=PATIENCE_MS)
        expect(dot).to_have_css("fill", css(path))


def test_the_lines_within_a_trial_have_the_colour_of_its_path(page: Page, served: Served) -> None:
    """The trial under way is one of IPv6, and its line is the only one."""
    show(page, served, "live/live")
    figure = page.locator("figure", has_text="What arrives")
    expect(figure.get_by_role("img", name="What arrives over time: 12 values")).to_be_visible()
    of_path, of_first = figure.locator("canvas").evaluate(PIXELS, [rgb("ipv6"), rgb("ipv4")])
    assert of_path > 0
    assert of_first == 0


def test_the_series_of_a_trial_have_the_colour_of_its_path(page: Page, served: Served) -> None:
    for path in ("ipv6", "ipv4"):
        show(page, served, f"result/small/b001-c0001-{path}")
        expect(page.locator(".series .line").first).to_have_css("stroke", css(path))
