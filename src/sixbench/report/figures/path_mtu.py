"""Path MTU discovery as a matrix: the verdict, the path MTU and the time to find it, for each path and combination of
levels. Where datagrams were sent with several policies about DF, a second matrix has the share that did not
arrive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ...model.experiment import Combination
from ...model.parameter import Scalar
from ...model.trial import TrialRecord
from ...model.workloads import WORKLOADS, pmtu
from ...model.workloads.pmtu import VERDICTS, verdict
from ...store import Run
from .. import words
from ..rows import constant
from . import style
from .data import AsItem, Context
from .drawing import Drawing, Picture

POLICY = "df"

_COLOURS = {
    "fine": "#267367",
    "discovered-by-icmp": "#8fc9bf",
    "asymmetric": "#e6d9a2",
    "inconsistent": "#d9b44a",
    "discovered-by-probing": "#e39a5b",
    "black-hole": "#a83247",
}
_DARK = frozenset({_COLOURS["fine"], _COLOURS["black-hole"]})
_NONE = "#eef0f2"
_SEARCHED = (
    "The first matrix has the verdict on each path (of its worst trial, in the worse direction), the path MTU from "
    "client to server in bytes, and the mean time to find it by probing. "
)
_ARRIVED = (
    "The second matrix has the share of datagrams that did not arrive, because their sender refused them or they were "
    "lost. Its colours tell apart none (as fine), some, and half or more (as a black hole)."
)
_MOST_COLUMNS = 40
_ROW_IN = 0.24
_TEXT = 6.5


@dataclass(frozen=True, kw_only=True)
class _MatrixSquare:
    """Text of a square.

    Attributes:
        colour_words: its colour in words.
    """

    colour: str
    parts: tuple[str, ...]
    colour_words: str = ""

    @property
    def text(self) -> str:
        """All of its parts."""
        return ", ".join(self.parts)

    def fitting(self, room_in: float) -> str:
        """The text for which there is room: all of it, its first part, or nothing."""
        most = room_in / (0.0088 * _TEXT)
        return next((text for text in (self.text, *self.parts[:1]) if len(text) <= most), "")

    @property
    def ink(self) -> str:
        """The colour of its text."""
        return style.INK if self.colour == _NONE else style.ON_DARK if self.colour in _DARK else style.ON_LIGHT


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One figure if the experiment looks for path MTUs."""
    searches = [
        combination for combination in context.experiment.combinations if combination.workload.kind == pmtu.KIND.name
    ]
    if not searches or len(searches) > _MOST_COLUMNS:
        return []
    streams = [
        combination
        for combination in context.experiment.combinations
        if POLICY in combination.levels and _is_of_datagrams(combination)
    ]
    return [
        Drawing(
            name="path-mtu-matrix",
            title="Path MTU discovery, path by path",
            caption=_SEARCHED + (_ARRIVED if streams else ""),
            section="workload",
            workload=pmtu.KIND.name,
            rank=0,
            draw=lambda width_in: _draw(context, run, searches, streams[:_MOST_COLUMNS], width_in),
        )
    ]


def _is_of_datagrams(combination: Combination) -> bool:
    return WORKLOADS[combination.workload.kind].flow == "datagrams"


def _draw(
    context: Context, run: Run, searches: list[Combination], streams: list[Combination], width_in: float
) -> Picture:
    trials: dict[tuple[str, str], list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status == "ok":
            trials.setdefault((trial.path, trial.combination), []).append(trial)
    paths = [path.name for path in context.experiment.paths]
    tips: dict[str, list[str]] = {}
    parts = [part for part in ((searches, _searched), (streams, _arrived)) if part[0]]
    height_in = _ROW_IN * len(paths)
    with style.house_style():
        figure = style.figure(1.0 + len(parts) * (height_in + 1.5), width_in)
        grid = figure.add_gridspec(len(parts), 1)
        for index, (combinations, square) in enumerate(parts):
            title = words.workload_title(combinations[0].workload.kind)
            axes = figure.add_subplot(grid[index, 0])
            _matrix(axes, paths, combinations, trials, square, f"{title}: {_SHOWN[square]}", width_in, index, tips)
        style.title(figure, "Path MTU discovery, path by path")
        style.legend(figure, [Patch(facecolor=_COLOURS[name], label=name.replace("-", " ")) for name in VERDICTS])
        return Picture(figure=figure, tips=tips)


def _matrix(
    axes: Axes,
    paths: Sequence[str],
    combinations: Sequence[Combination],
    trials: dict[tuple[str, str], list[TrialRecord]],
    square: Callable[[Sequence[TrialRecord]], _MatrixSquare],
    title: str,
    width_in: float,
    index: int,
    tips: dict[str, list[str]],
) -> None:
    same = constant([AsItem(element) for element in combinations])
    room_in = (width_in - 0.3 - 0.066 * max(map(len, paths))) / len(combinations)
    for row, path in enumerate(paths):
        for column, combination in enumerate(combinations):
            item = square(trials.get((path, combination.name), []))
            gid = f"p{index}-{row}-{column}"
            rectangle = Rectangle((column, row), 1, 1, facecolor=item.colour, edgecolor="white", linewidth=1)
            rectangle.set_gid(gid)
            axes.add_patch(rectangle)
            levels = words.levels({key: value for key, value in combination.levels.items() if key not in same})
            place = f"{path}, {levels}" if levels else path
            tips[gid] = ["\n".join(part for part in (place, item.colour_words, item.text) if part)]
            text = item.fitting(room_in)
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=_TEXT, color=item.ink)
    axes.set_xlim(0, len(combinations))
    axes.set_ylim(len(paths), 0)
    axes.set_xticks([])
    _name_levels(
        axes, [{key: value for key, value in element.levels.items() if key not in same} for element in combinations]
    )
    axes.set_yticks([index + 0.5 for index in range(len(paths))], list(paths))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    rest = words.levels(same)
    axes.set_title(style.wrapped(f"{title}, {rest}" if rest else title, width_in - 0.3))


