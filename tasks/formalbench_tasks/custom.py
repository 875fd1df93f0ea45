"""Regular languages that somebody defined in a YAML file, by how strings are drawn of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from formalbench.contracts.language import balanced
from formalbench.contracts.source import Labels, Symbols
from formalbench.contracts.stream import Stream

from formalbench_tasks.definition import Definition
from formalbench_tasks.regular import RegularLanguage
from formalbench_tasks.runs import LongRuns
from formalbench_tasks.spoilt import ORDER, Spoilt


class UniformLanguage(RegularLanguage):
    """The language of a regular expression or an automaton, uniform within each class.

    Args:
        definition: what the file says.
    """

    hard_negatives = False

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.alphabet, definition.build())
        self.definition = definition

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the definition as it was written, without the minimal automaton."""
        return int(self.definition.contains(string))


class EditedLanguage(UniformLanguage):
    """The same with uniform members; half of the non-members are edited members, half uniform."""

    hard_negatives = True


class CustomLanguage(UniformLanguage):
    """The same with non-members that are mostly near misses.

    Members are uniform. Of the non-members half are members with two parts exchanged that begin
    alike and end alike, so that the symbols, the ends and all pairs of neighbours stay
    (`formalbench_tasks.rearranged`); a quarter are members with what is between the ends in
    another order, an eighth members after a few random edits, an eighth uniform. Where one way
    of rearranging leads to members only, the other is tried, and then half are edited and half
    uniform. Any change to this is a new number in `formalbench_tasks.yaml_task.SAMPLERS`.
    """

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        if not self._mixed(length):
            return super().sample(stream, length, count)
        inside_B = balanced(stream, count) == 1
        strings_BN = np.empty((count, length), dtype=np.int64)
        strings_BN[inside_B] = self.sample_members(stream, length, int(inside_B.sum()))
        strings_BN[~inside_B] = self._spoilt.draw(stream, length, int((~inside_B).sum()))
        return strings_BN

    @cached_property
    def _spoilt(self) -> Spoilt:
        return Spoilt(
            members=self.sample_members,
            is_member=lambda strings: self.classify(strings) == 1,
            edited=self._edited,
            uniform=self._uniform,
            ways=ORDER if self._order_counts else (),
        )

    def _uniform(self, stream: Stream, length: int, count: int) -> Symbols:
        return self.automaton.paths.sample(stream, length, np.zeros(count, dtype=np.int64))

    @cached_property
    def _order_counts(self) -> bool:
        """Whether any two symbols after the first one may lead elsewhere in another order."""
        table_QS: Labels = self.automaton.transitions
        two_QSS = table_QS[table_QS[np.unique(table_QS)]]  # from states that some symbol leads to
        return not np.array_equal(two_QSS, two_QSS.transpose(0, 2, 1))


class LongRunsLanguage(UniformLanguage):
    """The same with runs of equal symbols that are short in some strings and long in others.

    Non-members are members in which the border between two runs was moved by a symbol, where there
    are such (`formalbench_tasks.runs`). Any change to this is a new number in
    `formalbench_tasks.yaml_task.SAMPLERS`.
    """

    def sample(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw as many members as non-members (up to one) where the length has both."""
        classes_B = self._classes(stream, length, count)
        if not self._mixed(length):
            return self._runs.draw(stream, length, classes_B)
        strings_BN = np.empty((count, length), dtype=np.int64)
        inside = np.flatnonzero(classes_B == 1)
        outside = np.flatnonzero(classes_B == 0)
        strings_BN[inside] = self._runs.draw(stream, length, classes_B[inside])
        strings_BN[outside] = self._runs.draw_near(stream, length, len(outside))
        return strings_BN

    def sample_members(self, stream: Stream, length: int, count: int) -> Symbols:
        """Draw members of exactly this length, (count, length).

        Raises:
            ValueError: if there is none.
            RequestError: if they would be too long.
        """
        if not self.has_members(length):
            raise ValueError(f"no string of length {length} has class 1")
        return self._runs.draw(stream, length, np.ones(count, dtype=np.int64))

    @cached_property
    def _runs(self) -> LongRuns:
        return LongRuns(self.automaton, lambda strings: self.classify(strings) == 1)


DRAWN: Mapping[str, Callable[[Definition], UniformLanguage]] = {
    "near-misses": CustomLanguage,
    "edited": EditedLanguage,
    "uniform": UniformLanguage,
    "long-runs": LongRunsLanguage,
}
"""By what a file says under ``sampling``."""
