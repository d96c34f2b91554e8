"""The figures: what is drawn, each kind in a file of its own, all in one style.

`drawings` says which figures a run has without drawing any; `save.write_figures` writes them to files, and
`inline.svg` gives one for a page. No figure decides by itself how paths, axes and bands look: `style` does.
"""

from __future__ import annotations

from .catalogue import drawings
from .drawing import Drawing, Picture
from .inline import svg
from .save import write_figures

__all__ = ["Drawing", "Picture", "drawings", "svg", "write_figures"]
