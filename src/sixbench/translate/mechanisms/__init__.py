"""The mechanisms of `sixbench translate`: a file each, and this list, in the order of the help.

A file has the options of its mechanism, the first line for the agent, and which device an engine has of it. An option
that experiments have too is made of their parameter, so that its name, bounds, text and default are declared once.
"""

from __future__ import annotations

from .configured import FOUR_IN_SIX, GRE, SIX_IN_FOUR
from .lw4o6 import LW4O6
from .mape import MAP_E
from .mapt import MAP_T
from .nat64 import NAT64
from .siit import SIIT
from .siitdc import SIIT_DC
from .sixrd import SIX_RD
from .sixtofour import SIX_TO_FOUR
from .xlat import FOUR_SIX_FOUR_XLAT

PACKET_MECHANISMS = (
    *(SIX_IN_FOUR, SIX_TO_FOUR, SIX_RD, FOUR_IN_SIX, MAP_E, GRE),
    *(SIIT, MAP_T, LW4O6, SIIT_DC, NAT64, FOUR_SIX_FOUR_XLAT),
)
