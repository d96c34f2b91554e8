"""A page of sections, each with sentences, a figure and tables where it has them: for what is no run's report.

It looks like a report, and like one is a single file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .figures import Drawing, for_page
from .tables import Table
from .templating import template


@dataclass(frozen=True, kw_only=True)
class PageSection:
    """A part of a page.

    Attributes:
        title: its heading.
        sentences: a paragraph each.
        warnings: likewise, set apart.
        tables: in order, below the sentences.
        drawing: above the tables.
    """

    title: str
    sentences: Sequence[str] = ()
    warnings: Sequence[str] = ()
    tables: Sequence[Table] = field(default_factory=list)
    drawing: Drawing | None = None


def render(title: str, lead: str, properties: Sequence[tuple[str, str]], sections: Sequence[PageSection]) -> str:
    """The page.

    Args:
        lead: what it is about, in a sentence or two.
        properties: names and values, at the top.
    """
    from markupsafe import Markup

    # Safe: matplotlib and `inline` escape the texts of a figure.
    markup = {section.title: Markup(for_page(section.drawing)) for section in sections if section.drawing is not None}
    return (
        template("page.html.j2").render(title=title, lead=lead, properties=properties, sections=sections, markup=markup)
        + "\n"
    )
