"""The house style of figures: colours, fonts, sizes, ticks, legends. Nothing else decides how a figure looks.

Paths have the colours of the Okabe-Ito palette, which people with any colour vision tell apart
(M. Okabe and K. Ito, "Color Universal Design", 2008), and markers of their own, so that prints in grey can be read too.
"""

from __future__ import annotations

import math
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

WIDTH_IN = 7.2
"""Width of every figure: the text width of a page, in inches."""

INK, MUTED, FAINT, BAND, NOISE = "#1f2933", "#5f6b76", "#d5dadf", "#e9edf0", "#fae8bf"

LineStyle = Literal["-", ":"] | tuple[float, Sequence[float]]
_LINES: tuple[LineStyle, ...] = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (2, 1)))
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

VERDICT_COLOURS = {"higher": "#332288", "lower": "#882255", "equivalent": "#2f8f80", "inconclusive": "#7b8794"}
"""From Paul Tol's muted palette: not the colours of paths."""
VERDICT_MARKERS = {"higher": ">", "lower": "<", "equivalent": "s", "inconclusive": "o"}

_RC: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8.5,
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
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "savefig.facecolor": "white",
    "text.parse_math": False,  # a dollar in a name is a dollar
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
    """Figures are made and saved in here, whatever the user's own matplotlib settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        # Names in scripts that the font lacks are drawn as boxes in PNG and PDF; in pages the reader's fonts have them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        mpl.rcdefaults()
        with mpl.rc_context(_RC):
            yield


@dataclass(frozen=True, kw_only=True)
class PathStyle:
    """How a path looks in every figure. An A/A path looks like the path it repeats, dotted and hollow."""

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
    """Styles by name, in this order, of up to seven paths of which no experiment is at hand."""
    return {
        name: PathStyle(name=name, colour=colour, marker=marker, line="-", hollow=False)
        for name, colour, marker in zip(names, _COLOURS, _MARKERS, strict=False)
    }


def path_styles(experiment: Experiment) -> dict[str, PathStyle]:
    """Styles by path, in the order of the experiment. From the eighth path on colours come again with other lines and
    markers."""
    styles: dict[str, PathStyle] = {}
    real = [path for path in experiment.paths if path.aa_of is None]
    for index, path in enumerate(real):
        again = index // len(_COLOURS)
        styles[path.name] = PathStyle(
            name=path.name,
            colour=_COLOURS[index % len(_COLOURS)],
            marker=_MARKERS[(index + again) % len(_MARKERS)],
            line=_LINES[again % len(_LINES)],
            hollow=False,
        )
    for path in experiment.paths:
        if path.aa_of is not None:
            of = styles.get(path.aa_of) or PathStyle(name=path.name, colour=MUTED, marker="o", line="-", hollow=True)
            styles[path.name] = PathStyle(name=path.name, colour=of.colour, marker=of.marker, line=":", hollow=True)
    return {path.name: styles[path.name] for path in experiment.paths}


def path_handle(style: PathStyle, *, markers: bool = True) -> Line2D:
    """A path in a legend, with its marker unless the figure draws none."""
    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=style.line,
        marker=style.marker if markers else "",
        markerfacecolor=style.face,
        label=style.name,
    )


def theory_handle() -> Line2D:
    """Theory in a legend."""
    return Line2D([], [], color=MUTED, linestyle=(0, (4, 2)), linewidth=1, label="theory")


def margin_handle(margin: float) -> Patch:
    """The margin of equivalence in a legend."""
    return Patch(facecolor=BAND, edgecolor=FAINT, label=f"margin ±{100 * margin:g} %")


def noise_handle() -> Patch:
    """The A/A comparison's interval in a legend."""
    return Patch(facecolor=NOISE, edgecolor="none", label="A/A noise floor")


_RING = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgecolor": "#a83246", "linestyle": ""}


def ring(axes: Axes, x: float, y: float) -> None:
    """Marks a value of which theory says otherwise."""
    axes.plot([x], [y], **_RING)  # type: ignore[arg-type]


def ring_handle() -> Line2D:
    """That mark in a legend."""
    return Line2D([], [], label="theory says otherwise", **_RING)  # type: ignore[arg-type]


def legend(figure: Figure, handles: Sequence[Line2D | Patch]) -> None:
    """A legend under the figure, in as many columns as have room."""
    if not handles:
        return
    widths_in = [0.56 + 0.064 * len(str(handle.get_label())) for handle in handles]
    room_in = figure.get_figwidth() - 0.2
    columns = len(handles) if sum(widths_in) <= room_in else max(1, int(room_in / max(widths_in)))
    by_column = [handle for column in range(columns) for handle in handles[column::columns]]
    figure.legend(handles=by_column, loc="outside lower center", ncols=columns)


def figure(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    """An empty figure."""
    return Figure(figsize=(width_in, height_in), layout="constrained")


def title(figure: Figure, text: str) -> None:
    """What the figure shows, over all its panels."""
    figure.suptitle(text, x=0.012, ha="left", fontsize=9.5, fontweight="bold")


def spans_decades(values: Sequence[float]) -> bool:
    """Whether positive values are worth a logarithmic axis: the largest is at least 100 times the smallest."""
    return len(values) > 1 and min(values) > 0 and max(values) >= 100 * min(values)


def level_axis(axes: Axes, column: str, values: Sequence[float], width_in: float, *, labels: bool = True) -> None:
    """The axis of a swept factor: a tick at every level, a label wherever it has room.

    Args:
        values: the levels, sorted.
        width_in: of the axis.
        labels: whether to write any; false where the panel below says the same.
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
    shown = set(_sparse(places, [(0.062 * len(text) + 0.07) / width_in for text in texts]))
    by_value = {value: text for index, (value, text) in enumerate(zip(values, texts, strict=True)) if index in shown}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: by_value.get(value, "")))
    axes.tick_params(axis="x", labelbottom=labels)


def _fraction(value: float, low: float, high: float, *, logarithmic: bool) -> float:
    if logarithmic:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _sparse(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Indices of labels that do not touch one another: the last one first, since it is the one that readers look
    for."""
    kept: list[int] = []
    left_edge = float("inf")
    for index in reversed(range(len(places))):
        if places[index] + widths[index] / 2 <= left_edge:
            kept.append(index)
            left_edge = places[index] - widths[index] / 2
    return kept


def factor_label(column: str, values: Sequence[float]) -> str:
    """Label of a factor's axis, saying so where it is logarithmic."""
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
    return ticks[:: math.ceil(len(ticks) * label_in / width_in)]


def wrapped(text: str, width_in: float) -> str:
    """A panel's title on as many lines as it needs."""
    lines = textwrap.wrap(words.keep_together(text), max(12, int(width_in / 0.072)))
    return "\n".join(lines).replace("\u00a0", " ")


def change_limits(centres: Sequence[float], ends: Sequence[float], margin: float) -> tuple[float, float]:
    """Ends of an axis of changes: holds no difference, the margin, all changes, and their intervals unless these are
    so wide that nothing else could be told apart; such run off the edge."""
    low, high = min([-margin, 0.0, *centres]), max([margin, 0.0, *centres])
    reach = 1.5 * (high - low) or max([abs(end) for end in ends], default=0.0) or 1.0
    low = min([low, *(max(end, low - reach) for end in ends)])
    high = max([high, *(min(end, high + reach) for end in ends)])
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def signed_ticks() -> FuncFormatter:
    """Ticks of changes: `+1`, `−1`, `0`."""
    return FuncFormatter(lambda value, _: f"{value:+g}".replace("-", words.MINUS) if value else "0")
