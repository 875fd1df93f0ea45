"""The classes that specs state are those worked out from the automata."""

import pytest
from formalbench import HasAutomaton, theory_of
from formalbench.theory import classes
from formalbench.theory.classes import classes_of
from formalbench_tasks.configs import DyckConfig
from formalbench_tasks.dyck import Dyck
from formalbench_tasks.plugin import formalbench_tasks


def test_stated_classes(spec, language):
    assert spec.theory is not None
    if isinstance(language, HasAutomaton):
        found = theory_of(language)
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


def test_a_mistake_in_working_classes_out_is_not_taken_for_a_missing_automaton(make, monkeypatch):
    def broken(automaton):
        raise AttributeError("transitoins")

    monkeypatch.setattr(classes, "classes_of", broken)
    with pytest.raises(AttributeError, match="transitoins"):
        theory_of(make("parity"))
