"""The figures of a report: each kind has a file of its own, and all have one style.

`drawings` says which figures a run has without drawing any. `save.write_figures` writes them to files, and
`inline.for_page` gives one for a page. `style` alone decides how paths, axes and bands look.

A figure gets a width, and no figure asks if that is wide or narrow. `panels` decides how many panels stand side by
side, `row_labels` where the labels of rows are, `style.legend` how close the entries of a legend are, and the layouts
of networks and headers in which direction they go: each by the room that there is.
"""

from __future__ import annotations

from . import own_settings as own_settings  # before the imports of matplotlib
from .catalogue import drawings
from .drawing import Drawing, Picture
from .inline import for_page, svg
from .save import write_figures
