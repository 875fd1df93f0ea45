"""The classes of regular languages, compared with slow definitions, published labels and bounds."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
import theory_definitions as slow
from formalbench import Theory, theory_of
from formalbench.contracts.theory import CLASSES, LEVELS, WITHIN_REGULAR
from formalbench.theory import transition_monoid
from formalbench_tasks.automata.automaton import Automaton, from_table
from formalbench_tasks.automata.regex import compile_regex


def least(automaton) -> str:
    found = theory_of(automaton)
    assert found.note == ""
    return found.finest


def regex(text: str) -> Automaton:
    return compile_regex(text, sorted(set(text) - set("()|*+?")))


def random_automaton(seed: int) -> Automaton:
    """Return a uniform one, one that mostly goes on, or a word again and again with a change."""
    rng = np.random.default_rng(seed)
    states, symbols = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    table = rng.integers(states, size=(states, symbols))
    if seed % 3 == 1:
        change = rng.integers(states), rng.integers(symbols), rng.integers(states)
        table[:] = states - 1
        for state in range(states - 1):
            table[state, rng.integers(symbols)] = (state + 1) % (states - 1)
        table[change[:2]] = change[2]
    if seed % 3 == 2:
        onward = np.arange(states)[:, None] + rng.integers(2, size=table.shape)
        table = np.where(rng.random(table.shape) < 0.7, np.minimum(onward, states - 1), table)
    return from_table(table, rng.integers(2, size=states))


def looks_at_its_last_symbol(seed: int) -> Automaton:
    """Return one whose class depends on a random automaton's state, and on the symbol after it."""
    rng = np.random.default_rng(seed)
    moves = random_automaton(seed).transitions
    states, symbols = moves.shape
    table = [[state * symbols + symbol for symbol in range(symbols)] for state in moves.reshape(-1)]
    start = range(1, symbols + 1)  # the first state of `moves`, and the symbol after it
    return from_table([start, *np.add(table, 1)], rng.integers(2, size=states * symbols + 1))


RANDOM = [random_automaton(seed) for seed in range(180)]
RANDOM += [looks_at_its_last_symbol(seed) for seed in range(48)]


@pytest.mark.parametrize("automaton", RANDOM)
def test_random_automata(automaton):
    table = automaton.transitions.tolist()
    elements = slow.monoid(table)
    found = theory_of(automaton)
    assert found.finite == slow.finite(table, automaton.classes, automaton.start)
    assert found.c_rasp == slow.c_rasp(table)
    assert found.c_rasp_last == slow.c_rasp_last(table, automaton.classes)
    assert found.star_free == slow.star_free(elements)
    assert found.ac0 == slow.ac0(table)
    if len(elements) <= 60:
        assert found.r_trivial == slow.r_trivial(elements)
        assert found.solvable == slow.solvable(elements)
        assert found.c_rasp <= slow.r_omega(elements)


def test_the_random_automata_are_of_all_classes():
    found = list(map(least, RANDOM))
    assert min(found.count(name) for name in WITHIN_REGULAR) >= 6
    assert {theory_of(one).ac0 for one in RANDOM if not theory_of(one).star_free} == {True, False}


def test_the_length_is_counted_in_ac0_and_a_symbol_among_others_is_not():
    inside = "(aa)*", "((a|b)(a|b))*", "((a|b)(a|b)(a|b))*a", "(a|b(aa)*b)*", "(aa|bb)*"
    outside = "b*(ab*ab*)*", "(b|c)*(a(b|c)*a(b|c)*)*", "(b|ab*ab*a)*"
    for text in (*inside, *outside):
        automaton = regex(text)
        assert theory_of(automaton).ac0 == slow.ac0(automaton.transitions.tolist()), text
    assert [theory_of(regex(text)).ac0 for text in inside] == [True] * 5
    assert [theory_of(regex(text)).ac0 for text in outside] == [False] * 3


