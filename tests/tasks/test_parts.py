"""Strings of one length kept apart: half for training, a quarter each for validation and test."""

from itertools import product

import numpy as np
import pytest
from dyck_definition import dyck_of, members
from formalbench.contracts.errors import RequestError
from formalbench.contracts.source import Stream
from formalbench.host import PluginHost
from formalbench_tasks.partition import QUARTERS, belongs, quarter

APART = {"split": "by-string"}


def test_every_string_has_one_place_whatever_it_is_drawn_with():
    strings_BN = np.array(list(product(range(4), repeat=8)))
    quarters_B = quarter(strings_BN)
    counts = np.bincount(quarters_B, minlength=4)
    assert counts.sum() == len(strings_BN)
    assert counts == pytest.approx(len(strings_BN) / 4, rel=0.03)
    assert np.array_equal(quarter(strings_BN[::-7]), quarters_B[::-7])
    assert sum(belongs(strings_BN, split).astype(int) for split in QUARTERS).tolist() == [1] * 4**8


def test_the_places_stay_what_they_are():
    strings_BN = np.array(list(product(range(2), repeat=4)))
    assert quarter(strings_BN).tolist() == [3, 2, 1, 2, 3, 0, 0, 3, 1, 0, 0, 2, 2, 1, 3, 0]


def test_members_are_divided_and_still_uniform():
    language = dyck_of(2, None, **APART)
    every = {tuple(member) for member in members(2, None, 8)}
    seen = {}
    for split in QUARTERS:
        drawn_BN = language.part(split).sample(Stream("parts", split), 8, 8_000)
        labels_B = language.classify(drawn_BN)
        assert labels_B.sum() == 4_000
        assert belongs(drawn_BN, split).all()
        inside = list(map(tuple, drawn_BN[labels_B == 1].tolist()))
        seen[split] = set(inside)
        expected = len(inside) / len(seen[split])
        most = max(inside.count(string) for string in sorted(seen[split])[:20])
        assert most < expected + 6 * expected**0.5
    assert set.union(*seen.values()) == every
    assert sum(map(len, seen.values())) == len(every)


def test_a_task_draws_by_what_strings_are_for():
    host = PluginHost.load()
    plain, apart = host.task("dyck-2"), host.task("dyck-2", APART)
    assert plain.of("train") is plain
    strings = {split: apart.of(split).strings(apart.stream(split), 10, 512) for split in QUARTERS}
    assert all(belongs(strings[split], split).all() for split in QUARTERS)
    assert plain.source.part("test") is plain.source
    assert host.task("parity").of("test").name == "parity:classify"


def test_a_length_with_too_few_strings_is_refused():
    language = dyck_of(1, None, **APART)
    alone = [split for split in QUARTERS if belongs(np.array([[0, 1]]), split)[0]]
    for split in set(QUARTERS) - set(alone):
        with pytest.raises(RequestError, match=rf"length 2 has too few strings .* for {split}"):
            language.part(split).sample(Stream("few"), 2, 8)
