"""Names that become parts of commands and of files, and the characters that they may have.

The same rules hold wherever a name comes from, an experiment file or a run directory: whoever makes a node, a link or
a path with another name gets a `ValueError`.
"""

from __future__ import annotations

import re

from .quoting import visible

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
NAME_RULE = "a name is 1 to 40 of A-Z, a-z, 0-9, dot, dash and underscore, and starts with a letter or digit"

LINK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
"""A link is called after its two ends unless it has a name."""
LINK_NAME_RULE = NAME_RULE.replace("1 to 40", "1 to 81")

ANY_LINK_NAME = re.compile(rf"([a-z0-9-]+:)?{LINK_NAME.pattern}")
"""A tunnel is called after its mechanism and its ends, such as `6in4:r1-r2`."""

PATH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,149}")
"""An A/A path adds to the name of the path that it repeats. With block and combination it names a trial's directory."""

DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
"""Linux keeps the name of an interface in 16 bytes (IFNAMSIZ)."""

_PORT = "(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
"""1 to 65535."""

_SSH_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,252}"
SSH_DESTINATION = re.compile(rf"(?:{_SSH_NAME}@)?(?:\[[0-9A-Fa-f:.]+\]|{_SSH_NAME})(?::{_PORT})?")
"""Destination of ssh(1): a name or an address (IPv6 in brackets), perhaps with a user before it and a port behind
it."""

SSH_RULE = "as ssh takes it, such as user@lab1.example, or lab1:2222 with a port from 1 to 65535"

SYSCTL = re.compile(r"net([./][A-Za-z0-9_-]+)+")


def require(pattern: re.Pattern[str], value: str, what: str) -> None:
    """Raises `ValueError` unless the whole value matches the pattern. `what` says what it would name."""
    if not pattern.fullmatch(value):
        raise ValueError(f'"{visible(value)}" cannot name {what}')


def require_line(value: str, what: str) -> None:
    """Raises `ValueError` unless the value is text on one line."""
    if not value.isprintable():
        raise ValueError(f'"{visible(value)}" is not text on one line, as {what} must be')
