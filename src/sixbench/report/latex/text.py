"""Text for LaTeX: without any meaning as a command, and about how wide it is when set.

Characters of scripts that Latin fonts lack are written as their code point, since pdfLaTeX would stop at them.
"""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\`{}",
    "[": "{[}",
    "]": "{]}",
    "−": r"$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "↗": r"$\nearrow$",
    "↘": r"$\searrow$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "•": r"\textbullet{}",
    "°": r"$^{\circ}$",
    "\u00a0": "~",
}
_LATIN = 0x17F
"""Last letter of Latin Extended-A: what fonts have."""
_OGONEK = "\u0328"
_WITHOUT_ACCENT = "ßæøœÆØŒłŁı"
"""Letters beyond ASCII that every encoding of LaTeX has; it makes others from a letter and an accent."""

_EM = (
    ("!',.:;il[]|", 0.3),
    ("fj ", 0.36),
    ("()rtI-", 0.41),
    ("cesz?", 0.48),
    ('0123456789agovxykq/*"^~$_{}J', 0.56),
    ("bdhnpuSb", 0.59),
    ("ZLF", 0.7),
    ("EPBCTR", 0.78),
    ("wADHNUVXYGOKQ", 0.81),
    ("&+=@<>−±×≤≥≠≈", 0.83),
    ("m%#–µ", 0.89),
    ("MW→↗↘—…", 1.1),
)
"""Widths in ems of Computer Modern at 8 points, rounded up. The fonts of most papers are narrower."""
_EM_OF = {character: em for characters, em in _EM for character in characters}
_EM_OF_OTHERS = 0.65
_EM_OF_CODES = 3.7


def escape(text: str) -> str:
    """Text without any meaning as LaTeX, on one line."""
    return "".join(_character(character) for character in " ".join(unicodedata.normalize("NFC", text).split(" ")))


def comment(text: str) -> str:
    """Text for a comment: on one line."""
    return re.sub(r"\s+", " ", text)


def width_em(text: str) -> float:
    """About how wide the text is when set, in ems of its font; rather too wide than too narrow."""
    return sum(map(_width_em, text))


def _width_em(character: str) -> float:
    if ord(character) > 0x7E and character not in _ESCAPES and not _is_known(character):
        return _EM_OF_CODES
    return _EM_OF.get(character, _EM_OF_OTHERS)


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isspace() or unicodedata.category(character).startswith("C"):
        return " "
    if ord(character) > 0x7E and not _is_known(character):
        return rf"\texttt{{U+{ord(character):04X}}}"
    return character


def _is_known(character: str) -> bool:
    """True if LaTeX has the letter in its oldest encoding too."""
    if character in _WITHOUT_ACCENT:
        return True
    parts = unicodedata.decomposition(character).split()
    return len(parts) == 2 and 0xBF < ord(character) <= _LATIN and chr(int(parts[1], 16)) != _OGONEK
