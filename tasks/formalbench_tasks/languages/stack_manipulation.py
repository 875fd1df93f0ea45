"""A stack that is pushed to and popped from, as a function and as a language.

No stack is kept: its height is a walk, and what was pushed is still there at the end if the
walk stays as high ever after.

Legend: B strings, N symbols or positions, M symbols of the longest answer, A strings to corrupt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Mask, Stream, Symbols, Transduction
from formalbench.contracts.specs import Splits
from formalbench.contracts.theory import Theory

from formalbench_tasks.index import task
from formalbench_tasks.languages.rearrangements import chosen
from formalbench_tasks.limits import check_length
from formalbench_tasks.membership import BUTOI, FREE, Membership
from formalbench_tasks.near_misses import behind, exchange_parts, exchange_two

POP, PUSH = 2, 3  # ids: 0 and 1 lie on the stack, then pop, push0, push1


@task(
    "stack-manipulation",
    "the contents of a stack after pushes and pops",
    objectives=("transduce",),
    reference="Delétang et al. (2023), appendix A",
    theory=Theory.least("context-free", "Delétang et al. (2023), Table 1"),
    keywords=("stack", "state tracking"),
)
class StackManipulation(Transduction):
    """The stack that is left, top first.

    A string is the stack to begin with, bottom first, and then what is done to it; ``pop`` of an
    empty stack does nothing. How many symbols the first stack has is uniform from 1 up to all but
    one, and all else is uniform. Strings without a first stack, or with nothing done, have answers
    as well, but are not drawn (but for the length 1: a stack of one symbol).

    Every answer ends with END: there is a blank for it, as its reference has it.
    Deterministic context-free in its reference's hierarchy.

    Reference: Delétang et al. (2023), appendix A, "stack manipulation".
    """

    alphabet = ("0", "1", "pop", "push0", "push1")
    outputs = ("0", "1")

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw stacks and what is done to them, (count, length)."""
        check_length(length)
        sizes_B1 = 1 + stream.integers(max(length - 1, 1), (count, 1))
        stacks_BN = stream.integers(2, (count, length))
        actions_BN = POP + stream.integers(3, (count, length))
        return np.where(np.arange(length) < sizes_B1, stacks_BN, actions_BN)

    def in_domain(self, strings_BN: Symbols) -> Mask:
        """Return where no symbol of the first stack comes after something was done, (B,)."""
        acts_BN = strings_BN >= POP
        inside: Mask = np.logical_and.reduce(acts_BN[:, :-1] <= acts_BN[:, 1:], axis=1)
        return inside

    def has_length(self, length: int) -> bool:
        """Return whether there is a first stack."""
        return length >= 1

    def transduce(self, strings_BN: Symbols) -> tuple[Symbols, Labels]:
        """Return what is left on the stacks, top first, (B, M), and how much."""
        pushes_BN = strings_BN != POP
        walk_BN = np.cumsum(np.where(pushes_BN, 1, -1), axis=1)
        # A walk that would fall below the floor is lifted by as much as it has fallen so far.
        lowest_BN = np.minimum(np.minimum.accumulate(walk_BN, axis=1), 0)
        heights_BN = walk_BN - lowest_BN
        ever_after_BN = np.minimum.accumulate(heights_BN[:, ::-1], axis=1)[:, ::-1]
        left_BN = pushes_BN & (ever_after_BN == heights_BN)
        pushed_BN = np.where(strings_BN >= PUSH, strings_BN - PUSH, strings_BN)
        return chosen(pushed_BN[:, ::-1], left_BN[:, ::-1])

    def answer_length(self, length: int) -> int:
        """Return one more than the stack can hold."""
        return length + 1

    def oracle(self, string: Sequence[int]) -> list[int]:
        """Keep a stack."""
        stack: list[int] = []
        for symbol in string:
            if self.alphabet[symbol] != "pop":
                stack.append(int(self.alphabet[symbol][-1]))
            elif stack:
                stack.pop()
        return stack[::-1]


PUSHED, POPPED, MARKER = 2, 3, 4


