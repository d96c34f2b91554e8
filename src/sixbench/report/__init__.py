"""Reports: tables, figures and pages from a run directory and its analysis.

A report is a pure function of the run: no root, no Linux, no agent, no network, no clock. Formats are one file each and
one line in `formats`; figures are in `figures`, words and tables that several formats share beside them. Nothing here
computes statistics: what is not in the `Analysis` is not in a report. May be called by `cli` and `ui`.

The slow libraries (matplotlib, jinja2) are imported when a format or figure that needs them is asked for.
"""

from .formats import FORMATS, Format, find_format, latex_for_paper, write_figures
from .selection import Selection
