"""Pinned samples: the same symbols on every machine, for as long as a task's version stands.

If one of these changes, raise the version of the task: old records no longer count.
"""

import hashlib

import pytest
from formalbench.contracts.stream import Stream
from formalbench_tasks import regular_files

FILES = {spec.name: spec.version for spec in regular_files.announce()}
FIRST = {"first", "even-pairs", *(f"tomita-{n}" for n in range(1, 8))}
FIRST |= {"d1", "d2", "d3", "d4", "d12"}
"""Whose strings are drawn as they were before files drew near misses."""

GOLDEN = {
    "parity": "31da46aac978e6af",
    "first": "14c838257966cf66",
    "even-pairs": "cf95f6e13ba4b206",
    "cycle-navigation": "0d3deb720d83dda1",
    "modular-arithmetic": "00453b425e5e665b",
    "tomita-1": "55069950171fc900",
    "tomita-2": "a4be1d653947e27f",
    "tomita-3": "ea0fd4d018738ecc",
    "tomita-4": "f0bb9e57732a93e3",
    "tomita-5": "9a0939f9e02231a4",
    "tomita-6": "ebde289ec82e2716",
    "tomita-7": "35e75d1b1810c5cf",
    "d1": "3274e762a672978a",
    "d2": "2607e62242b7dd0b",
    "d3": "34187f9b230346a4",
    "d4": "3ccc833d595a6557",
    "d12": "bf835e9ae10d25e3",
    "a-multiple-of-3": "a52ee7c5d26a6709",
    "a-multiple-of-5": "4bd3ec4bd92c897d",
    "a5-orbit": "4843ea01bb9c968d",
    "ab-or-aabb": "1fcb310b427edeb1",
    "ab-or-ba": "c12dd5e38f55e076",
    "ab-or-bba": "da6cf6b16fff6169",
    "ab-or-bbaa": "b5af96c46981b134",
    "ab-then-a-then-b": "0b09c84176a2f089",
    "ab-then-b-blocks": "03ac6dcdd353d991",
    "blocks-ab": "99d9ea92ea1ab875",
    "contains-ab": "b1f9de2881511021",
    "cycle-navigation-check": "86424ecfb072de13",
    "divisible-by-3": "0adcb9f47b040eeb",
    "ends-in-b": "9c6aa07fb9b668c8",
    "even-a-no-bb": "734adeffc225c91d",
    "even-a": "4c7eea521d2218c5",
    "flip-flop-state": "22376c71c94a91b9",
    "fours-a": "4c7eea521d2218c5",
    "modular-arithmetic-check": "e8861060a4a5521a",
    "modular-arithmetic-simple": "c84f2c5243f20f51",
    "no-a-then-b": "8c1da495724b3933",
    "no-bb-but-for-c": "fff556747de344a9",
    "no-bb": "317029eb2d2ce630",
    "one-aa-at-most": "444e5f856f8e354f",
    "one-d-between": "963ce54826751302",
    "ordered-abc": "d8d87a1ed37b4543",
    "ordered-abcde": "cecbe5ac30885415",
    "repeat-01": "b030a7a3ab63ae6d",
    "repeat-abab": "dc32b1a9583f327d",
    "repeat-bbac": "cd5c087d429cd62d",
    "s5-orbit": "ec89de15cf9e5f5e",
    "subsequence-ab": "cdd78cf667b567e4",
    "three-ab-then-b-blocks": "3b5c453668bc7f74",
    "three-blocks-ab": "e114585ca1051c9b",
    "triangle": "4f0449721d043ef9",
    "two-counters-in-turn": "5a46273088e68122",
    "zero-then-twos": "6e1fb4f55b6612c6",
    "modular-arithmetic-brackets": "d70d38f5abce6502",
    "solve-equation": "72aff9568c2d115f",
    "missing-duplicate": "a768fbf19c231969",
    "group-s3": "15d15e5564bdede7",
    "group-s4": "7143bb764e219756",
    "group-s5": "7db2dd4dc26b773d",
    "group-a4": "682923bb2231ee24",
    "group-a5": "2bd486425d6df4be",
    "group-a4xz5": "6467d2113bb43654",
    "anbn": "d31364e1a3b64ee1",
    "anbncn": "80333e5fa4a70465",
    "anbncndn": "0136cf808e0da6cf",
    "majority": "146ef85d7def0e2f",
    "reset-dyck-1": "5974c9b72d756681",
    "marked-reversal": "6868b2e677fd99f9",
    "unmarked-reversal": "3d6b1641ff467bc9",
    "marked-copy": "537f2fa9107609b4",
    "unmarked-copy": "84663c449c5d1a4e",
    "odds-first-check": "0093b5c7e8ce91a2",
    "bucket-sort-check": "c0da1361136d972b",
    "stack-manipulation-check": "01d84487d991ced7",
    "missing-duplicate-check": "cc64dd524ae6ac4e",
    "binary-addition-check": "334a99d669549955",
    "binary-multiplication-check": "90dceeae5feed1fe",
    "square-root-check": "c8f6432974107ea9",
    "hardest-cfl": "f23bcf38fb5d1229",
}


def fingerprint(strings_BN):
    return hashlib.sha256(strings_BN.astype("<i8").tobytes()).hexdigest()[:16]


def test_pinned_samples(language, spec):
    version = 2001 if spec.name in FILES.keys() - FIRST else 1
    assert spec.version == {"tomita-3": 2}.get(spec.name, version)
    strings_BN = language.sample(Stream("golden", spec.name), language.round_length(60), 64)
    assert fingerprint(strings_BN) == GOLDEN[spec.name]


@pytest.mark.parametrize(("p", "expected"), [(0.1, "e74f6aff7c1f9589")])
def test_pinned_biased_bits(make, p, expected):
    strings_BN = make("parity", p=p).sample(Stream("golden"), 60, 64)
    assert fingerprint(strings_BN) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("d12", "89e38748a6e4fcdd"), ("tomita-3", "c9b22d67528e9699")]
)
def test_pinned_members(make, name, expected):
    strings_BN = make(name).sample_members(Stream("golden"), 1000, 16)
    assert fingerprint(strings_BN) == expected