@task(
    "stack-manipulation-check",
    "are these the contents of a stack after pushes and pops?",
    splits=Splits(train=(3, 40)),
    reference=BUTOI,
    theory=FREE,
    keywords=("stack manipulation", "stack"),
)
class StackCheck(Membership):
    """A stack, bottom first, what is done to it, ``#``, and what is left, top first.

    ``push`` is followed by what it pushes; ``pop`` of an empty stack is not allowed. So
    ``0 1 pop push 1 # 1 0`` is in. A string has 2s + 3p + 1 symbols, s of the first stack and p
    pushes, for any pops.

    Members are not uniform: the number of pushes is uniform among those possible, bits are uniform,
    and whether to push or to pop is said by a coin, where there is anything to pop, until a push
    is one too many. Half of the non-members are members with two parts exchanged that begin alike
    and end alike, a quarter members with two different symbols of the answer exchanged.

    Reference: Butoi et al. (2025), appendix A, after Delétang et al. (2023).
    """

    alphabet = ("0", "1", "push", "pop", "#")

    def __init__(self) -> None:
        self.ways = (
            exchange_parts,
            lambda stream, strings: exchange_two(stream, strings, behind(strings, MARKER)),
        )

    def oracle(self, string: Sequence[int]) -> int:
        """Keep a stack."""
        words = [self.alphabet[symbol] for symbol in string]
        stack: list[str] = []
        while words and words[0] in ("0", "1"):
            stack.append(words.pop(0))
        while words and words[0] != "#":
            word = words.pop(0)
            if word == "push" and words and words[0] in ("0", "1"):
                stack.append(words.pop(0))
            elif word == "pop" and stack:
                stack.pop()
            else:
                return 0
        return int(words == ["#", *reversed(stack)])

    def classify(self, strings_BN: Symbols) -> Labels:
        """Return 1 for members and 0 for others, (B,)."""
        count, length = strings_BN.shape
        rows_B = np.arange(count)
        stacks_BN = np.zeros((count, length + 1), dtype=np.int64)  # the lowest symbol is at 1
        heights_B = np.zeros(count, dtype=np.int64)
        right_B = np.ones(count, dtype=np.bool_)
        acted_B, pushing_B, answering_B = (np.zeros(count, dtype=np.bool_) for _ in range(3))
        for symbols_B in strings_BN.T:
            bits_B, tops_B = symbols_B < PUSHED, stacks_BN[rows_B, heights_B]
            pops_B = symbols_B == POPPED
            # A bit belongs to the first stack, to a push or to the answer, an act to neither.
            right_B &= np.where(
                bits_B, pushing_B | answering_B | ~acted_B, ~pushing_B & ~answering_B
            )
            taken_B = pops_B | (bits_B & answering_B)
            right_B &= ~taken_B | (heights_B > 0)
            right_B &= ~(bits_B & answering_B) | (tops_B == symbols_B)
            put_B = bits_B & ~answering_B
            heights_B += put_B
            heights_B -= taken_B & (heights_B > 0)
            rows = np.flatnonzero(put_B)
            stacks_BN[rows, heights_B[rows]] = symbols_B[rows]
            acted_B |= ~bits_B
            pushing_B = symbols_B == PUSHED
            answering_B |= symbols_B == MARKER
        inside_B: Mask = right_B & answering_B & (heights_B == 0)
        return inside_B.astype(np.int64)

    def has_members(self, length: int) -> bool:
        """Return whether a marker, stacks of pairs and pushes of three fill the length."""
        return length >= 1 and length != 2

    def _members(self, stream: Stream, length: int, count: int) -> Symbols:
        odd = (length - 1) % 2
        pushes_B = odd + 2 * stream.integers(((length - 1) // 3 - odd) // 2 + 1, count)
        heights_B = (length - 1 - 3 * pushes_B) // 2
        return _written(stream, pushes_B, heights_B, length)


def _written(stream: Stream, pushes_B: Labels, heights_B: Labels, length: int) -> Symbols:
    """Write members: act until a push is one too many, then say what is left.

    Args:
        stream: where every number comes from.
        pushes_B: how many pushes each has.
        heights_B: the size of its first stack.
        length: N.
    """
    strings_BN = stream.integers(2, (len(pushes_B), length))
    stacks_BN = strings_BN.copy()
    left_B, heights_B, places_B = pushes_B.copy(), heights_B.copy(), heights_B.copy()
    active = np.arange(len(left_B))
    while active.size:
        heads_A = stream.integers(2, len(active)) == 1
        pushes_A = heads_A | (heights_B[active] == 0)
        going_A = ~pushes_A | (left_B[active] > 0)
        active, pushes_A = active[going_A], pushes_A[going_A]
        pop, push = active[~pushes_A], active[pushes_A]
        strings_BN[pop, places_B[pop]] = POPPED
        places_B[pop] += 1
        heights_B[pop] -= 1
        pushed = stream.integers(2, len(push))
        strings_BN[push, places_B[push]] = PUSHED
        strings_BN[push, places_B[push] + 1] = pushed
        stacks_BN[push, heights_B[push]] = pushed
        places_B[push] += 2
        heights_B[push] += 1
        left_B[push] -= 1
    rows_B1, from_BN = np.arange(len(strings_BN))[:, None], np.arange(length)
    # Behind the marker, the place n symbols from the end says the n-th symbol of the stack.
    left_BN = from_BN >= length - heights_B[:, None]
    stacked_BN = stacks_BN[rows_B1, np.broadcast_to(length - 1 - from_BN, left_BN.shape)]
    strings_BN[left_BN] = stacked_BN[left_BN]
    strings_BN[rows_B1[:, 0], places_B] = MARKER
    return strings_BN
