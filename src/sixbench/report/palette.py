"""The colours of figures and of pages, which have a light and a dark scheme.

A figure is drawn in its light colours, and files keep them. In a page each colour is a variable of the style sheet, so
that the figure follows the reader's scheme. Every colour that a figure uses stands here. Any other colour is an
error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model.experiment import Experiment


@dataclass(frozen=True, kw_only=True)
class Shade:
    """A colour by its name in the style sheet, and what it is in the dark scheme."""

    name: str
    dark: str


SHADES: dict[str, Shade] = {
    "#ffffff": Shade(name="paper", dark="#181e25"),
    "#1f2933": Shade(name="ink", dark="#e4e8ec"),
    "#5f6b76": Shade(name="quiet", dark="#a3afba"),
    "#d5dadf": Shade(name="faint", dark="#38434e"),
    "#e9edf0": Shade(name="band", dark="#29323b"),
    "#fae8bf": Shade(name="noise", dark="#57461c"),
    # The Okabe-Ito palette of paths; dark colours are lightened until they stand out from a dark page.
    "#0072b2": Shade(name="blue", dark="#4ba3dc"),
    "#d55e00": Shade(name="vermilion", dark="#ee7a2b"),
    "#009e73": Shade(name="green", dark="#2bbd92"),
    "#cc79a7": Shade(name="purple", dark="#dc93bb"),
    "#e69f00": Shade(name="orange", dark="#ecb02e"),
    "#56b4e9": Shade(name="sky", dark="#8fd0f5"),
    "#000000": Shade(name="black", dark="#f4f6f8"),
    # Verdicts on changes, in the colours of the page's badges.
    "#17724f": Shade(name="better", dark="#5fcf9f"),
    "#a4262c": Shade(name="worse", dark="#f08a8d"),
    "#6b4fa0": Shade(name="changed", dark="#b9a2ea"),
    "#1d6f82": Shade(name="same", dark="#6cc5d8"),
    "#3f63a0": Shade(name="small", dark="#8fb1ee"),
    "#8a5a00": Shade(name="mixed", dark="#f0c36d"),
    "#66727d": Shade(name="open", dark="#a2adb8"),
    "#a83246": Shade(name="ring", dark="#f0788a"),
    # Nodes, headers and tunnels: fills behind text.
    "#e3edf7": Shade(name="host", dark="#233747"),
    "#f6f1e4": Shade(name="router", dark="#3b3524"),
    "#e6e9ec": Shade(name="link-layer", dark="#323b45"),
    "#c9def0": Shade(name="ipv4", dark="#204766"),
    "#f7d8c3": Shade(name="ipv6", dark="#65391c"),
    "#cdeadd": Shade(name="transport", dark="#1d4d3a"),
    "#e8d9ea": Shade(name="other", dark="#4c3551"),
    # Cells of the path MTU matrix: the same in both schemes, and so is the text on them.
    "#8fc9bf": Shade(name="by-icmp", dark="#8fc9bf"),
    "#e6d9a2": Shade(name="asymmetric", dark="#e6d9a2"),
    "#d9b44a": Shade(name="inconsistent", dark="#d9b44a"),
    "#e39a5b": Shade(name="by-probing", dark="#e39a5b"),
    "#267367": Shade(name="fine", dark="#267367"),
    "#a83247": Shade(name="black-hole", dark="#a83247"),
    "#eef0f2": Shade(name="none", dark="#2a323b"),
    "#1f2934": Shade(name="on-light", dark="#1f2934"),
    "#fefefe": Shade(name="on-dark", dark="#fefefe"),
}

OF_PATHS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The colours of paths, in the order of the experiment; from the eighth path on they repeat."""

_OF_NO_PATH = "#5f6b76"
"""Colour of an A/A path that repeats none of the experiment."""


def colours_of_paths(experiment: Experiment) -> dict[str, str]:
    """The colour of each path of an experiment, in all figures and on all screens. A/A paths have that of the path they
    repeat."""
    real = [path.name for path in experiment.paths if path.aa_of is None]
    colours = {name: OF_PATHS[index % len(OF_PATHS)] for index, name in enumerate(real)}
    return {path.name: colours.get(path.aa_of or path.name, _OF_NO_PATH) for path in experiment.paths}


def shade_name(colour: str) -> str:
    """The name of a colour in the style sheet.

    Raises:
        KeyError: figures do not have this colour.
    """
    return SHADES[colour.lower()].name


_HEX = re.compile(r"#[0-9a-fA-F]{6}\b")


def variable(colour: str) -> str:
    """The colour as a value of CSS.

    Raises:
        KeyError: figures do not have this colour.
    """
    return f"var(--f-{shade_name(colour)})"


def as_variables(style: str) -> str:
    """A style with its colours replaced by variables."""
    return _HEX.sub(lambda match: variable(match[0]), style)


def path_classes() -> str:
    """For the style sheet of a page: classes such as `of-blue`, in which `--path` is that colour."""
    colours = (*OF_PATHS, _OF_NO_PATH)
    return "\n".join(f".of-{shade_name(colour)}{{--path:{variable(colour)}}}" for colour in colours)


def sheet() -> str:
    """The variables, for the style sheet of a page; paper has the light scheme."""
    light = ";".join(f"--f-{shade.name}:{colour}" for colour, shade in SHADES.items())
    dark = ";".join(f"--f-{shade.name}:{shade.dark}" for shade in SHADES.values())
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
