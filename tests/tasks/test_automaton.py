"""Automata: running, minimising, and what may follow a prefix."""

import sys

import numpy as np
import pytest
from formalbench_tasks.automata.automaton import Automaton, from_table, minimise
from hypothesis import given, settings
from hypothesis import strategies as st


@st.composite
def tables(draw):
    states = draw(st.integers(1, 7))
    symbols = draw(st.integers(1, 3))
    state = st.integers(0, states - 1)
    rows = draw(
        st.lists(
            st.lists(state, min_size=symbols, max_size=symbols), min_size=states, max_size=states
        )
    )
    classes = draw(st.lists(st.integers(0, 2), min_size=states, max_size=states))
    return rows, classes, draw(state)


def walk(rows, start, string):
    states = [start]
    for symbol in string:
        states.append(rows[states[-1]][symbol])
    return states


@settings(deadline=None)
@given(table=tables(), data=st.data())
def test_batched_runs_agree_with_a_walk(table, data):
    rows, classes, start = table
    automaton = Automaton(np.array(rows), np.array(classes), start)
    length = data.draw(st.integers(0, 12))
    string = st.lists(st.integers(0, len(rows[0]) - 1), min_size=length, max_size=length)
    strings = data.draw(st.lists(string, min_size=1, max_size=5))
    strings_BN = np.array(strings, dtype=np.int64).reshape(len(strings), length)
    expected = [walk(rows, start, string) for string in strings]
    assert automaton.states(strings_BN).tolist() == expected
    assert automaton.classify(strings_BN).tolist() == [classes[run[-1]] for run in expected]
    prefixes = [[classes[state] for state in run[1:]] for run in expected]
    assert automaton.classify_prefixes(strings_BN).tolist() == prefixes


@settings(deadline=None)
@given(table=tables())
def test_the_minimal_automaton_computes_the_same_with_distinct_states(table):
    rows, classes, start = table
    small = from_table(rows, classes, start)
    # All pairs of states that a common string reaches: the classes must agree on them.
    pairs, pending = set(), [(start, small.start)]
    while pending:
        big_state, small_state = pending.pop()
        if (big_state, small_state) in pairs:
            continue
        pairs.add((big_state, small_state))
        assert classes[big_state] == small.classes[small_state]
        moves = zip(rows[big_state], small.transitions[small_state].tolist(), strict=True)
        pending.extend(moves)
    assert {state for _, state in pairs} == set(range(small.num_states))
    assert all(distinct(small, one, two) for one in range(small.num_states) for two in range(one))
    again = minimise(small)
    assert np.array_equal(again.transitions, small.transitions)


def distinct(automaton, one, two):
    """Search for a string that tells two states apart."""
    seen, pending = set(), [(one, two)]
    while pending:
        pair = pending.pop()
        if automaton.classes[pair[0]] != automaton.classes[pair[1]]:
            return True
        if pair not in seen:
            seen.add(pair)
            ends = automaton.transitions[list(pair)]
            pending.extend(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
    return False


def chain(states):
    return [[min(state + 1, states - 1)] * 2 for state in range(states)], [
        int(state == states - 2) for state in range(states)
    ]


def lines_run(states):
    """Count the lines that minimising a chain of so many states runs."""
    found = 0

    def count(frame, event, _):
        nonlocal found
        found += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        from_table(*chain(states))
    finally:
        sys.settrace(before)
    return found


def test_twice_as_long_a_chain_takes_little_more_than_twice_the_steps():
    """Refinement round by round takes as many rounds as there are states."""
    assert lines_run(400) < 2.4 * lines_run(200)
    rows, classes = chain(6000)
    assert from_table(rows, classes).transitions.tolist() == rows


def test_next_symbols_agree_with_a_search(automaton_membership, every_string, longest):
    """A symbol is legal iff some continuation is a member: with Q states, one within Q symbols."""
    symbols = len(automaton_membership.alphabet)
    reach = min(automaton_membership.automaton.num_states, 11, longest(symbols, 4000) + 1)
    length = min(5, longest(symbols, 200))
    strings_BN = every_string(symbols, length)
    sets_BNS = automaton_membership.next_symbols(strings_BN)
    assert sets_BNS.shape == (len(strings_BN), length + 1, symbols + 1)
    assert sets_BNS.dtype == np.bool_
    memory = {}

    def alive(prefix):
        if prefix and not alive(prefix[:-1]):
            return False
        if prefix not in memory:
            memory[prefix] = any(
                automaton_membership.oracle([*prefix, *suffix])
                for more in range(reach)
                for suffix in every_string(symbols, more).tolist()
            )
        return memory[prefix]

    for string, sets in zip(strings_BN.tolist(), sets_BNS.tolist(), strict=True):
        for end in range(length + 1):
            prefix = tuple(string[:end])
            expected = [alive((*prefix, symbol)) for symbol in range(symbols)]
            expected.append(automaton_membership.oracle(prefix) == 1)
            assert sets[end] == expected, prefix


@pytest.mark.parametrize(
    ("rows", "classes", "start"),
    [([[0, 2]], [0], 0), ([[0, 0]], [0], 1), ([[0]], [-1], 0), ([[0]], [0, 1], 0)],
)
def test_tables_that_are_no_automaton_are_refused(rows, classes, start):
    with pytest.raises(ValueError, match=r"must|there"):
        from_table(rows, classes, start)