LEAST = {
    "finite": ("a", "(ab|ba)c", "()|aaa|bb"),
    "r-trivial": (
        "a*b*c*",
        "(a|b)*a(a|b)*b(a|b)*",
        "(a|b)*ab(a|b)*",
        "b(a|b)*",
        "bba(c|a)*",
        "c*a(a|b)*",
        "(a|b)*d(b|c)*",
    ),
    "c-rasp": (
        "(ab|bbaa)*",
        "(ab|ba)*",
        "(bbac)*",
        "(ab)+a+b+a+",
        "((ab)+b+)((ab)+b+)((ab)+b+)",
        "(a(ab)*b)*",
        "(ab)*bb(aabb)*",
    ),
    "c-rasp-last": ("(a|b)*b", "(a+b+)+", "((a|b)*a)?", "a((a|b)*a)?|b((a|b)*b)?"),
    "star-free": (
        "(0|1|2)*02*",
        "(a|b|c)*ac*",
        "(a|ba)*b?",
        "(ab|aabb)*",
        "(ab|bba)*",
        "(a|b)*ab",
        "(a|b)*b(a|b)",
    ),
    "solvable": ("(aa)*", "(aaaa)*", "(abab)*", "a*(ba*ba*)*", "(c|b)*(aa)*", "(a|b(aa)*b)*"),
}


@pytest.mark.parametrize(("name", "text"), [(n, text) for n in LEAST for text in LEAST[n]])
def test_labelled_languages(name, text):
    assert least(regex(text)) == name


def word_problem(elements) -> Automaton:
    number = {one: place for place, one in enumerate(elements)}
    table = [[number[slow.then(one, symbol)] for symbol in elements] for one in elements]
    return from_table(table, range(len(elements)))


def even(permutation) -> bool:
    pairs = [(i, j) for j in range(len(permutation)) for i in range(j)]
    return sum(permutation[i] > permutation[j] for i, j in pairs) % 2 == 0


def test_word_problems_of_groups():
    four, five = list(permutations(range(4))), list(permutations(range(5)))
    assert least(word_problem(four)) == "solvable"
    assert least(word_problem([one for one in five if even(one)])) == "regular"
    table = np.array([(1, 2, 3, 4, 0), (1, 0, 2, 3, 4)]).T  # two permutations generate S5
    assert least(from_table(table, [1, 0, 0, 0, 0])) == "regular"


def test_the_modulus_is_the_least_multiple_of_all_orders():
    moduli = {"(a|ba)*b?": 1, "(aa)*": 2, "a*(ba*ba*)*": 2, "(aaaaaa)*": 6, "(aa)*|(bbb)*": 6}
    for text, modulus in moduli.items():
        assert transition_monoid.modulus_of(regex(text)) == modulus, text
    two_and_three, back = (1, 0, 3, 4, 2), (2, 2, 0, 0, 0)
    mixed = from_table(np.array([two_and_three, back]).T, [1, 0, 1, 0, 0])
    assert transition_monoid.modulus_of(mixed) == 6
    symmetric = word_problem(list(permutations(range(3))))
    assert transition_monoid.modulus_of(symmetric) is None  # it is not commutative


def test_a_group_that_only_some_words_lead_to():
    """A5 acts on five of seven states, which one more symbol leads to and back."""
    cycle, three = (1, 2, 3, 4, 0, 5, 6), (1, 2, 0, 3, 4, 5, 6)
    gather = (0, 1, 2, 3, 4, 6, 0)
    assert least(from_table(np.array([cycle, three, gather]).T, [1, 0, 0, 0, 0, 0, 0])) == "regular"


def test_large_automata():
    ring = [[(state + 1) % 997, state] for state in range(997)]
    assert least(from_table(ring, [1] + [0] * 996)) == "solvable"
    last_nine = [[2 * word % 512, (2 * word + 1) % 512] for word in range(512)]
    labels = np.random.default_rng(0).integers(2, size=512)
    assert least(from_table(last_nine, labels)) == "star-free"
    chain = [[min(state + 1, 999)] * 30 + [state] * 34 for state in range(1000)]
    assert least(from_table(chain, [0] * 999 + [1])) == "r-trivial"


def test_beyond_the_bounds_it_says_so(monkeypatch):
    rng = np.random.default_rng(1)
    automaton = from_table(rng.integers(12, size=(12, 3)), rng.integers(2, size=12))
    assert theory_of(automaton).solvable is False
    monkeypatch.setattr(transition_monoid, "MOST_MOVES", 6)
    found = theory_of(automaton)
    assert (found.star_free, found.solvable, found.c_rasp) == (False, None, False)
    assert "too large" in found.note
    assert found.finest == "regular"


