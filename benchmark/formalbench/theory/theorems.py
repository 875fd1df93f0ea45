"""Theorems about which networks can recognise which languages (data in `theorems.yaml`).

None is about training, except those whose evidence is an experiment. So ``can`` does not mean that
a network will learn a language, and theorems hold for idealised networks. All are about recognising
languages, not about functions from strings to strings. A *corollary* is ours: it follows from a
theorem of its source, which does not state it.

``can`` says that some network of a kind does it. If the source states the size of the network in
its proof, `Theorem.instance` compares a network with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from formalbench.contracts.theory import AC0, CLASSES, LEVELS, WITHIN_REGULAR, Theory

if TYPE_CHECKING:
    from formalbench.contracts.network import Traits
    from formalbench.contracts.source import MinimalAutomaton, Source

Verdict = Literal["can", "cannot", "unknown"]

Instance = Literal["this instance", "a larger one of its family", "unknown"]
"""Scope of a prediction."""


class Theorem(BaseModel):
    """A theorem about a kind of networks; the YAML file documents the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    mechanisms: frozenset[str]
    without: frozenset[str] = frozenset()
    eigenvalues: str = ""
    languages: tuple[str, ...] = ()
    says: Literal["", "can", "cannot"] = ""
    exactly: str = ""
    at_least: str = ""
    at_most: str = ""
    statement: str = ""
    conditions: str
    source: str
    evidence: Literal["theorem", "corollary", "experiment", "second-hand"] = "theorem"
    needs: dict[str, tuple[int | str, ...]] = Field(default_factory=dict)
    stated: str = ""

    @model_validator(mode="after")
    def _names_classes(self) -> Theorem:
        classes = [name for name in (self.exactly, self.at_least, self.at_most) if name]
        kinds = [bool(self.languages), bool(classes), bool(self.statement)]
        if bool(self.languages) != bool(self.says) or sum(kinds) > 1:
            raise ValueError(f"{self.name} must say something of languages, or of classes")
        if self.evidence == "second-hand" and not self.statement:
            raise ValueError(f"{self.name} is second-hand: it has a statement and no verdict")
        if bool(self.needs) != bool(self.stated):
            raise ValueError(f"{self.name} must say what size it needs and where that is stated")
        if self.languages or self.statement:
            return self
        if not classes or not set(classes) <= {*CLASSES, AC0}:
            raise ValueError(f"{self.name} names no class, or an unknown one")
        return self

    def speaks_of(self, mechanisms: Iterable[str], eigenvalues: str) -> bool:
        """Return whether a network with these mechanisms is of the theorem's kind."""
        built = set(mechanisms)
        of_the_kind = self.mechanisms <= built and not self.without & built
        return of_the_kind and self.eigenvalues in ("", eigenvalues)

    def verdict(self, theory: Theory, language: str = "") -> Verdict:
        """Return whether networks of the kind can recognise a language."""
        if self.statement:
            return "unknown"
        if self.languages:
            named = any(_names(name, language) for name in self.languages)
            return self.says if self.says and named else "unknown"
        if self.evidence == "experiment" and theory.level != "regular":
            return "unknown"  # experiments used regular languages
        contained = self.exactly or self.at_least
        if contained and theory.within(contained):
            return "can"
        if contained in LEVELS and theory.level == "regular":
            return "can"  # every level holds all regular languages
        if self.exactly and theory.level != "regular":
            return "cannot"  # classes of regular languages contain no other language
        bound = self.exactly or self.at_most
        if bound in (*WITHIN_REGULAR, AC0) and theory.within(bound) is False:
            return "cannot"
        return "unknown"

    def instance(
        self, verdict: Verdict, sizes: Mapping[str, int], numbers: Mapping[str, int] | None
    ) -> Instance:
        """Return for which networks a verdict of this theorem holds.

        ``cannot`` is proved for all sizes. ``can`` is proved with a network of some size; a smaller
        one may suffice.

        Args:
            verdict: ``can`` or ``cannot``.
            sizes: of a network of the kind (`sizes_of`).
            numbers: of the language (`numbers_of`); None if not known.
        """
        if self.evidence == "experiment":
            return "unknown"
        if verdict == "cannot":
            return "this instance"
        needed = self.size(numbers or {})
        if not needed or not needed.keys() <= sizes.keys():
            return "unknown"
        enough = all(sizes[name] >= number for name, number in needed.items())
        return "this instance" if enough else "a larger one of its family"

    def size(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Return the size of the proof's network for a language.

        Returns:
            An empty mapping if the source does not state it or a number is unknown.
        """
        sizes = {}
        for name, factors in self.needs.items():
            values = [numbers.get(f) if isinstance(f, str) else f for f in factors]
            if None in values:
                return {}
            sizes[name] = math.prod(number for number in values if number is not None)
        return sizes


def _names(name: str, language: str) -> bool:
    """Return whether a name of a theorem, which may be that of a family, is a language's."""
    pattern = re.sub(r"\\\{\w+\\\}", r"\\d+", re.escape(name))
    return re.fullmatch(pattern, language) is not None


_SETS = ("mechanisms", "without")


@lru_cache(maxsize=1)
def theorems() -> tuple[Theorem, ...]:
    """Return all theorems, in the order of the file."""
    import yaml

    text = (Path(__file__).parent / "theorems.yaml").read_text(encoding="utf-8")
    return tuple(Theorem(**entry) for entry in yaml.safe_load(text)["theorems"])


def about(traits: Traits) -> list[Theorem]:
    """Return the theorems that apply to a network."""
    facts = traits.mechanisms, traits.eigenvalues
    return [theorem for theorem in theorems() if theorem.speaks_of(*facts)]


def predict(traits: Traits, theory: Theory, language: str = "") -> tuple[Verdict, Theorem | None]:
    """Return whether a network can recognise a language, and by which theorem.

    The first theorem that decides it is used; theorems precede experiments.
    """
    return next(iter(predict_each(traits, theory, language)), ("unknown", None))


def predict_each(
    traits: Traits, theory: Theory, language: str = ""
) -> list[tuple[Verdict, Theorem]]:
    """Return the predictions of the first deciding theorem and the first deciding experiment.

    A theorem (or corollary) is about what a network can compute, an experiment about what training
    finds.
    """
    predictions: dict[bool, tuple[Verdict, Theorem]] = {}
    for theorem in about(traits):
        if (verdict := theorem.verdict(theory, language)) != "unknown":
            predictions.setdefault(theorem.evidence == "experiment", (verdict, theorem))
    return [predictions[experiment] for experiment in (False, True) if experiment in predictions]


def theorem_called(name: str) -> Theorem:
    """Return the theorem with a name that is known to exist."""
    return next(theorem for theorem in theorems() if theorem.name == name)


def decidable(source: Source) -> bool:
    """Return whether theorems apply to a source, that is, whether it is a language."""
    from formalbench.contracts.source import Transduction  # imported here because it imports numpy

    return not isinstance(source, Transduction)


def verdicts(theory: Theory, language: str = "") -> list[tuple[Theorem, Verdict]]:
    """Return every theorem that decides a language, with its verdict."""
    pairs = [(theorem, theorem.verdict(theory, language)) for theorem in theorems()]
    return [(theorem, verdict) for theorem, verdict in pairs if verdict != "unknown"]


def theorem_facts(theorem: Theorem) -> dict[str, object]:
    """Return a theorem as JSON data without empty fields."""
    facts = {key: value for key, value in theorem.model_dump(mode="json").items() if value}
    return {key: sorted(value) if key in _SETS else value for key, value in facts.items()}


# Numbers that state the size of a network.


def numbers_of(automaton: MinimalAutomaton) -> dict[str, int]:
    """Return numbers of a regular language that theorems use for sizes.

    Args:
        automaton: complete, deterministic and minimal.

    Returns:
        ``states`` and ``symbols`` of the automaton. If every symbol permutes the states, also
        ``transpositions``, the maximum number of transpositions in a symbol.
    """
    import numpy as np

    table_QS = np.asarray(automaton.transitions, dtype=np.int64)
    states, symbols = table_QS.shape
    numbers = {"states": states, "symbols": symbols}
    if not (np.sort(table_QS, axis=0) == np.arange(states)[:, None]).all():
        return numbers
    from sympy.combinatorics import Permutation

    permutations = map(Permutation, np.unique(table_QS, axis=1).T.tolist())
    numbers["transpositions"] = max(states - int(one.cycles) for one in permutations)
    return numbers


def sizes_of(traits: Traits) -> dict[str, int]:
    """Return depth, width and the integers in the notes of a network's traits.

    A depth that grows with the string is omitted.
    """
    sizes = {"depth": traits.depth, "width": traits.width, **traits.notes}
    return {name: value for name, value in sizes.items() if isinstance(value, int)}
