"""Stack manipulation: what a stack holds after it was pushed to and popped from.

No stack is kept: its height is a walk, and what was pushed is still there at the end if the
walk stays as high ever after.

Legend: B strings, N symbols, M symbols of the longest answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from formalbench.contracts.source import Labels, Mask, Symbols, Transduction
from formalbench.contracts.stream import Stream

from formalbench_tasks.functions.chosen import chosen
from formalbench_tasks.limits import check_length

POP, PUSH = 2, 3  # ids: 0 and 1 lie on the stack, then pop, push0, push1


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
        """Say where no symbol of the first stack comes after something was done, (B,)."""
        acts_BN = strings_BN >= POP
        inside: Mask = np.logical_and.reduce(acts_BN[:, :-1] <= acts_BN[:, 1:], axis=1)
        return inside

    def has_length(self, length: int) -> bool:
        """Say whether there is a first stack."""
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
        held_BN = np.where(strings_BN >= PUSH, strings_BN - PUSH, strings_BN)
        return chosen(held_BN[:, ::-1], left_BN[:, ::-1])

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
