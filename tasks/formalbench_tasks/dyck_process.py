"""What generates bracket strings of any length: the process of Hewitt et al. and its windows.

At depth 0 it opens (each type with probability 1/(2k)) or ends (1/2); between, it opens (each
type 1/(2k)) or closes the innermost bracket (1/2); at the greatest depth it closes.

Reference: Hewitt et al. (2020), "RNNs can generate bounded hierarchical languages with optimal
    memory", section 6; Yao et al. (2021), appendix D.1, Table 1.

Legend: B strings, N positions, T symbols of all strings.
"""

from __future__ import annotations

import numpy as np
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Labels, Mask, Probabilities, Strings
from formalbench.contracts.stream import Stream

from formalbench_tasks.limits import check_length
from formalbench_tasks.stack import dress

Window = tuple[int, int]
"""The least and the greatest length, END included."""

PUBLISHED = {3: 84, 5: 180, 10: 700, 15: 1620}
"""The greatest training length by depth, END included (Yao et al., Table 1)."""

TOGETHER = 4096
"""Strings that are drawn at once; the corpus depends on it."""


def windows(depth: int) -> tuple[Window, Window]:
    """Return the windows of training and of test lengths for a greatest depth.

    Those of the papers for depths 3, 5, 10 and 15. They grow with the square of the depth, as
    the time does that a walk takes to see all depths; so the others are ours: 7·depth², at least
    40 and at most what depth 15 has. Test strings are longer, and up to twice as long.
    """
    most = max(PUBLISHED.values())
    longest = PUBLISHED.get(depth, min(max(7 * depth * depth, 40), most))
    return (1, longest), (longest + 1, 2 * longest)


def length_distribution(deepest: int | None, longest: int) -> Probabilities:
    """Return the probability of each length from 0, END not counted, (longest + 1,).

    They fall off exponentially if the depth is bounded, with N^(-3/2) if it is not.
    """
    check_length(longest)
    # Without a bound as with one that cannot be reached.
    top = longest // 2 + 1 if deepest is None else min(deepest, longest // 2 + 1)
    at_D, shares = np.zeros(top + 1), np.zeros(longest + 1)
    at_D[0] = 1.0
    for length in range(longest + 1):
        shares[length] = at_D[0] / 2
        half_D = at_D / 2
        before_D, at_D = at_D, np.zeros(top + 1)
        at_D[1:] = half_D[:-1]
        at_D[: top - 1] += half_D[1:top]
        at_D[top - 1] += before_D[top]  # at the greatest depth there is nothing else to do
    return shares


def draw_corpus(
    stream: Stream, types: int, deepest: int | None, window: Window, tokens: int
) -> Strings:
    """Draw strings one after another until they have so many tokens, END included.

    Before the least length the process is not let end: it draws again, and so opens. A string
    that has not ended by the greatest length is dropped.

    Args:
        stream: where every number comes from.
        types: how many types of brackets there are.
        deepest: the greatest depth; None for no bound.
        window: of lengths, END included.
        tokens: the last string completes this number.

    Raises:
        RequestError: for a window that no string fits into, or no tokens.
    """
    shortest, longest = window
    check_length(longest)
    fits = 1 <= shortest <= longest and (shortest < longest or shortest % 2 == 1)
    if not fits:  # with END, lengths are odd
        raise RequestError(f"no bracket string has {shortest} to {longest} symbols with its end")
    if tokens < 1:
        raise RequestError(f"{tokens} tokens: ask for at least 1")
    parts, missing = [], tokens
    while missing > 0:
        opens_T, lengths_B = _draw_shapes(stream, deepest, window)
        enough = int(np.searchsorted(np.cumsum(lengths_B + 1), missing)) + 1
        lengths_B = lengths_B[:enough]
        opens_1T = opens_T[None, : int(lengths_B.sum())]
        # Balanced strings after one another are one balanced string.
        symbols_1T = dress(opens_1T, stream.integers(types, (1, opens_1T.shape[1] // 2)))
        parts.append(Strings(symbols_1T[0], lengths_B))
        missing -= int((lengths_B + 1).sum())
    return Strings(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _draw_shapes(stream: Stream, deepest: int | None, window: Window) -> tuple[Mask, Labels]:
    """Draw `TOGETHER` shapes; return those that fit: where they open, (T,), and lengths, (B,)."""
    shortest, longest = window
    opens_NB = np.zeros((longest, TOGETHER), dtype=np.bool_)
    lengths_B = np.full(TOGETHER, -1, dtype=np.int64)
    going = np.arange(TOGETHER)
    depths_G = np.zeros(TOGETHER, dtype=np.int64)
    for position in range(longest):
        heads_G = stream.integers(2, len(going)) == 1
        if position + 1 >= shortest:
            ends_G = heads_G & (depths_G == 0)
            lengths_B[going[ends_G]] = position
            going, depths_G, heads_G = going[~ends_G], depths_G[~ends_G], heads_G[~ends_G]
        opens_G = heads_G | (depths_G == 0)
        if deepest is not None:
            opens_G &= depths_G < deepest
        opens_NB[position, going] = opens_G
        depths_G += 2 * opens_G - 1
        # Who cannot come back in time is dropped, and so are all at the last position.
        back_G = depths_G < longest - position - 1
        going, depths_G = going[back_G], depths_G[back_G]
        if not len(going):
            break
    inside_BN = np.arange(longest) < lengths_B[:, None]
    return opens_NB.T[inside_BN], lengths_B[lengths_B >= 0]
