"""Engines, which execute mechanisms: each makes devices in its own way. Pure.

One module an engine, and this list. A mechanism may bring an engine of its own, which is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .agent import EBPF, USER
from .engine import Engine
from .kernel import KERNEL

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (KERNEL, EBPF, USER)}
"""The engines that several mechanisms share, by name."""
