"""Language classes, from the smallest to the largest.

====================  ======================================================================
``finite``            finitely many strings
``r-trivial``         the minimal automaton never comes back to a state that it has left
``c-rasp``            what C-RASP defines, if it answers at an end marker behind the string
``c-rasp-last``       what C-RASP defines, if it answers at the last symbol
``star-free``         first-order definable; no group in the transition monoid (aperiodic)
``solvable``          only solvable groups in it
``regular``           a finite automaton recognises it
``counter``           no finite automaton does, but a finite number of counters do, in real time
``context-free``      a grammar generates it
``context-sensitive`` none of these
====================  ======================================================================

Among regular languages each of the first seven classes is a subset of the next. Some counter
languages are context-free, and all are context-sensitive. C-RASP also defines some non-regular
languages, such as a^n b^n; for these, no smaller class is implied. A function with more than two
classes is in a class if the strings of each of its classes are (for ``finite``: each except class
0).

C-RASP is what a counting transformer without positions computes. If it answers at the last symbol,
it knows that symbol and needs to count only the symbols before it: a language is in ``c-rasp-last``
if, for every symbol a, {u : ua in it} is in ``c-rasp``. So every language in ``c-rasp`` is in
``c-rasp-last``, which also has "ends in b".

References: Yang, Veseli et al. (2026), arXiv:2608.13433, for R-trivial ⊊ C-RASP ⊊ star-free among
    regular languages; Schützenberger (1965), "On finite monoids having only trivial subgroups";
    Barrington and Thérien (1988), "Finite monoids and the fine structure of NC¹".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["regular", "counter", "context-free", "context-sensitive"]

LEVELS: tuple[Level, ...] = ("regular", "counter", "context-free", "context-sensitive")
WITHIN_REGULAR = ("finite", "r-trivial", "c-rasp", "c-rasp-last", "star-free", "solvable")
BOTH_C_RASP = ("c-rasp", "c-rasp-last")
AC0 = "ac0"
"""Between star-free and solvable, for theorems; no table has it."""

CLASSES = (*WITHIN_REGULAR, *LEVELS)


@dataclass(frozen=True, slots=True)
class Theory:
    """Membership of a language in each class: True, False, or None if unknown.

    Attributes:
        level: level of the Chomsky hierarchy, with counter languages.
        finite: whether it is finite.
        r_trivial: whether its syntactic monoid is R-trivial.
        c_rasp: whether C-RASP defines it, with the answer at an end marker.
        c_rasp_last: whether C-RASP defines it, with the answer at the last symbol. It follows where
            `c_rasp` is True or `star_free` is False.
        star_free: whether its syntactic monoid is aperiodic.
        ac0: whether a regular language is in AC⁰. It follows where `star_free` is True or
            `solvable` is False.
        solvable: whether all groups in its syntactic monoid are solvable.
        context_free: whether a grammar generates it; only for counter languages, because the level
            of others implies it.
        note: why something is unknown, or where it is proved.
    """

    level: Level
    finite: bool | None = None
    r_trivial: bool | None = None
    c_rasp: bool | None = None
    c_rasp_last: bool | None = None
    star_free: bool | None = None
    solvable: bool | None = None
    ac0: bool | None = None
    context_free: bool | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ValueError(f"level {self.level!r} is none of {', '.join(LEVELS)}")
        if self.c_rasp_last is None and (self.c_rasp or self.star_free is False):
            object.__setattr__(self, "c_rasp_last", bool(self.c_rasp))
        if self.ac0 is None and (self.star_free or self.solvable is False):
            object.__setattr__(self, "ac0", bool(self.star_free))
        known = {name: value for name in WITHIN_REGULAR if (value := self.within(name)) is not None}
        values = list(known.values())
        if values != sorted(values) or (self.level != "regular" and known.keys() - {*BOTH_C_RASP}):
            raise ValueError(
                "the classes of a language are inconsistent: each includes the smaller ones"
            )
        if self.level != "counter":
            follows = self.level != "context-sensitive"
            if self.context_free is (not follows):
                raise ValueError(f"context_free is {follows} of a {self.level} language")
            object.__setattr__(self, "context_free", follows)

    @classmethod
    def least(cls, name: str, note: str = "") -> Theory:
        """Return what is known of a language by the smallest class of `CLASSES` that it is in.

        Whether C-RASP defines one that is not regular is left open.
        """
        for level in LEVELS[1:]:
            if name == level:
                return cls(level, note=note)
        place = CLASSES.index(name)
        inside = {other.replace("-", "_"): i >= place for i, other in enumerate(WITHIN_REGULAR)}
        return cls("regular", note=note, **inside)

    def within(self, name: str) -> bool | None:
        """Return whether the language is in a class of `CLASSES`, or in AC⁰; None if unknown.

        Regular languages are in all levels, but count only for the first one, so that a level
        selects the languages beyond it.
        """
        if name in (*WITHIN_REGULAR, AC0):
            value: bool | None = getattr(self, name.replace("-", "_"))
            return value
        if self.level == "regular" or name == "regular":
            return self.level == name
        if name == "context-free":
            return self.context_free
        return name == "context-sensitive" or self.level == name

    def is_open(self, name: str) -> bool:
        """Return whether membership in a class of `CLASSES` is unknown."""
        beyond = self.level != "regular" and name in WITHIN_REGULAR and name not in BOTH_C_RASP
        return self.within(name) is None and not beyond

    @property
    def finest(self) -> str:
        """The smallest known class of a regular language; for others, the level."""
        if self.level != "regular":
            return self.level
        return next(name for name in CLASSES if self.within(name))

    @property
    def label(self) -> str:
        """The smallest class as text, with a note if a smaller one is not ruled out."""
        if self.level == "regular" and any(map(self.is_open, WITHIN_REGULAR)):
            return f"{self.finest} or smaller"
        return self.finest

    @property
    def line(self) -> str:
        """The classes that the language is known to be in, and not to be in, as a line of text."""
        parts = [self.label]
        if self.level == "regular":
            for answer, word in ((False, "none of"), (None, "unknown whether")):
                if names := [name for name in WITHIN_REGULAR if self.within(name) is answer]:
                    word = "not" if word == "none of" and len(names) == 1 else word
                    parts.append(f"{word} {', '.join(names)}")
        elif self.c_rasp is not None:
            parts.append("in C-RASP" if self.c_rasp else "not in C-RASP")
            if not self.c_rasp and self.c_rasp_last:
                parts.append("in C-RASP at the last symbol")
        if self.level == "counter" and self.context_free is not None:
            parts.append("context-free" if self.context_free else "not context-free")
        return "; ".join(parts) + (f" ({self.note})" if self.note else "")
