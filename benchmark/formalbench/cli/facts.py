"""What ``show`` found, printed for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from formalbench.contracts.specs import show_value
from formalbench.contracts.theory import WITHIN_REGULAR, Theory
from formalbench.ui.output import console, print_table

MOST = 40
"""As many symbols or answers are shown of each thing; ``--json`` has all."""


def print_facts(facts: dict[str, Any]) -> None:
    """Print facts, a line each, then options as a table, theorems and examples."""
    options = facts.pop("options", None)
    theorems = facts.pop("theorems", None)
    examples = facts.pop("examples", None)
    screen = console()
    width = max(map(len, facts))
    for key, value in facts.items():
        if key == "traits":
            value = _that_matter(value)
        if key == "theory":
            value = _classes(value)
        if key == "alphabet":
            value = _beginning(value)
        if value not in ("", None, {}):
            screen.print(f"{key.replace('_', ' '):<{width}}  {_text(value)}", markup=False)
    if options:
        columns = ("option", "default", "allowed", "meaning")
        rows = [
            (key, show_value(option["default"]), _allowed(option), option["help"])
            for key, option in options.items()
        ]
        print_table(columns, rows)
    for theorem in theorems or ():
        screen.print(f"theorem  {_theorem(theorem)}", markup=False)
    for row in examples or ():
        string = _beginning(row["string"]) or "(empty)"
        screen.print(f"example  {string}  ->  {_beginning(row['target'])}", markup=False)


def _classes(theory: Mapping[str, Any] | None) -> str:
    """Return what theory says of a task in a line, the smallest class first."""
    if theory is None:
        return ""
    parts = [Theory(**{key: theory[key] for key in theory if key != "class"}).label]
    if theory["level"] == "regular":
        known = {name: theory[name.replace("-", "_")] for name in WITHIN_REGULAR}
        for answer, word in ((False, "not"), (None, "unknown whether")):
            if names := [name for name, value in known.items() if value is answer]:
                parts.append(f"{word} {', '.join(names)}")
    elif theory["c_rasp"] is not None:
        parts.append("in C-RASP" if theory["c_rasp"] else "not in C-RASP")
        if not theory["c_rasp"] and theory["c_rasp_last"]:
            parts.append("in C-RASP at the last symbol")
    if theory["level"] == "counter" and theory["context_free"] is not None:
        parts.append("context-free" if theory["context_free"] else "not context-free")
    line = "; ".join(parts)
    return f"{line} ({theory['note']})" if theory["note"] else line


def _theorem(theorem: Mapping[str, Any]) -> str:
    """Return in a line what a theorem says of a task, or else what classes it speaks of."""
    classes = {"exactly": "exactly", "at_least": "at least", "at_most": "at most"}
    said = ", ".join(f"{word} {theorem[key]}" for key, word in classes.items() if key in theorem)
    if "languages" in theorem:
        said = f"{theorem['says']} {', '.join(theorem['languages'])}"
    said = theorem.get("statement", said)
    kind = " + ".join(theorem["mechanisms"])
    if without := theorem.get("without"):
        kind += f", without {' + '.join(without)}"
    if eigenvalues := theorem.get("eigenvalues"):
        kind += f", eigenvalues {eigenvalues}"
    said = theorem.get("verdict", said)
    if size := theorem.get("size"):
        said += " at " + ", ".join(f"{name} {number}" for name, number in size.items())
    evidence = "" if theorem["evidence"] == "theorem" else f"{theorem['evidence']}: "
    return f"{kind}: {said} ({evidence}{theorem['conditions']}; {theorem['source']})"


def _that_matter(traits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traits that are worth a word: not those that nearly all networks have."""
    usual = {"encoder_decoder": False, "vmap": True, "lengths": [0, None]}
    empty: tuple[Any, ...] = ("", None, {}, [])
    plain = {key: value for key, value in traits.items() if key not in ("notes", "constants")}
    return {
        key: value
        for key, value in {**plain, **traits["constants"], **traits["notes"]}.items()
        if value not in empty and usual.get(key) != value
    }


def _allowed(option: Mapping[str, Any]) -> str:
    if option["choices"]:
        return " | ".join(show_value(choice) for choice in option["choices"])
    if isinstance(option["default"], bool):
        return "true | false"
    low, high = option["minimum"], option["maximum"]
    ends = ["" if end is None else f"{end:g}" for end in (low, high)]
    return "…".join(ends) if any(ends) else ""


def _beginning(value: Any) -> str:
    """Return symbols or answers as text, of many only the first, and how many there are."""
    if not isinstance(value, dict | list | tuple) or len(value) <= MOST:
        return _text(value)
    first = dict(list(value.items())[:MOST]) if isinstance(value, dict) else value[:MOST]
    return f"{_text(first)} … ({len(value):,} in all)"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_text(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list | tuple):
            return " ".join(",".join(map(str, inner)) or "!" for inner in value)
        return " ".join(_text(inner) for inner in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
