"""Tests of pages in a browser: skipped where there is no Chromium (with the reason), failed where it is expected."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import paper_runs
import pytest
import synthetic
from chromium import chromium
from playwright.sync_api import Browser, Page
from synthetic_analysis import plain_analysis

from sixbench.analysis import analyse
from sixbench.model.finding import Analysis
from sixbench.report import html
from sixbench.report.figures import Drawing, Picture, drawings
from sixbench.store import Run

FIGURES_OF_A_PAPER = 3
ROWS = 60
PATIENCE_MS = 240_000
"""A page that is drawn whole takes long where the machine is busy."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one page run in one process, which draws it once."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            params = item.callspec.params if hasattr(item, "callspec") else {}
            item.add_marker(pytest.mark.xdist_group(str(params.get("name", "every-figure"))))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """It ends with the module, for other tests count this process's children."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes the page of that name: `every-figure`, or a shipped experiment's with a few of its figures."""
    directory = tmp_path_factory.mktemp("pages")

    @functools.cache
    def write(name: str) -> Path:
        if name == "every-figure":
            run = synthetic.transition(blocks=3).in_memory()
            analysis = plain_analysis(run, paper=True)
            chosen = _one_of_each_kind(drawings(run, analysis))
        else:
            run, analysis = _of_paper(name)
            chosen = drawings(run, analysis)[:FIGURES_OF_A_PAPER]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(html, "drawings", lambda run, analysis: chosen)
            patch.setattr(html, "MOST_ROWS", (ROWS,))  # more of the same, which would take axe-core minutes
            path = directory / f"{name}.html"
            path.write_text(html.render(run, analysis))
        return path

    return write


def _open(browser: Browser, file: Path, width: int, scheme: str, *, has_touch: bool) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme=scheme,  # type: ignore[arg-type]
        has_touch=has_touch,
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return page


@pytest.fixture
def opened(browser: Browser, page_file: Callable[[str], Path]) -> Iterator[Callable[..., Page]]:
    """Opens a page in a window of that width, with all that is folded open."""
    pages = []

    def open_page(name: str | Path, width: int = 1280, scheme: str = "light", *, has_touch: bool = False) -> Page:
        file = page_file(name) if isinstance(name, str) else name
        pages.append(_open(browser, file, width, scheme, has_touch=has_touch))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def looked_at(browser: Browser, page_file: Callable[[str], Path]) -> Iterator[Callable[[str, int], Page]]:
    """Likewise, for tests that only look: those of one page share it, because opening it takes seconds."""
    pages: dict[tuple[str, int], Page] = {}

    def close_all() -> None:
        for page in pages.values():
            page.context.close()
        pages.clear()

    def look(name: str, width: int) -> Page:
        if not all(held == name for held, _ in pages):
            close_all()
        if (name, width) not in pages:
            pages[name, width] = _open(browser, page_file(name), width, "light", has_touch=False)
        return pages[name, width]

    yield look
    close_all()


def _of_paper(name: str) -> tuple[Run, Analysis]:
    run = paper_runs.imagined(paper_runs.experiment(name, quick=True))
    return run, analyse(run, paper_runs.paper(name))


def _one_of_each_kind(result: list[Drawing]) -> list[Drawing]:
    """The first of each module that draws: the others differ in their numbers only."""
    return list({_module_of(drawing.draw): drawing for drawing in reversed(result)}.values())


def _module_of(draw: Callable[..., Picture]) -> str:
    """The module of the function that draws, of which the arguments for a page may be fixed."""
    return draw.func.__module__ if isinstance(draw, functools.partial) else draw.__module__
