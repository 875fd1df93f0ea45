"""Which first symbols are read as prefixes."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
import torch
from formalbench_models.layers import prefixes as module
from formalbench_models.layers.bptt import one_hot
from formalbench_models.layers.prefixes import changes, prefixes


def cost(strings, alphabet, length, after):
    """Return the columns that have products, and what changes take in columns."""
    columns = strings * (length - max((1, *after)))
    for start, end in pairwise((0, *after)):
        prefixes = max(module._FEWEST, min(alphabet**end, strings))
        columns += prefixes * len(range(max(1, start), end))
    return columns + module._CHANGE * strings * len(after)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("alphabet", [1, 2, 3, 12, 10**6])
@pytest.mark.parametrize("strings", [1, 20, 128, 1000])
def test_changes_take_least_of_all_there_could_be(strings, alphabet, length):
    depths = range(1, min(length, strings.bit_length()))
    every = [way for count in range(len(depths) + 1) for way in combinations(depths, count)]
    least = min(cost(strings, alphabet, length, way) for way in every)
    chosen = changes(strings, alphabet, length)
    assert cost(strings, alphabet, length, chosen) == pytest.approx(least)
    assert chosen in every


def test_a_batch_of_two_symbols_begins_with_few_columns():
    assert changes(128, 2, 40) == (4, 6)
    assert changes(128, 12, 40) == ()
    assert changes(128, 10**6, 40) == ()


@pytest.mark.parametrize("after", [(), (1,), (3,), (2, 5), (1, 2, 3)])
def test_every_string_goes_on_from_its_own_prefix(after):
    symbols = torch.randint(3, (40, 7), generator=torch.Generator().manual_seed(1))
    shared = prefixes(symbols, one_hot(symbols.t(), 3, torch.float32), after)
    assert len(shared) == len(after)
    read = []  # at every position so far, one-hot, with a column for each that comes next
    for inputs, columns in shared:
        read = [*read, *inputs]
        assert len(torch.cat(read).t().unique(dim=0)) == len(columns), "a prefix twice"
        assert torch.equal(columns.sum(0), torch.ones(columns.shape[1]))
        read = [part @ columns for part in read]
    for part, expected in zip(read, symbols.t(), strict=False):
        assert torch.equal(part.argmax(0), expected)
    assert len(read) == max(after, default=0)
