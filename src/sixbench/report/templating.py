"""The templates of pages: what is put in is escaped, and what is missing is an error."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from . import palette, words

if TYPE_CHECKING:
    from jinja2 import Environment, Template

Filled = dict[str, Any]
"""Values of a template, by the names that it has for it."""


def template(name: str) -> Template:
    """The template of that file's name."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    """One for all pages, so that each template is compiled once."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("sixbench.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["figure_colours"] = palette.sheet()
    environment.filters["variable"] = palette.variable
    environment.filters["together"] = words.keep_together
    environment.filters["heading"] = lambda text: text[:1].upper() + text[1:]
    return environment
