"""The house style of figures: colours, fonts, sizes, ticks, legends. Nothing else decides how a figure looks.

Paths have the colours of the Okabe-Ito palette, which people with any colour vision tell apart
(M. Okabe and K. Ito, "Color Universal Design", 2008), and markers of their own, so that prints in grey can be read too.
"""

from __future__ import annotations

import math
import statistics
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...model.experiment import Experiment
from .. import words
from ..palette import OF_PATHS, colours_of_paths

WIDTH_IN = 7.2
"""Width of a figure unless another is asked for: the text width of a page, in inches."""

NARROW_IN = 3.33
"""Width of one of two columns of a paper, in inches. A phone magnifies it by about a half."""

TITLE = "title"
"""Marks a figure's title among its texts, so that it can be left out where a caption says the same."""

LEAST_PT = 6.5
"""Smallest text: 9 pixels or more where a narrow figure fills a phone of 390 pixels."""

TITLE_PT = 8.5
"""Size of a panel's title."""

TITLE_LINE_IN, _LEGEND_LINE_IN = 0.16, 0.17

_CHARACTER_IN = 0.0088
"""Width of a character of a text of 1 point: of DejaVu Sans, rather too wide than too narrow."""


def text_in(text: str, size_pt: float) -> float:
    """The width of a line of text, about, in inches."""
    return _CHARACTER_IN * size_pt * len(text)


ON_LIGHT, ON_DARK = "#1f2934", "#fefefe"
"""Text on a fill that is the same in light and dark pages."""

INK, MUTED, FAINT, BAND, NOISE = "#1f2933", "#5f6b76", "#d5dadf", "#e9edf0", "#fae8bf"

Look = dict[str, Any]
"""Keyword arguments of matplotlib, which has types of its own for them."""

LineStyle = Literal["-", ":"] | tuple[float, Sequence[float]]
_LINES: tuple[LineStyle, ...] = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (2, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": TITLE_PT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.facecolor": "white",
    "text.parse_math": False,  # a dollar sign in a name is text
    "svg.fonttype": "none",
    "svg.hashsalt": "sixbench",
    "pdf.fonttype": 42,
    "path.simplify": True,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.wspace": 0.03,
}


@contextmanager
def house_style() -> Iterator[None]:
    """The context in which figures are made and saved, whatever the user's own matplotlib settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # Names in scripts that the font lacks are drawn as boxes in PNG and PDF; in pages the reader's fonts have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        with mpl.rc_context(_RC):
            yield


@dataclass(frozen=True, kw_only=True)
class PathStyle:
    """Look of a path in every figure. An A/A path looks like the path it repeats, dotted and hollow."""

    name: str
    colour: str
    marker: str
    line: LineStyle
    hollow: bool

    @property
    def face(self) -> str:
        """Fill of its markers."""
        return "white" if self.hollow else self.colour


def styles_of(names: Sequence[str]) -> dict[str, PathStyle]:
    """Styles of up to seven paths by name, in this order, where no experiment is at hand."""
    return {
        name: PathStyle(name=name, colour=colour, marker=marker, line="-", hollow=False)
        for name, colour, marker in zip(names, OF_PATHS, _MARKERS, strict=False)
    }


def path_styles(experiment: Experiment) -> dict[str, PathStyle]:
    """Styles by path, in the order of the experiment. From the eighth path on, colours repeat with other lines and
    markers."""
    styles: dict[str, PathStyle] = {}
    colours = colours_of_paths(experiment)
    real = [path for path in experiment.paths if path.aa_of is None]
    for index, path in enumerate(real):
        again = index // len(OF_PATHS)
        styles[path.name] = PathStyle(
            name=path.name,
            colour=colours[path.name],
            marker=_MARKERS[(index + again) % len(_MARKERS)],
            line=_LINES[again % len(_LINES)],
            hollow=False,
        )
    for path in experiment.paths:
        if path.aa_of is not None:
            of = styles.get(path.aa_of) or PathStyle(name=path.name, colour=MUTED, marker="o", line="-", hollow=True)
            styles[path.name] = PathStyle(name=path.name, colour=of.colour, marker=of.marker, line=":", hollow=True)
    return {path.name: styles[path.name] for path in experiment.paths}


def path_handle(style: PathStyle, *, markers: bool = True, is_joined: bool = True) -> Line2D:
    """A path in a legend, with its marker unless the figure draws none, and with its line unless it draws none."""
    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=style.line if is_joined else "none",
        marker=style.marker if markers else "",
        markerfacecolor=style.face,
        label=style.name,
    )


def theory_handle() -> Line2D:
    """Theory in a legend."""
    return Line2D([], [], color=MUTED, linestyle=(0, (4, 2)), linewidth=1, label="theory")


def margin_handle(margin: str) -> Patch:
    """The margin of equivalence in a legend, such as `±1 %`."""
    return Patch(facecolor=BAND, edgecolor=FAINT, label=f"margin {margin}")


def noise_handle() -> Patch:
    """The A/A comparison's interval in a legend."""
    return Patch(facecolor=NOISE, edgecolor="none", label="A/A noise floor")


