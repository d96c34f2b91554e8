r"""The report as LaTeX, to `\input` into a paper of one or two columns: a table for each workload, and the figures.

`document` says what there is, in order; `workload_table` makes the table of a workload; `floats` lays any table out so
that it fits its column or page; `figures` includes the figures; `text` escapes and measures. It compiles with pdfLaTeX,
XeLaTeX and LuaLaTeX from TeX Live 2020 on, with packages that every paper has: array, booktabs, graphicx.
"""

from .document import render, render_table
from .figures import Included
