"""Sanitise untrusted text and format numbers, in the same way for every renderer of a board.

Names, commands and hardware lines come from untrusted records. Two steps make them safe: `harmless`
removes characters that no name needs (control characters, marks that change the reading direction),
and each renderer escapes the special characters of its format.
"""

from __future__ import annotations

import re
import unicodedata

MISSING = "–"

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_ALLOWED_CATEGORIES = frozenset("LMNPS")

_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})

_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {sign: f"&#{ord(sign)};" for sign in "|\\`*_[]~$#"}
)

_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\textasciitilde{}"}
    | {"<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\textbar{}"}
    | {"`": r"\textasciigrave{}", "−": "$-$", "≥": r"$\geq$", "…": "--", "–": "--"}
)

_FORMULA_STARTS = ("=", "+", "-", "@")

_TOO_MANY = 10**15

LONGEST = 48
"""Maximum number of characters of a name in a figure."""


def harmless(text: str) -> str:
    """Return one line without control, invisible or right-to-left characters.

    Any white space becomes one space. Every other removed character becomes a replacement
    character, so that two different names rarely look the same.
    """
    spaced = " ".join(text.split())
    return "".join(sign if _is_harmless(sign) else _REPLACEMENT for sign in spaced)


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return harmless text, cut off if it has more characters than `longest`."""
    clean = harmless(text)
    return clean if len(clean) <= longest else f"{clean[: longest - 1]}…"


def printable(text: str) -> str:
    """Return text to copy, with its spaces but without terminal control characters."""
    return "".join(sign if sign.isprintable() else _REPLACEMENT for sign in text)


def _is_harmless(sign: str) -> bool:
    return sign == " " or (
        unicodedata.category(sign)[0] in _ALLOWED_CATEGORIES
        and unicodedata.bidirectional(sign) not in _RIGHT_TO_LEFT
    )


def markdown(text: str) -> str:
    """Escape text for Markdown, including table cells."""
    escaped = harmless(text).translate(_MARKDOWN)
    # GitHub turns bare addresses into links; a name should not be one.
    escaped = escaped.replace("://", "&#58;//")
    return re.sub(r"(?i)\b(www)\.", r"\1&#46;", escaped)


def latex(text: str) -> str:
    """Escape text for LaTeX."""
    return harmless(text).translate(_LATEX)


def spreadsheet(text: str) -> str:
    """Return text that a spreadsheet does not interpret as a formula."""
    clean = harmless(text)
    return f"'{clean}" if clean.startswith(_FORMULA_STARTS) else clean


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share in percent: ``0.5`` is ``50.0``; None is a dash."""
    if share is None:
        return MISSING
    text = f"{100.0 * share:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0.0 else text


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of shares in percent, such as ``97.5 … 100.0``."""
    if low is None or high is None:
        return MISSING
    return f"{percent(low)} … {percent(high)}"


def ranks(low: int | None, high: int | None) -> str:
    """Return an interval of ranks: ``3``, ``1–4``."""
    if low is None or high is None:
        return MISSING
    return str(low) if low == high else f"{low}–{high}"


def rate(learning_rate: float | None) -> str:
    """Return a learning rate, such as ``0.0003``; None (an exact model) is a dash."""
    return MISSING if learning_rate is None else f"{learning_rate:g}"


def count(low: int, high: int) -> str:
    """Return a number of parameters, or its range over tasks, such as ``12.3 k``."""
    ends = (_short(low), _short(high))
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} … {ends[1]}"


def grouped(number: int) -> str:
    """Return an integer with thousands separators, such as ``4,096``."""
    return f"{number:,}" if number < _TOO_MANY else "over 10^15"


def plural(times: int, noun: str) -> str:
    """Return a count with its noun, such as ``1 record`` and ``2 records``."""
    return f"{times} {noun}{'' if times == 1 else 's'}"


def _short(number: int) -> str:
    if number < 10_000:
        return str(number)
    if number >= _TOO_MANY:  # no model has that many; a division could overflow
        return "over 10^15"
    return f"{number / 1e6:.2f} M" if number >= 999_950 else f"{number / 1e3:.1f} k"