UPRIGHT_PAIR: Look = {"marker": "_", "markersize": 3.6, "markeredgewidth": 0.8, "linestyle": "none"}
LEVEL_PAIR: Look = {**UPRIGHT_PAIR, "marker": "|"}
"""Look of a single pair of trials: beside an upright interval, and on a level one."""


def pair_handle() -> Line2D:
    """A pair of trials in a legend."""
    return Line2D([], [], color=MUTED, label="a pair of trials", **LEVEL_PAIR)


BEHIND: Look = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
"""The box behind text that stands on lines."""

_RING = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgecolor": "#a83246", "linestyle": ""}


def ring(axes: Axes, x: float, y: float) -> None:
    """Marks a value that contradicts theory."""
    axes.plot([x], [y], **_RING)  # type: ignore[arg-type]


def ring_handle() -> Line2D:
    """That mark in a legend."""
    return Line2D([], [], label="theory says otherwise", **_RING)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class _LegendSpacing:
    """Distances in a legend, in the size of its text, and the width that an entry has besides its text."""

    between: float
    handle: float
    entry_in: float

    def columns(self, handles: Sequence[Line2D | Patch], room_in: float) -> int:
        """The number of entries that have room side by side."""
        widths_in = [self.entry_in + 0.063 * len(str(handle.get_label())) for handle in handles]
        return len(handles) if sum(widths_in) <= room_in else max(1, int(room_in / max(widths_in)))


_LOOSE = _LegendSpacing(between=1.6, handle=2.4, entry_in=0.56)
_TIGHT = _LegendSpacing(between=1.0, handle=2.0, entry_in=0.44)


def legend(figure: Figure, handles: Sequence[Line2D | Patch]) -> None:
    """A legend under the figure, in as many columns as have room. Entries are closer where that takes fewer lines."""
    if not handles:
        return
    layouts = [(spacing.columns(handles, figure.get_figwidth() - 0.2), spacing) for spacing in (_LOOSE, _TIGHT)]
    columns, spacing = min(layouts, key=lambda item: math.ceil(len(handles) / item[0]))
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE_IN * (math.ceil(len(handles) / columns) - 1))
    by_column = [handle for column in range(columns) for handle in handles[column::columns]]
    figure.legend(
        handles=by_column,
        loc="outside lower center",
        ncols=columns,
        columnspacing=spacing.between,
        handlelength=spacing.handle,
    )


def figure(height_in: float, width_in: float) -> Figure:
    """An empty figure."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def sheet(height_in: float, width_in: float) -> tuple[Figure, Axes]:
    """An empty figure for drawings that place everything themselves, and its axes, in which a unit is an inch."""
    drawn = figure(height_in, width_in)
    drawn.set_layout_engine("none")
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width_in)
    axes.set_ylim(0, height_in)
    axes.set_axis_off()
    return drawn, axes


def sheet_title(axes: Axes, text: str) -> float:
    """Writes a title at the top of a sheet. Returns the height that its lines take."""
    left_in, (width_in, height_in) = 0.09, (axes.get_xlim()[1], axes.get_ylim()[1])
    lines = title_lines(text, width_in)
    axes.text(
        left_in, height_in - 0.12, "\n".join(lines), fontsize=9.5, fontweight="bold", va="top", linespacing=1.2,
        gid=TITLE,
    )  # fmt: skip
    return TITLE_LINE_IN * len(lines)


def title(figure: Figure, text: str) -> None:
    """Writes a title over all panels. The figure grows by what the lines after the first take."""
    lines = title_lines(text, figure.get_figwidth())
    figure.set_figheight(figure.get_figheight() + TITLE_LINE_IN * (len(lines) - 1))
    figure.suptitle("\n".join(lines), x=0.012, ha="left", fontsize=9.5, fontweight="bold", gid=TITLE)


def title_lines(text: str, width_in: float) -> list[str]:
    """A figure's title on as many lines as it needs."""
    lines = textwrap.wrap(words.keep_together(text), max(12, int((width_in - 0.2) / 0.087)))
    return [line.replace("\u00a0", " ") for line in lines] or [""]


