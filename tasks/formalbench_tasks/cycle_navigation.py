"""Cycle navigation: where a walk on a cycle of five ends."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_tasks.automaton import from_table
from formalbench_tasks.regular import AutomatonFunction

CYCLE = 5


class CycleNavigation(AutomatonFunction):
    """The class is the sum of the steps -1 (``-``), 0 (``.``) and +1 (``+``), mod 5.

    Steps are uniform and independent.

    Reference: Delétang et al. (2023), appendix A.
    """

    def __init__(self) -> None:
        table = [[(at + step) % CYCLE for step in (-1, 0, 1)] for at in range(CYCLE)]
        super().__init__(("-", ".", "+"), from_table(table, range(CYCLE)), num_classes=CYCLE)

    def oracle(self, string: Sequence[int]) -> int:
        """Count the steps forward and back."""
        shown = [self.alphabet[symbol] for symbol in string]
        return (shown.count("+") - shown.count("-")) % CYCLE
