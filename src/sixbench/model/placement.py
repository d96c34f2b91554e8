"""Placement of the nodes of a path: the policies."""

from __future__ import annotations

from typing import Literal, get_args

Placement = Literal["together", "apart", "free"]
"""`together`: all nodes on one processor, where no message has to wake another one. `apart`: the server on a processor
of its own. `free`: wherever the kernel's scheduler puts them."""

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
