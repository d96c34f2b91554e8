"""Fragments, link by link: the packets and bytes of a datagram on every link, as theory expects them and as
interfaces counted them. A ring marks where the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ...model.experiment import Combination
from ...model.workloads import udp_stream
from ...store import Run
from .. import words
from ..evidence import by_path
from ..evidence.fragments import CountedFragments, FragmentSum, on_links
from ..rows import constant
from . import style
from .data import AsItem, Context
from .drawing import Drawing, Picture, paged
from .panels import LEAST_IN, PanelGrid

WORKLOAD = udp_stream.KIND.name
GROUPS_OF_A_PAGE = 3

_ROW_IN = 1.45
_DODGE = 0.8
"""The share of a link's place over which paths are spread."""
_MARKER_IN = 0.15
"""The width that a marker needs beside others."""
_LINE_CHARACTERS = 100
"""The most characters that have room side by side in the whole width."""
_CAPTION = (
    "The packets of a datagram on each link from client to server, and their bytes with Ethernet headers. Both are "
    "means over all datagrams that were sent. Lines are what theory expects. Where datagrams are lost while path MTUs "
    "are being learned, theory gives the least and the most. Markers are what interfaces counted, which now and then "
    "includes a packet of neighbour discovery."
)

Signature = tuple[tuple[str, tuple[int, ...]], ...]
"""The sizes of a datagram's packets on each link, by theory."""


@dataclass(kw_only=True)
class _Group:
    """Combinations of levels for which theory expects the same on every path."""

    signatures: dict[str, Signature]
    combinations: list[Combination]
    trials: dict[str, list[CountedFragments]]

    @property
    def links(self) -> list[str]:
        """In the order of the way."""
        return list(dict.fromkeys(link for signature in self.signatures.values() for link, _ in signature))

    @property
    def is_telling(self) -> bool:
        """True if anything is fragmented anywhere, or counts differ from theory."""
        fragmented = any(len(sizes) > 1 for signature in self.signatures.values() for _, sizes in signature)
        return fragmented or self.different > 0

    @property
    def different(self) -> int:
        """The number of trials in which counts differ from theory."""
        return sum(trial.is_different for trials in self.trials.values() for trial in trials)


def drawings(context: Context, run: Run) -> list[Drawing]:
    """The figures of a run in which datagrams were fragmented. Other runs have none."""
    groups = [group for group in _groups(context, run) if group.is_telling]
    pages = [groups[at : at + GROUPS_OF_A_PAGE] for at in range(0, len(groups), GROUPS_OF_A_PAGE)]
    return paged(
        pages,
        name="fragments",
        title="Fragments, link by link",
        captions=map(_caption, pages),
        section="workload",
        workload=WORKLOAD,
        ranks=count(),
        draw=partial(_draw, context),
    )


def _groups(context: Context, run: Run) -> list[_Group]:
    sums = {evidence.path: evidence.of(FragmentSum).by_combination for evidence in by_path(run)}
    groups: list[_Group] = []
    for combination in context.experiment.combinations:
        trials = {path: [*counted] for path, of_path in sums.items() if (counted := of_path.get(combination.name))}
        if not trials:
            continue
        signatures = {path: _signature(results) for path, results in trials.items()}
        group = next((item for item in groups if _is_alike(item.signatures, signatures)), None)
        if group is None:
            groups.append(_Group(signatures=signatures, combinations=[combination], trials=trials))
            continue
        group.signatures |= signatures
        group.combinations.append(combination)
        for path, more in trials.items():
            group.trials.setdefault(path, []).extend(more)
    return groups


def _signature(trials: Sequence[CountedFragments]) -> Signature:
    """The packets that theory expects in most trials. They differ in trials whose source fragmented datagrams itself
    because it knew the path MTU."""
    counts = Counter(tuple((link.link, link.sizes_bytes) for link in trial.links) for trial in trials)
    return counts.most_common(1)[0][0]


def _is_alike(pairs: Mapping[str, Signature], other: Mapping[str, Signature]) -> bool:
    common = pairs.keys() & other.keys()
    return bool(common) and all(pairs[path] == other[path] for path in common)


def _caption(groups: Sequence[_Group]) -> str:
    different = sum(group.different for group in groups)
    total = sum(len(trials) for group in groups for trials in group.trials.values())
    if not different:
        return f"{_CAPTION} Theory and counts agree in all of {words.count(total, 'trial')}."
    return f"{_CAPTION} Theory and counts differ in {different} of {words.count(total, 'trial')}, which have a ring."


def _draw(context: Context, groups: Sequence[_Group], title: str, width_in: float) -> Picture:
    with style.house_style():
        paths = context.paths(path for group in groups for path in group.signatures)
        links = max(len(group.links) for group in groups)
        panels = [(group, what) for group in groups for what in ("packets", "bytes")]
        least_in = max(LEAST_IN, _MARKER_IN * links * len(paths))
        grid = PanelGrid.fitting(len(panels), width_in, least_in=least_in, most_columns=2, beside_in=0.4)
        longest = max(len(link) for group in groups for link in group.links)
        is_turned = links * grid.columns * (longest + 2) > _LINE_CHARACTERS * width_in / style.WIDTH_IN
        figure = style.figure(0.9 + (_ROW_IN + 0.4 * is_turned) * grid.rows, width_in)
        for place, (group, what) in zip(grid.places(figure), panels, strict=True):
            _panel(place.axes[0], group, what, paths, is_turned=is_turned)
            if what == "packets":
                place.title(words.levels(constant([AsItem(combination) for combination in group.combinations])))
        style.title(figure, title)
        style.legend(figure, _handles(paths, is_ringed=any(group.different for group in groups)))
        return Picture(figure=figure)


def _handles(paths: Sequence[style.PathStyle], *, is_ringed: bool) -> list[Line2D]:
    handles = [style.path_handle(path) for path in paths]
    for handle in handles:
        handle.set_linestyle("")
    handles.append(Line2D([], [], color=style.MUTED, linewidth=1.2, label="theory"))
    if is_ringed:
        handles.append(style.ring_handle())
    return handles


def _panel(axes: Axes, group: _Group, what: str, paths: Sequence[style.PathStyle], *, is_turned: bool) -> None:
    links = group.links
    present = [path for path in paths if path.name in group.signatures]
    width = _DODGE / max(1, len(present))
    most = 0.0
    for index, path in enumerate(present):
        for link, on_link in on_links(group.trials[path.name]).items():
            x = links.index(link) + (index - (len(present) - 1) / 2) * width
            low, high = (value / on_link.datagrams for value in on_link.expected[what])
            counted = on_link.counted[what] / on_link.datagrams
            most = max(most, high, counted)
            for edge in (low, high):
                axes.plot([x - width * 0.42, x + width * 0.42], [edge, edge], color=style.MUTED, linewidth=1.2)
            axes.plot([x, x], [low, high], color=style.MUTED, linewidth=0.8)
            axes.plot([x], [counted], marker=path.marker, color=path.colour, markerfacecolor=path.face, markersize=3.6)
            if on_link.different:
                style.ring(axes, x, counted)
    for edge in range(1, len(links)):
        axes.axvline(edge - 0.5, color=style.FAINT, linewidth=0.6)
    axes.set_xlim(-0.5, len(links) - 0.5)
    axes.set_ylim(0, most * 1.15 or 1)
    axes.set_xticks(range(len(links)), links, rotation=60 if is_turned else 0, ha="right" if is_turned else "center")
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"{what} a datagram")
