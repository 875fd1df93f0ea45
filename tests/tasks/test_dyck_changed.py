"""Non-members that are members with one symbol changed: `outside=changed`."""

from collections import Counter

import numpy as np
import pytest
from dyck_definition import SMALL, dyck_of, members, name
from formalbench.contracts.source import Stream
from scipy.stats import chisquare


def language(case, outside="changed"):
    return dyck_of(*case, outside=outside)


def one_away(string, symbols):
    """Return every string that differs from this one in one place."""
    return [
        (*string[:place], other, *string[place + 1 :])
        for place, symbol in enumerate(string)
        for other in range(symbols)
        if other != symbol
    ]


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_changed_members_have_the_law_they_should(case):
    dyck = language(case)
    law = Counter(
        changed for member in members(*case, 4) for changed in one_away(member, len(dyck.alphabet))
    )
    drawn_BN = dyck.misses.changed(Stream("changed"), 4, 20_000)
    found = Counter(map(tuple, drawn_BN.tolist()))
    assert set(found) == set(law)
    expected = np.array(list(law.values())) / sum(law.values()) * len(drawn_BN)
    assert chisquare([found[string] for string in law], expected).pvalue > 1e-3


@pytest.mark.parametrize("case", SMALL, ids=name)
def test_half_are_members_and_no_changed_one_is(case):
    dyck = language(case)
    for length in (2, 6, 40):
        strings_BN = dyck.sample(Stream("sample", length), length, 200)
        labels = dyck.classify(strings_BN)
        assert labels.sum() == 100
        opens_BN, types_BN = strings_BN % 2 == 0, strings_BN // 2
        adds_up = np.array(
            [
                all(opens[types == t].sum() * 2 == (types == t).sum() for t in range(dyck.types))
                for opens, types in zip(opens_BN, types_BN, strict=True)
            ]
        )
        assert np.array_equal(adds_up, labels == 1)  # counting tells them


def test_odd_lengths_and_the_default_stay_as_they_were():
    case = (2, 3)
    for length, outside in ((7, "changed"), (8, "mixed")):
        plain = dyck_of(*case).sample(Stream("x"), length, 64)
        assert np.array_equal(language(case, outside).sample(Stream("x"), length, 64), plain)
    assert not np.array_equal(
        language(case).sample(Stream("x"), 8, 64), dyck_of(*case).sample(Stream("x"), 8, 64)
    )
