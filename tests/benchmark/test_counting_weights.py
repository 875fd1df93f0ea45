"""The witness of C-RASP, in whole numbers, is one."""

import numpy as np
import pytest
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench.theory.c_rasp import components, counting_weights, edges_within, in_c_rasp

LANGUAGES = ("d4", "dyck-2-2", "dyck-2-3", "repeat-bbac", "two-counters-in-turn", "ab-or-bbaa")
"""In C-RASP; some take more than one round."""


def heights(seed):
    """Return two walks on heights, one after the other, that symbols leave at the ends."""
    stream = Stream("automata of heights", seed)
    symbols, low, high = (1 + int(n) for n in stream.integers(4, 3))
    table = np.full((low + high + 1, symbols), low + high)
    for first, count in ((0, low), (low, high)):
        moves = stream.integers(4, symbols) - 1
        leaves = first + count + stream.integers(max(1, low + high - first - count), symbols)
        for state in range(count):
            inside = (state + moves >= 0) & (state + moves < count)
            table[first + state] = np.where(inside, first + state + moves, leaves)
    return table


def tables():
    """Yield random automata of all kinds, walks on heights, and automata of languages."""
    for seed in range(30):
        stream = Stream("counting weights of random automata", seed)
        states, symbols = (2 + int(n) for n in stream.integers(4, 2))
        yield stream.integers(states, (states, symbols))
        yield heights(seed)
    host = PluginHost.load()
    for name in LANGUAGES:
        yield np.asarray(host.task(name).source.automaton.transitions)


def check(table_QS, label_Q, rounds, edges):
    """Hold a component's weights to what they are to do."""
    known = dict.fromkeys(rounds[0].potential, 0)
    for weights in rounds:
        assert weights.known == known
        for source, symbol, target in edges:
            step = weights.weight[symbol, known[target]]
            assert step == weights.potential[target] - weights.potential[source]
        for one in known:
            for other in known:
                same = (known[one], weights.potential[one]) == (
                    known[other],
                    weights.potential[other],
                )
                assert same == (weights.finer[one] == weights.finer[other])
        known = dict(weights.finer)
    assert len(set(known.values())) == len(known)


def test_weights_are_differences_of_potentials_that_tell_all_states_apart():
    found = [0, 0]
    for table_QS in tables():
        label_Q = components(table_QS)
        weights = counting_weights(table_QS, label_Q)
        assert (weights is not None) == in_c_rasp(table_QS, label_Q)
        if weights is None:
            continue
        edges = edges_within(table_QS, label_Q)
        assert set(weights) == set(edges)
        for label, rounds in weights.items():
            check(table_QS, label_Q, rounds, edges[label])
            found[len(rounds) > 1] += 1
    assert found[0] >= 10
    assert found[1] >= 3


def test_numbers_are_small():
    table_QS = np.asarray(PluginHost.load().task("dyck-8-2").source.automaton.transitions)
    (rounds,) = counting_weights(table_QS, components(table_QS)).values()
    # Eight numbers whose sums in pairs differ cannot be small; drawn at random they are larger.
    assert max(abs(value) for each in rounds for value in each.potential.values()) < 100


@pytest.mark.parametrize("symbol", [0, 1])
def test_parity_has_none(symbol):
    table_QS = np.array([[1, 0], [0, 1]])[:, [symbol, 1 - symbol]]
    assert counting_weights(table_QS, components(table_QS)) is None