def spans_decades(values: Sequence[float]) -> bool:
    """True if positive values are worth a logarithmic axis: the largest is at least 100 times the smallest."""
    return len(values) > 1 and min(values) > 0 and max(values) >= 100 * min(values)


def level_axis(axes: Axes, column: str, values: Sequence[float], width_in: float, *, labels: bool = True) -> None:
    """The axis of a swept factor: a tick at every level, a label wherever it has room, or else a line lower.

    Args:
        values: the levels, sorted.
        width_in: of the axis.
        labels: whether to write labels, which is false if the panel below has the same.
    """
    logarithmic = spans_decades(values)
    if logarithmic:
        axes.set_xscale("log")
        low, high = values[0] / 1.45, values[-1] * 1.45
    else:
        pad = (values[-1] - values[0]) * 0.06 or 1.0
        low, high = values[0] - pad, values[-1] + pad
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(list(values)))
    axes.xaxis.set_minor_locator(NullLocator())
    texts = [words.level(column, value) for value in values]
    places = [_fraction(value, low, high, logarithmic=logarithmic) for value in values]
    widths = [(0.062 * len(text) + 0.07) / width_in for text in texts]
    upper = _sparse(places, widths)
    rest = [index for index in range(len(values)) if index not in upper]
    lower = [rest[at] for at in _sparse([places[index] for index in rest], [widths[index] for index in rest])]
    by_value = {values[index]: texts[index] for index in upper} | {values[i]: f"\n{texts[i]}" for i in lower}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: by_value.get(value, "")))
    axes.tick_params(axis="x", labelbottom=labels)


def _fraction(value: float, low: float, high: float, *, logarithmic: bool) -> float:
    if logarithmic:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _sparse(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Indices of labels that do not touch one another. The last label comes first, since readers look for it."""
    kept: list[int] = []
    left_edge = float("inf")
    for index in reversed(range(len(places))):
        if places[index] + widths[index] / 2 <= left_edge:
            kept.append(index)
            left_edge = places[index] - widths[index] / 2
    return kept


def factor_label(column: str, values: Sequence[float]) -> str:
    """The label of a factor's axis, which says if it is logarithmic."""
    name = words.factor(column)
    return f"{name[:1].upper()}{name[1:]}{' (log scale)' if spans_decades(values) else ''}"


def log_ticks(low: float, high: float, width_in: float, label_in: float = 0.52) -> list[float]:
    """Round numbers on a logarithmic axis of that width, as many as have room for labels of that width."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0), (1.0, 2.0, 3.0, 5.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]
        places = [math.log(tick / low) / math.log(high / low) * width_in for tick in ticks]
        if all(after - before >= label_in for before, after in pairwise(places)):
            return ticks
    decade_in = width_in / math.log10(high / low)
    return ticks[:: math.ceil(label_in / decade_in)]


def wrapped(text: str, width_in: float, size_pt: float = TITLE_PT) -> str:
    """A panel's title on as many lines as it needs."""
    lines = textwrap.wrap(words.keep_together(text), max(12, int(width_in / (0.072 * size_pt / TITLE_PT))))
    return "\n".join(lines).replace("\u00a0", " ")


MOST_REACH = 300.0
"""The farthest end of an axis for the sake of an interval, in percent. An interval that goes further says no more."""


def change_limits(
    centres: Sequence[float], ends: Sequence[float], margin: float, most_reach: float = MOST_REACH
) -> tuple[float, float]:
    """Ends of an axis of changes. It holds no difference, the margin, all changes, and the ends of most intervals.

    An interval that is much wider than the others is cut off so that the others can be told apart. `cut` marks it.

    Args:
        centres: the changes.
        ends: the ends of their intervals and of other intervals that are drawn.
        most_reach: the farthest that the axis goes beyond the changes for the sake of intervals.
    """
    low, high = min([-margin, 0.0, *centres]), max([margin, 0.0, *centres])
    typical = min(3 * statistics.median(map(abs, ends)), most_reach) if ends else 0.0
    reach = max(1.5 * (high - low), typical) or 1.0
    low = min([low, *(max(end, low - reach) for end in ends)])
    high = max([high, *(min(end, high + reach) for end in ends)])
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def signed_ticks() -> FuncFormatter:
    """Ticks of changes: `+1`, `−1`, `0`."""
    return FuncFormatter(lambda value, _: f"{value:+g}".replace("-", words.MINUS) if value else "0")
