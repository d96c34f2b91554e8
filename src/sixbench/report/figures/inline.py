"""Figures as elements of a page: small, with ids of their own, and with something to say where a reader points."""

from __future__ import annotations

import re
from hashlib import sha256
from html import escape

from .drawing import Drawing
from .save import render

_STYLE = "stroke-linejoin:round;stroke-linecap:butt"
"""What matplotlib gives to every element by a style sheet, which in a page would be every element of the page."""


def svg(drawing: Drawing) -> str:
    """The figure as an `svg` element.

    Text is text, without a font family: the page gives one (of about the width of DejaVu Sans, for which the figure
    is laid out, or narrower). Markers have what they say in `data-tip`, lines separated by newlines. The element has
    no size but its `viewBox`.
    """
    picture = drawing.draw()
    text = render(picture, "svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = _with_tips(text, picture.tips)
    text = _with_own_ids(text, drawing.name)
    text = _smaller(text)
    view = re.search(r'viewBox="([^"]+)"', text)
    assert view is not None, "matplotlib gives every SVG a viewBox"
    label = escape(drawing.title, quote=True)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" viewBox="{view[1]}" style="{_STYLE}">'
    )
    return re.sub(r"<svg[^>]*>", lambda _: opening, text, count=1)


def _with_tips(text: str, tips: dict[str, list[str]]) -> str:
    """Gives the markers of each group that has tips their `data-tip`: the n-th `use` of the group is the n-th point."""
    for gid, said in tips.items():
        start = text.find(f'<g id="{gid}">')
        if start < 0:
            continue
        end = _end_of_group(text, start)
        parts = re.split(r"<use\b", text[start:end])
        marked = [parts[0]]
        for index, part in enumerate(parts[1:]):
            tip = f' data-tip="{_attribute(said[index])}"' if index < len(said) else ""
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
    """Short ids that no other figure has, since several stand in one page; ids that nothing refers to go."""
    prefix = f"f{sha256(name.encode()).hexdigest()[:6]}"
    used = dict.fromkeys(a or b for a, b in re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    names = {old: f"{prefix}-{index}" for index, old in enumerate(used)}
    text = re.sub(r' id="([^"]+)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', lambda m: f'href="#{names[m[1]]}"', text)
    return re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{names[m[1]]})", text)


def _smaller(text: str) -> str:
    """The same drawing in less than half the bytes: positions to a hundredth of a point, no spaces that say nothing."""
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
    """Groups without any attribute mean nothing."""
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
