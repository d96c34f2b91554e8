"""Numbers as LEB128 in Base64, as the agent's parameters carry lists of them."""

from __future__ import annotations

import base64
from collections.abc import Iterable


def encode(numbers: Iterable[int]) -> str:
    """The text for the agent, of numbers that are not negative."""
    encoded = bytearray()
    for number in numbers:
        left = number
        while left >= 0x80:
            encoded.append(left & 0x7F | 0x80)
            left >>= 7
        encoded.append(left)
    return base64.b64encode(encoded).decode("ascii")
