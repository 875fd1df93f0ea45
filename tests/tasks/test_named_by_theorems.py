"""The languages that theorems name have what these speak of, and no built-in one is left out."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from formalbench.contracts.source import HasAutomaton
from formalbench.contracts.theory import Theory
from formalbench.host import PluginHost
from formalbench.theory.theorems import numbers_of, theorem_called


def automata() -> Iterator[tuple[str, object]]:
    host = PluginHost.load()
    for entry in host.tasks.all():
        if entry.plugin.name == "formalbench_text":
            continue
        names = [f"group-z{n}" for n in (2, 3, 4, 5, 6, 7, 8, 60)]
        if entry.spec.name != "group-z{n}":
            names = [entry.spec.name] if "{" not in entry.spec.name else []
        for name in names:
            source = host.task(name).source
            if isinstance(source, HasAutomaton):
                yield name, source.automaton


@pytest.fixture(scope="module")
def every():
    return dict(automata())


def named_by(theorem: str, every) -> set[str]:
    """Return those languages of `every` that a theorem names, by itself or by its family."""
    named = theorem_called(theorem)
    return {name for name in every if named.verdict(Theory("regular"), name) != "unknown"}


def counted(automaton) -> set[int]:
    """Return after how many of one symbol a state is come back to, for all symbols and states."""
    found = set()
    for moves in np.asarray(automaton.transitions).T:
        reached = np.arange(len(moves))
        for _ in moves:
            reached = moves[reached]
        for start in set(reached.tolist()):
            state, steps = moves[start], 1
            while state != start:
                state, steps = moves[state], steps + 1
            found.add(steps)
    return found


def sees_order(automaton) -> bool:
    """Say whether two short strings differ that have the same symbols, the last one the same."""
    table = np.asarray(automaton.transitions)
    symbols = table.shape[1]
    for length in range(2, {2: 11, 3: 7}.get(symbols, 6 if symbols <= 6 else 5)):
        classes: dict[object, int] = {}
        for string in product(range(symbols), repeat=length):
            state = automaton.start
            for symbol in string:
                state = table[state, symbol]
            key, found = (tuple(sorted(string)), string[-1]), int(automaton.classes[state])
            if classes.setdefault(key, found) != found:
                return True
    return False


def test_those_that_count_a_symbol(every):
    counting = {name for name, one in every.items() if max(counted(one)) > 1}
    assert counting == named_by("positive-eigenvalues", every)


def test_those_that_count_a_symbol_modulo_what_is_no_power_of_two(every):
    odd = {
        name for name, one in every.items() if any(steps & (steps - 1) for steps in counted(one))
    }
    assert odd == named_by("real-eigenvalues", every)


def test_those_whose_symbols_permute_the_states(every):
    """Word problems are left out: their groups act on fewer points than their automata have."""
    numbers = {name: numbers_of(one) for name, one in every.items()}
    permuted = {name for name, found in numbers.items() if "transpositions" in found}
    groups = {name for name in permuted if name.startswith("group-")}
    assert permuted - groups == set(theorem_called("permutations-by-reflections").languages)


def test_those_that_see_order(every):
    small = {name: one for name, one in every.items() if len(one.transitions[0]) <= 6}
    seen = {name for name, one in small.items() if sees_order(one)}
    assert seen == named_by("order-blind", small)


@pytest.mark.parametrize(
    ("name", "language"),
    [("order-blind", "dyck-2-3"), ("counting", "shuffle-dyck-5"), ("counting", "boolean-4")],
)
def test_a_theorem_that_names_a_family_names_each_of_its_languages(name, language):
    theorem = theorem_called(name)
    assert theorem.verdict(Theory("context-free"), language) == theorem.says
    assert theorem.verdict(Theory("context-free"), f"{language}-check") == "unknown"