def test_levels_are_inside_one_another_as_far_as_they_are():
    free, other = (Theory("counter", context_free=value) for value in (True, False))
    for theory, inside in (
        (free, {"counter", "context-free", "context-sensitive"}),
        (other, {"counter", "context-sensitive"}),
        (Theory("context-free"), {"context-free", "context-sensitive"}),
        (Theory("context-sensitive"), {"context-sensitive"}),
        (Theory("regular"), {"regular"}),
    ):
        assert {name for name in LEVELS if theory.within(name)} == inside
    assert Theory("regular").context_free
    assert Theory("counter").within("context-free") is None


def test_a_class_that_may_be_smaller_says_so():
    assert Theory("regular").label == "regular or smaller"
    assert Theory("regular", solvable=True).label == "solvable or smaller"
    assert Theory("counter").label == "counter"
    for name in CLASSES:
        assert Theory.least(name).label == name
    assert [name for name in CLASSES if Theory("counter").is_open(name)] == [
        "c-rasp",
        "c-rasp-last",
        "context-free",
    ]


def test_functions_of_several_classes():
    ends = from_table([[0, 1, 2], [0, 1, 2], [0, 1, 2]], [0, 1, 2])
    assert least(ends) == "c-rasp-last"
    once = from_table([[1, 2], [3, 3], [3, 3], [3, 3]], [0, 1, 2, 0])
    assert least(once) == "finite"


def test_nothing_is_known_of_other_sources():
    assert theory_of(SimpleNamespace(transitions=[[0]], classes=[1], start=0)).finest == "r-trivial"


def test_a_theory_is_consistent():
    for name in CLASSES:
        assert Theory.least(name).finest == name
    assert Theory.least("c-rasp").within("star-free")
    assert Theory.least("c-rasp").within("finite") is False
    assert Theory.least("counter").within("star-free") is None
    assert not Theory.least("counter").within("regular")
    counting = Theory("counter", c_rasp=True)
    assert (counting.finest, counting.within("c-rasp")) == ("counter", True)
    assert counting.c_rasp_last  # C-RASP counts up to the last symbol as well as to an end marker
    assert Theory("regular", star_free=False).c_rasp_last is False
    with pytest.raises(ValueError, match="each includes the smaller ones"):
        Theory("regular", c_rasp=True, star_free=False)
    with pytest.raises(ValueError, match="each includes the smaller ones"):
        Theory("counter", c_rasp=True, c_rasp_last=False)
    with pytest.raises(ValueError, match="each includes the smaller ones"):
        Theory("counter", star_free=True)
    with pytest.raises(ValueError, match="context_free is True of a regular language"):
        Theory("regular", context_free=False)
    with pytest.raises(ValueError, match="context_free is False of a context-sensitive language"):
        Theory("context-sensitive", context_free=True)
    with pytest.raises(ValueError, match="level 'odd' is none of regular"):
        Theory("odd")


def automaton(transitions, classes):
    return SimpleNamespace(transitions=np.array(transitions), classes=np.array(classes), start=0)


def test_an_automaton_that_is_not_minimal_has_the_classes_of_its_minimal_one():
    """Two copies of the accepting state of a*, and a group that no string reaches."""
    twice = automaton([[1, 2], [0, 2], [2, 2], [4, 3], [3, 4]], [1, 1, 0, 0, 1])
    assert theory_of(twice) == theory_of(automaton([[0, 1], [1, 1]], [1, 0]))
    assert theory_of(twice).r_trivial


@pytest.mark.parametrize(
    ("transitions", "classes"),
    [([[1, -1], [0, -1]], [1, 0]), ([[1, 2], [0, 1]], [1, 0]), ([[1, 0], [0, 1]], [1])],
)
def test_an_automaton_that_is_not_complete_is_refused(transitions, classes):
    with pytest.raises(ValueError, match="an automaton of 2 states needs a class for each"):
        theory_of(automaton(transitions, classes))
