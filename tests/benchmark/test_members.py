"""Counting members on an automaton, against trying every string."""

from itertools import product

import pytest
from formalbench.host import PluginHost
from formalbench.theory.members import MANY, count_members, most_members


@pytest.mark.parametrize("name", ["tomita-1", "tomita-2", "tomita-5", "tomita-7", "d2", "dyck-2-2"])
def test_members_are_counted_exactly(name):
    source = PluginHost.load().task(name).source
    symbols = range(len(source.alphabet))
    for length, count in enumerate(count_members(source.automaton, 6)):
        assert count == sum(source.oracle(string) for string in product(symbols, repeat=length))


@pytest.mark.parametrize("name", ["tomita-1", "tomita-4", "tomita-7", "d1", "d12", "dyck-2-3"])
def test_the_most_members_are_those_that_are_counted_up_to_many(name):
    task = PluginHost.load().task(name)
    counts = count_members(task.source.automaton, 60)
    for train, test in (((1, 5), (6, 9)), ((1, 20), (21, 60)), ((7, 9), (2, 3))):
        lengths = [*range(train[0], train[1] + 1), *range(test[0], test[1] + 1)]
        expected = min(max(counts[length] for length in lengths), MANY + 1)
        assert most_members(task.at_lengths(train, test)) == expected


def test_only_lengths_that_are_asked_for_count():
    task = PluginHost.load().task("d2")
    assert most_members(task.at_lengths((2, 2), (3, 3))) == 1
    assert most_members(task.at_lengths((2, 2), (4, 4))) == 2
    assert most_members(task.at_lengths((3, 3), (5, 5))) == 0
