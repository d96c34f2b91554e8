"""Figures as elements of a page: small, with ids of their own, in the page's colours, and with text for each marker."""

from __future__ import annotations

import re
from hashlib import sha256
from html import escape

from .. import palette
from .drawing import Drawing
from .save import render
from .style import NARROW_IN, WIDTH_IN

_STYLE = "stroke-linejoin:round;stroke-linecap:butt"
"""The style that matplotlib gives to every element by a style sheet. In a page that would be every element of the
page."""


def for_page(drawing: Drawing) -> str:
    """The figure in its wide and its narrow form. The page's style sheet shows one of them."""
    return svg(drawing, form="wide") + svg(drawing, NARROW_IN, form="narrow")


def svg(drawing: Drawing, width_in: float = WIDTH_IN, form: str = "wide") -> str:
    """The figure as an `svg` element.

    The page gives text its font, which should be about as wide as DejaVu Sans, for which the figure is laid out, or
    narrower. Colours are the variables of `palette`. A marker has its text in `data-tip`, with newlines between lines.
    The element has no size but its `viewBox`.

    Args:
        form: the element's class.
    """
    picture = drawing.draw(width_in)
    text = render(picture, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = _with_tips(text, picture.tips)
    text = _with_own_ids(text, f"{drawing.name} {width_in:g}")
    text = _smaller(text)
    text = re.sub(r'style="([^"]*)"', lambda match: f'style="{palette.as_variables(match[1])}"', text)
    view = re.search(r'viewBox="([^"]+)"', text)
    assert view is not None, "matplotlib gives every SVG a viewBox"
    label = escape(drawing.title, quote=True)
    role = "group" if "data-tip=" in text else "img"  # the parts of an `img` could not be reached by keyboard
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{form}" role="{role}" aria-label="{label}" '
        f'viewBox="{view[1]}" style="{_STYLE}">'
    )
    return re.sub(r"<svg[^>]*>", lambda _: opening, text, count=1)


def _with_tips(text: str, tips: dict[str, list[str]]) -> str:
    """Gives the markers of each group with tips their `data-tip`. The n-th `use` of the group is the n-th point. A
    group without markers, such as a cell, carries its only tip itself."""
    for gid, names in tips.items():
        start = text.find(f'<g id="{gid}">')
        if start < 0:
            continue
        end = _end_of_group(text, start)
        parts = re.split(r"<use\b", text[start:end])
        if len(parts) == 1 and len(names) == 1:
            parts[0] = parts[0].replace("<g ", f'<g data-tip="{_attribute(names[0])}" ', 1)
        marked = [parts[0]]
        for index, part in enumerate(parts[1:]):
            tip = f' data-tip="{_attribute(names[index])}"' if index < len(names) else ""
            marked.append(f"<use{tip}{part}")
        text = text[:start] + "".join(marked) + text[end:]
    return text


def _attribute(text: str) -> str:
    return escape(text, quote=True).replace("\n", "&#10;")


def _end_of_group(text: str, start: int) -> int:
    depth = 0
    for match in re.finditer(r"<g\b[^>]*?(/)?>|</g>", text[start:]):
        depth += -1 if match[0] == "</g>" else 0 if match[1] else 1
        if depth == 0:
            return start + match.end()
    return len(text)


def _with_own_ids(text: str, name: str) -> str:
    """Gives the figure short ids that no other figure of the page has. Ids that nothing refers to go."""
    prefix = f"f{sha256(name.encode()).hexdigest()[:6]}"
    used = dict.fromkeys(a or b for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    names = {old: f"{prefix}-{index}" for index, old in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', lambda m: f'href="#{names[m[1]]}"', text)
    return re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{names[m[1]]})", text)


def _smaller(text: str) -> str:
    """The same drawing in less than half the bytes. Positions are to a hundredth of a point, and needless spaces
    go."""
    text = re.sub(r'style="([^"]*)"', lambda m: f'style="{_smaller_style(m[1])}"', text)
    text = re.sub(r' (d|x|y|transform|width|height|points)="([^"]*)"', lambda m: f' {m[1]}="{_rounded(m[2])}"', text)
    text = re.sub(r' style=""| transform="rotate\(-?0 [^"]*"', "", text)
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r"<g>\s*</g>|<defs>\s*</defs>", "", text)
    return _without_bare_groups(text)


def _smaller_style(style: str) -> str:
    style = re.sub(r"font: (?:(\d+|bold|italic) )?([\d.]+px) [^;]*", _font, style)
    style = re.sub(r"font-family: [^;]*;?\s*", "", style)
    return re.sub(r"\s*([:;])\s*", r"\1", style).strip(";")


def _font(match: re.Match[str]) -> str:
    weight = f"font-weight: {match[1]};" if match[1] and match[1] != "italic" else ""
    return f"{weight}font-size: {match[2]}"


def _rounded(text: str) -> str:
    text = re.sub(r"-?\d+\.\d{3,}", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\s*([MLQCzZ])\s*", r"\1", " ".join(text.split()))


def _without_bare_groups(text: str) -> str:
    """The drawing without the groups that have no attribute, which mean nothing."""
    out: list[str] = []
    kept: list[bool] = []
    at = 0
    for match in re.finditer(r"<g(\s[^>]*)?>|</g>", text):
        out.append(text[at : match.start()])
        at = match.end()
        if match[0] == "</g>":
            if kept.pop():
                out.append("</g>")
        else:
            kept.append(match[1] is not None)
            if match[1] is not None:
                out.append(match[0])
    return "".join(out) + text[at:]
