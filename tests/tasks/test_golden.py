"""Pinned samples: the same symbols on every machine, for as long as a task's version stands.

If one of these changes, raise the version of the task: old records no longer count.
"""

import hashlib

import pytest
from formalbench.contracts.stream import Stream

GOLDEN = {
    "parity": "31da46aac978e6af",
    "first": "14c838257966cf66",
    "even-pairs": "cf95f6e13ba4b206",
    "cycle-navigation": "0d3deb720d83dda1",
    "modular-arithmetic": "00453b425e5e665b",
    "tomita-1": "55069950171fc900",
    "tomita-2": "a4be1d653947e27f",
    "tomita-3": "c45ec151341484d4",
    "tomita-4": "f0bb9e57732a93e3",
    "tomita-5": "9a0939f9e02231a4",
    "tomita-6": "ebde289ec82e2716",
    "tomita-7": "35e75d1b1810c5cf",
    "d1": "3274e762a672978a",
    "d2": "2607e62242b7dd0b",
    "d3": "34187f9b230346a4",
    "d4": "3ccc833d595a6557",
    "d12": "bf835e9ae10d25e3",
}


def fingerprint(strings_BN):
    return hashlib.sha256(strings_BN.astype("<i8").tobytes()).hexdigest()[:16]


def test_pinned_samples(language, spec):
    assert spec.version == 1
    strings_BN = language.sample(Stream("golden", spec.name), language.round_length(60), 64)
    assert fingerprint(strings_BN) == GOLDEN[spec.name]


@pytest.mark.parametrize(("p", "expected"), [(0.1, "e74f6aff7c1f9589")])
def test_pinned_biased_bits(make, p, expected):
    strings_BN = make("parity", p=p).sample(Stream("golden"), 60, 64)
    assert fingerprint(strings_BN) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("d12", "89e38748a6e4fcdd"), ("tomita-3", "5eae4cd4c0ba62ac")]
)
def test_pinned_members(make, name, expected):
    strings_BN = make(name).sample_members(Stream("golden"), 1000, 16)
    assert fingerprint(strings_BN) == expected