def _name_levels(axes: Axes, levels: Sequence[Mapping[str, Scalar]]) -> None:
    """Names the columns below them. Each factor has a line, and the last factor is the nearest. A level stands once
    for all neighbours that share it and the levels of the factors before."""
    factors = list(dict.fromkeys(factor for level in levels for factor in level))
    for depth, factor in enumerate(reversed(factors), start=1):
        outer = factors[: len(factors) - depth + 1]
        keys = [tuple(level.get(name) for name in outer) for level in levels]
        y_points = -depth * 1.6 * _TEXT + 2
        below: style.Look = {
            "xycoords": axes.get_xaxis_transform(),
            "textcoords": "offset points",
            "fontsize": _TEXT,
            "va": "top",
        }
        axes.annotate(words.factor(factor), (0, 0), (-4, y_points + _TEXT), ha="right", color=style.MUTED, **below)
        start = 0
        for end in range(1, len(keys) + 1):
            if end < len(keys) and keys[end] == keys[start]:
                continue
            if factor in levels[start]:
                text = words.level(factor, levels[start][factor])
                axes.annotate(text, ((start + end) / 2, 0), (0, y_points + _TEXT), ha="center", **below)
            if depth > 1 and end < len(keys):
                axes.axvline(end, color=style.INK, linewidth=0.8)
            start = end


def _searched(trials: Sequence[TrialRecord]) -> _MatrixSquare:
    names = [name for name in map(_verdict, trials) if name is not None]
    if not names:
        return _MatrixSquare(colour=_NONE, parts=("–",))
    worst = max(names, key=VERDICTS.index)
    proven = [trial.metrics.get("pmtu_forward_bytes") for trial in trials]
    sizes = sorted({int(size_bytes) for size_bytes in proven if size_bytes is not None})
    times_ns = [trial.metrics["pmtu_converge_ns"] for trial in trials if "pmtu_converge_ns" in trial.metrics]
    parts = (" or ".join(map(str, sizes)), words.duration(fmean(times_ns)) if times_ns else "")
    return _MatrixSquare(colour=_COLOURS[worst], parts=tuple(filter(None, parts)), colour_words=worst.replace("-", " "))


def _verdict(trial: TrialRecord) -> str | None:
    """The verdict of a trial. None if the record does not have both directions."""
    if "forward" not in trial.client or "reverse" not in trial.server:
        return None
    return verdict(trial.client, trial.server)


def _arrived(trials: Sequence[TrialRecord]) -> _MatrixSquare:
    """The square of the share that did not arrive, coloured by none, less than half, or more."""
    shares = []
    for trial in trials:
        refused = trial.metrics.get("refused_ratio", 0.0)
        lost = trial.metrics.get("loss_ratio", 0.0 if refused < 1 else 1.0)
        shares.append(refused + (1 - refused) * lost)
    if not shares:
        return _MatrixSquare(colour=_NONE, parts=("–",))
    share = fmean(shares)
    name = "fine" if share == 0 else "discovered-by-icmp" if share < 0.5 else "black-hole"
    return _MatrixSquare(colour=_COLOURS[name], parts=(f"{100 * share:.3g} %",))


_SHOWN = {_searched: "verdict, path MTU in bytes, time to find it", _arrived: "share that did not arrive"}
