"""The classes of a regular language, worked out from its minimal automaton.

Finite, R-trivial, C-RASP and C-RASP-last are decided in polynomial time. Whether a language is
star-free is a PSPACE-complete question (Cho and Huynh 1991): it is asked of C-RASP, of pairs of
states, and of the images of all states, up to the bounds in `formalbench.theory.pairs` and
`formalbench.theory.images`. Beyond them the answer is None, and a note says so.

Legend: Q states, S symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.theory import Theory
from formalbench.theory.components import Ints, components
from formalbench.theory.counting import in_c_rasp, in_c_rasp_last, is_r_trivial
from formalbench.theory.groups import ENOUGH, is_solvable_group
from formalbench.theory.images import Images, images
from formalbench.theory.pairs import counts_by_pairs

if TYPE_CHECKING:
    from formalbench.contracts.language import MinimalAutomaton

TOO_LARGE = "the transition monoid is too large to tell"


def classes_of(automaton: MinimalAutomaton) -> Theory:
    """Work out the classes of the language of an automaton.

    Args:
        automaton: complete, deterministic and minimal.
    """
    table_QS = np.asarray(automaton.transitions, dtype=np.int64)
    class_Q, label_Q = np.asarray(automaton.classes), components(table_QS)
    c_rasp = in_c_rasp(table_QS, label_Q)
    counts = False if c_rasp else counts_by_pairs(table_QS, label_Q)
    last = c_rasp or (not counts and in_c_rasp_last(table_QS, class_Q))
    facts: dict[str, Any] = {
        "finite": _is_finite(table_QS, label_Q, class_Q),
        "r_trivial": is_r_trivial(label_Q),
        "c_rasp": c_rasp,
        "c_rasp_last": last,
    }
    if last or counts is False:
        return Theory("regular", **facts, star_free=True, solvable=True)
    found = images(table_QS)
    star_free = _is_star_free(found, counts)
    solvable = star_free or _is_solvable(found, label_Q)
    note = TOO_LARGE if star_free is None or solvable is None else ""
    return Theory("regular", **facts, star_free=star_free, solvable=solvable, note=note)


def _is_star_free(found: Images, counts: bool | None) -> bool | None:
    if counts or any(found.groups()):
        return False
    return True if found.complete else None


def _is_solvable(found: Images, label_Q: Ints) -> bool | None:
    if np.bincount(label_Q).max() < ENOUGH:
        return True  # a group moves states within components
    answers = set(map(is_solvable_group, found.groups()))
    if False in answers:
        return False
    return True if found.complete and None not in answers else None


def _is_finite(table_QS: Ints, label_Q: Ints, class_Q: Ints) -> bool:
    """Say whether finitely many strings have a class other than 0."""
    reaches_Q = class_Q != 0
    while True:
        grown_Q = reaches_Q | reaches_Q[table_QS].any(axis=1)
        if np.array_equal(grown_Q, reaches_Q):
            break
        reaches_Q = grown_Q
    circles_Q = (label_Q[table_QS] == label_Q[:, None]).any(axis=1)
    return not (circles_Q & reaches_Q).any()
