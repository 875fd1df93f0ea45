"""A regular language that somebody defined in a YAML file."""

from __future__ import annotations

from collections.abc import Sequence

from formalbench_tasks.definition import Definition
from formalbench_tasks.regular import RegularLanguage


class CustomLanguage(RegularLanguage):
    """The language of a regular expression or an automaton.

    Args:
        definition: what the file says.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.alphabet, definition.build())
        self.definition = definition

    def oracle(self, string: Sequence[int]) -> int:
        """Follow the definition as it was written, without the minimal automaton."""
        return int(self.definition.contains(string))
