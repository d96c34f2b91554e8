"""Pages as readers have them: wide and narrow, light and dark, by pointer, finger and keyboard."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import paper_runs
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page

PHONE, WIDE = 390, 1280
LEAST_TEXT_PX = 9
PAPERS = sorted(path.parent.name for path in paper_runs.EXPERIMENTS.glob("*/published.yaml"))
PAGES = ["every-figure", *PAPERS]
SHORT = "soorty-sarkar-kernels"
"""A paper's page of which a picture as a whole takes seconds."""

Opened = Callable[..., Page]
LookedAt = Callable[[str, int], Page]


@pytest.fixture(scope="module")
def colours() -> set[str]:
    """The colours of texts whose contrast has been examined on some page, with what is behind them."""
    return set()


@pytest.mark.parametrize("name", PAGES)
def test_axe_core_finds_nothing(name: str, looked_at: LookedAt, colours: set[str]) -> None:
    """Contrast takes most of the time. It follows from colours, so that texts whose colours were examined before are
    left out, unless the page has every figure. That page is examined at both widths, the others on a phone."""
    for width in (WIDE, PHONE) if name == "every-figure" else (PHONE,):
        page = looked_at(name, width)
        done = Axe().run(page, options={"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}})
        assert done.violations_count == 0, f"{width} px: {done.generate_report()}"
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            new = page.evaluate(_MARK_NEW_COLOURS, [*colours])
            if not new and name != "every-figure":
                continue
            context = None if name == "every-figure" else {"include": [["[data-new-colours]"]]}
            options = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
            done = Axe().run(page, context=context, options=options)
            assert done.violations_count == 0, f"{width} px, {scheme}: {done.generate_report()}"
            colours.update(new)


@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_sideways_on_a_phone(name: str, looked_at: LookedAt) -> None:
    page = looked_at(name, PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert page.evaluate(_SCROLLERS) == []
    assert page.evaluate(_TOO_WIDE, PHONE) == []


@pytest.mark.parametrize("name", PAGES)
def test_text_can_be_read_on_a_phone(name: str, looked_at: LookedAt) -> None:
    sizes = looked_at(name, PHONE).evaluate(_TEXT_SIZES)
    assert len(sizes) > 100
    assert [size for size in sizes if size["px"] < LEAST_TEXT_PX] == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_each_figure_has_one_form_and_no_text_of_it_is_cut_off(width: int, looked_at: LookedAt) -> None:
    page = looked_at("every-figure", width)
    shown = page.evaluate(_SHOWN_FIGURES)
    assert [count for count in shown if count != 1] == []
    assert page.evaluate(_CUT_TEXTS) == []


@pytest.mark.parametrize(("name", "width"), [("every-figure", WIDE), ("every-figure", PHONE), (SHORT, PHONE)])
def test_dark_pages_have_no_white_areas(name: str, width: int, opened: Opened) -> None:
    page = opened(name, width, "dark")
    image = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("L")
    assert _bright_tiles(image) == []


def test_every_marker_is_reached_by_keyboard_and_says_its_value(opened: Opened) -> None:
    page = opened("every-figure")
    expected = page.evaluate("[...document.querySelectorAll('svg.wide [data-tip]')].map((one) => one.dataset.tip)")
    assert len(expected) > 20
    assert _reached(page) == expected


def test_a_marker_says_its_value_to_a_finger_beside_it_and_is_silent_after_a_tap_elsewhere(opened: Opened) -> None:
    page = opened("every-figure", PHONE, has_touch=True)
    marker = page.locator("svg.narrow [data-tip]").first
    marker.scroll_into_view_if_needed()
    box = marker.bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 2 - 12, box["y"] + box["height"] / 2)
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert tip.text_content() == marker.get_attribute("data-tip")
    place = tip.bounding_box()
    assert place is not None
    assert 0 <= place["x"] <= place["x"] + place["width"] <= PHONE
    page.locator("figcaption").first.tap()
    assert not tip.is_visible()


def test_a_marker_says_its_value_to_a_pointer(opened: Opened) -> None:
    page = opened("every-figure")
    marker = page.locator("svg.wide [data-tip]").first
    marker.scroll_into_view_if_needed()
    box = marker.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#tip").text_content() == marker.get_attribute("data-tip")


def test_findings_are_sorted_by_keyboard(opened: Opened) -> None:
    page = opened("every-figure")
    page.locator("#findings-table th button", has_text="Change").press("Enter")
    assert page.locator("#findings-table th[aria-sort=ascending]").count() == 1
    values = page.locator("#findings-table tbody tr td:nth-child(5)").evaluate_all(
        "(cells) => cells.map((cell) => cell.dataset.v).filter((text) => text !== '').map(Number)"
    )
    assert len(values) > 10
    assert all(item <= other for item, other in pairwise(values))


def test_paper_has_the_wide_figures_in_light_colours(opened: Opened) -> None:
    page = opened("every-figure", WIDE, "dark")
    page.emulate_media(media="print")
    assert page.locator("svg.wide").first.is_visible()
    assert not page.locator("svg.narrow").first.is_visible()
    paper = "getComputedStyle(document.querySelector('.card')).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--f-ink').trim()") == "#1f2933"


def _reached(page: Page) -> list[str]:
    """Text of each marker that keys reach: Tab to a figure, arrows within it."""
    collected: dict[int, str] = {}
    for _ in range(page.evaluate("document.querySelectorAll('a, button, summary, select, input, svg.wide').length")):
        page.keyboard.press("Tab")
        while (answer := page.evaluate(_FOCUSED)) is not None and answer["index"] not in collected:
            assert answer["tip"] == answer["own"]
            collected[answer["index"]] = answer["own"]
            page.keyboard.press("ArrowRight")
    return list(collected.values())


def _bright_tiles(image: Image.Image, size: int = 24) -> list[tuple[int, int]]:
    """Where a square of so many pixels is all but white."""
    rows, columns = image.height // size, image.width // size
    pixels = np.asarray(image)[: rows * size, : columns * size]
    darkest = pixels.reshape(rows, size, columns, size).min(axis=(1, 3))
    return [(int(top) * size, int(left) * size) for top, left in zip(*np.nonzero(darkest > 200), strict=True)]


_FOCUSED = """() => {
  const focused = document.activeElement, tip = document.getElementById("tip");
  const index = [...document.querySelectorAll("[data-tip]")].indexOf(focused);
  return index < 0 ? null : { index, own: focused.dataset.tip, tip: tip.hidden ? null : tip.textContent };
}"""

_VISIBLE = """
  const visible = (one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0;
  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode()) {
      const node = walker.currentNode, parent = node.parentElement;
      if (node.data.trim() && !["SCRIPT", "STYLE"].includes(parent.tagName) && visible(parent)) found.push(node);
    }
    return found;
  };
"""

_MARK_NEW_COLOURS = f"""(known) => {{ {_VISIBLE}
  const examined = new Set(known), found = new Set();
  for (const parent of new Set(texts().map((node) => node.parentElement))) {{
    const style = getComputedStyle(parent);
    const colours = [style.color, style.fill, style.opacity, style.fontSize, style.fontWeight];
    for (let at = parent; at; at = at.parentElement) colours.push(getComputedStyle(at).backgroundColor);
    const kind = colours.filter((colour) => colour !== "rgba(0, 0, 0, 0)").join(" ");
    parent.toggleAttribute("data-new-colours", !examined.has(kind));
    if (!examined.has(kind)) found.add(kind);
  }}
  return [...found];
}}"""

_TEXT_SIZES = f"""() => {{ {_VISIBLE}
  return texts().map((node) => {{
    const parent = node.parentElement, svg = parent.closest("svg");
    const scale = svg ? svg.getScreenCTM().a : 1;
    return {{ text: node.data.trim().slice(0, 40), px: parseFloat(getComputedStyle(parent).fontSize) * scale }};
  }});
}}"""

_SCROLLERS = f"""() => {{ {_VISIBLE}
  return [...document.querySelectorAll("body *")].filter((one) => visible(one)
      && one.scrollWidth > one.clientWidth && ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
    .map((one) => one.outerHTML.slice(0, 80));
}}"""

_TOO_WIDE = f"""(width) => {{ {_VISIBLE}
  return texts().filter((node) => {{
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    return box.width > 1 && (box.right > width + 1 || box.left < -1) && !node.parentElement.closest(".skip");
  }}).map((node) => node.data.trim().slice(0, 60));
}}"""

_SHOWN_FIGURES = """() => [...document.querySelectorAll(".card")].map((card) =>
  [...card.querySelectorAll("svg")].filter((svg) => getComputedStyle(svg).display !== "none").length)"""

_CUT_TEXTS = """() => [...document.querySelectorAll("svg text")].filter((text) => {
  const svg = text.ownerSVGElement, own = text.getBoundingClientRect(), whole = svg.getBoundingClientRect();
  return own.width > 0 && (own.left < whole.left - 2 || own.right > whole.right + 2
    || own.top < whole.top - 2 || own.bottom > whole.bottom + 2);
}).map((text) => text.closest("svg").getAttribute("aria-label") + ": " + text.textContent)"""
