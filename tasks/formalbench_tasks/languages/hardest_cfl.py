"""Greibach's hardest context-free language: brackets in pieces, each hidden among decoys.

Legend: B strings, N positions, M most blocks, W most real brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from formalbench.contracts.source import Labels, Stream, Symbols
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.dyck.brackets import dress, rising_share
from formalbench_tasks.index import task
from formalbench_tasks.membership import Membership

Ints = npt.NDArray[np.int64]

COMMA, BLOCK_END, DOLLAR = (
    4,
    5,
    6,
)  # ids; 0 to 3 are brackets, as in `formalbench_tasks.dyck.language`

SHORTEST = 4
"""Of a block: ``,$,;``."""

_SECTIONS = 6  # of a block: decoys, a comma, the real piece, a comma, decoys, its end


@task(
    "hardest-cfl",
    "Greibach's hardest context-free language: pieces of brackets, each hidden among decoys",
    splits=Splits(train=(4, 40)),
    reference="Greibach (1973); DuSell and Chiang (2020), section 5",
    theory=Theory(
        "context-free",
        c_rasp=False,
        c_rasp_last=False,
        note="Greibach (1973): every other one is an inverse image of it; complete for LOGCFL",
    ),
    keywords=("hardest context-free language", "nondeterministic", "brackets"),
)
class HardestContextFree(Membership):
    """Blocks of parts, of which one each, together, are a dollar and then balanced brackets.

    Every block ends with ``;`` and has three parts or more with commas between. One part of each,
    not the first nor the last, is real, and the real parts of all blocks are ``$`` and then a
    string of Dyck-2. So ``(,$([,;,,]),[;`` is in. So is the empty string.

    Every context-free language is the inverse image of this one under a homomorphism, but for
    the empty string; hence it is inherently ambiguous, and members are not drawn uniformly: the
    number of blocks is uniform up to a tenth of the length, real brackets are a third to two
    thirds of what is left when every block has two commas and its end, their string uniform and cut
    anywhere. Decoys are brackets and dollars, uniform, and every fourth a comma; they go to any
    block, before or behind what is real.

    Reference: Greibach (1973), "The hardest context-free language"; in the alphabet of DuSell &
        Chiang (2020), section 5.
    """

    alphabet = ("(", ")", "[", "]", ",", ";", "$")

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the grammar: nothing, or an open, balanced brackets, its close and more of them.

        Places are joined by brackets; those where blocks meet are joined by every part between.
        """
        text = "".join(self.alphabet[symbol] for symbol in string)
        if not text.endswith(";"):
            return int(text == "")
        edges: list[list[tuple[str, int]]] = [[]]
        place = 0  # where the last block ended
        for number, block in enumerate(text[:-1].split(";")):
            ends = []
            for part in block.split(",")[1:-1]:
                brackets = part[1:] if number == 0 else part
                if "$" in brackets or (number == 0 and not part.startswith("$")):
                    continue
                at = place
                for bracket in brackets:
                    edges.append([])
                    edges[at].append((bracket, len(edges) - 1))
                    at = len(edges) - 1
                ends.append(at)
            edges.append([])
            place = len(edges) - 1
            for end in ends:
                edges[end].append(("", place))
        reached: list[set[int]] = [set() for _ in edges]
        for at in reversed(range(len(edges))):
            reached[at].add(at)
            for bracket, target in edges[at]:
                if not bracket:
                    reached[at] |= reached[target]
                for inside in reached[target] if bracket in ("(", "[") else ():
                    for close, after in edges[inside]:
                        if bracket + close in ("()", "[]"):
                            reached[at] |= reached[after]
        return int(place in reached[0])

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        return np.array([_is_member(string) for string in strings_BN.tolist()], dtype=np.int64)

    def has_members(self, length: int) -> bool:
        """Return whether there is room for a block."""
        return length == 0 or length >= SHORTEST

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        if length == 0:
            return np.empty((count, 0), dtype=np.int64)
        blocks_B = 1 + stream.integers(max(length // 10, 1), count)
        room_B = length - 3 * blocks_B - 1
        least_B = room_B // 6
        pairs_B = least_B + stream.below(room_B // 3 - least_B + 1)
        symbols_BN, sections_BN = _decoys(stream, blocks_B, length)
        _put_real(stream, pairs_B, blocks_B, symbols_BN, sections_BN)
        _put_borders(pairs_B, blocks_B, symbols_BN, sections_BN)
        order_BN = np.argsort(sections_BN, axis=1, kind="stable")
        return np.take_along_axis(symbols_BN, order_BN, axis=1)


def _decoys(stream: Stream, blocks_B: Ints, length: int) -> tuple[Symbols, Ints]:
    """Draw decoys only, and where in their strings they go: block by block, section by section."""
    shape = (len(blocks_B), length)
    fillers_BN = np.array([0, 1, 2, 3, DOLLAR])[stream.integers(5, shape)]
    symbols_BN = np.where(stream.integers(4, shape) == 0, COMMA, fillers_BN)
    in_block_BN = stream.below(np.broadcast_to(blocks_B[:, None], shape))
    return symbols_BN, _SECTIONS * in_block_BN + 4 * stream.integers(2, shape)


def _put_real(
    stream: Stream, pairs_B: Ints, blocks_B: Ints, symbols_BN: Symbols, sections_BN: Ints
) -> None:
    """Put a dollar and balanced brackets in place of the first decoys, in pieces."""
    most_pairs, most_blocks = int(pairs_B.max(initial=0)), int(blocks_B.max(initial=1))
    real_BW = _balanced(stream, pairs_B, most_pairs)
    # The piece of a bracket is the number of cuts before it; those of blocks too many are behind.
    shape = (len(pairs_B), most_blocks - 1)
    cuts_BM = stream.below(np.broadcast_to(2 * pairs_B[:, None] + 1, shape))
    cuts_BM[np.arange(most_blocks - 1) >= blocks_B[:, None] - 1] = 2 * most_pairs
    width = 2 * most_pairs + 1
    flat = (np.arange(len(pairs_B))[:, None] * width + cuts_BM).reshape(-1)
    cuts_BW1 = np.bincount(flat, minlength=len(pairs_B) * width).reshape(-1, width)
    pieces_BW = np.cumsum(cuts_BW1, axis=1)[:, :-1]
    used_BW = np.arange(2 * most_pairs) < 2 * pairs_B[:, None]
    symbols_BN[:, 0], sections_BN[:, 0] = DOLLAR, 2
    symbols_BN[:, 1:width][used_BW] = real_BW[used_BW]
    sections_BN[:, 1:width][used_BW] = (_SECTIONS * pieces_BW + 2)[used_BW]


def _balanced(stream: Stream, pairs_B: Ints, most: int) -> Symbols:
    """Draw balanced strings with these numbers of pairs uniformly, padded with ``()``; (B, W)."""
    opens_WB = np.empty((2 * most, len(pairs_B)), dtype=np.bool_)
    depths_B = np.zeros(len(pairs_B), dtype=np.int64)
    for place in range(2 * most):
        left_B = np.maximum(2 * pairs_B - place, 1)
        share_B = np.where(2 * pairs_B > place, rising_share(depths_B, left_B), depths_B == 0)
        opens_WB[place] = stream.uniform(len(pairs_B)) < share_B
        depths_B += 2 * opens_WB[place] - 1
    types_BP = stream.integers(2, (len(pairs_B), most))
    return dress(np.ascontiguousarray(opens_WB.T), types_BP)


def _put_borders(pairs_B: Ints, blocks_B: Ints, symbols_BN: Symbols, sections_BN: Ints) -> None:
    """Put the commas around what is real and the ends of blocks in place of the next decoys."""
    for section, symbol in ((1, COMMA), (3, COMMA), (5, BLOCK_END)):
        for block in range(int(blocks_B.max(initial=0))):
            rows = np.flatnonzero(blocks_B > block)
            places = 2 * pairs_B[rows] + 1 + 3 * block + section // 2
            symbols_BN[rows, places] = symbol
            sections_BN[rows, places] = _SECTIONS * block + section


def _is_member(string: list[int]) -> bool:
    """Keep all stacks that there can be at once, as a graph.

    The nodes of the graph are opened brackets, and under each there are some others: those of
    a bit mask. Bit 0 is the floor.
    """
    if not string or string[-1] != BLOCK_END:
        return not string
    under, of_type = [0], [0, 0]
    tops, first_block = 1, True  # `tops` is the mask of what may be on top
    first, last = 0, len(string) - 1
    while first <= last:
        end = string.index(BLOCK_END, first)
        new_tops = 0
        commas = [at for at in range(first, end) if string[at] == COMMA]
        for before, behind in pairwise(commas):
            begin = before + 1
            if first_block:
                if string[begin] != DOLLAR:
                    continue
                begin += 1
            new_tops |= _after(string[begin:behind], tops, under, of_type)
        tops, first_block, first = new_tops, False, end + 1
    return bool(tops & 1)


def _after(part: list[int], tops: int, under: list[int], of_type: list[int]) -> int:
    """Return the mask of what may be on top after a part; 0 if no stack allows it."""
    for symbol in part:
        if symbol == DOLLAR or not tops:
            return 0
        kind, closes = divmod(symbol, 2)
        if not closes:
            under.append(tops)
            tops = 1 << (len(under) - 1)
            of_type[kind] |= tops
            continue
        closed, tops = tops & of_type[kind], 0
        while closed:
            lowest = closed & -closed
            tops |= under[lowest.bit_length() - 1]
            closed ^= lowest
    return tops
