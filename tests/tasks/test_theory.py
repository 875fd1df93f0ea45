"""The classes that specs state are those worked out from the automata."""

from dataclasses import replace

import pytest
from formalbench import HasAutomaton, theory_of
from formalbench.theory.c_rasp import components, counting_rounds, edges_within
from formalbench.theory.classes import classes_of
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck.language import Dyck
from formalbench_tasks.plugin import formalbench_tasks


def test_stated_classes(spec, language, make):
    assert spec.theory is not None
    if isinstance(language, HasAutomaton):
        found = theory_of(language)
    elif spec.name == "missing-duplicate":  # parity answers it (test_expressions.py)
        assert spec.theory.note
        open_classes = dict.fromkeys(("c_rasp", "c_rasp_last", "star_free", "ac0"))
        other_ways = {**open_classes, "note": spec.theory.note}
        found = replace(theory_of(make("parity")), **other_ways)
    elif spec.theory.level == "regular":  # only some strings are in its domain
        found = classes_of(language._automaton)
    else:
        assert spec.theory.note  # where it is proved
        return
    assert found == spec.theory


@pytest.mark.parametrize(("k", "D"), [(1, 1), (1, 7), (2, 2), (2, 4), (3, 3), (8, 2)])
def test_bounded_dyck_languages(k, D):
    stated = {spec.name: spec.theory for spec in formalbench_tasks()}["dyck-{k}-{D}"]
    assert theory_of(Dyck(DyckConfig(), k, D)).finest == stated.finest == "c-rasp"


@pytest.mark.parametrize(("k", "D"), [(1, 2), (1, 12), (2, 2), (2, 5), (3, 4), (8, 3)])
def test_two_rounds_of_counting_tell_the_stacks_of_a_bounded_dyck_language(k, D):
    """The first tells what is open by type, as the proof in docs/theory.md has it."""
    language = Dyck(DyckConfig(), k, D)
    table_QS = language.automaton.transitions
    (edges,) = edges_within(table_QS, components(table_QS)).values()
    first, second = counting_rounds(edges) if k > 1 else (*counting_rounds(edges),) * 2
    assert second.tells_all
    stacks = {0: ()}
    for state, symbol, target in sorted(edges):  # states are numbered breadth first
        if symbol % 2 == 0:
            stacks[target] = (*stacks[state], symbol)
    assert len(set(stacks.values())) == len(stacks) == language.automaton.num_states - 1
    open_of = {state: tuple(sorted(stack)) for state, stack in stacks.items()}
    told = {(open_of[state], known) for state, known in first.finer.items()}
    assert len(told) == len(set(open_of.values())) == len(set(first.finer.values()))
