"""Names and patterns."""

import pytest
from formalbench.contracts.specs import check_name, match_name


@pytest.mark.parametrize("name", ["parity", "d2", "dyck-{k}-{D}", "a-1-b", "0"])
def test_good_names(name):
    check_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "Parity", "a--b", "-a", "a-", "a b", "a_b", "a/b", "../a", "a:b", "ä", "a\n", "{}",
     "a" * 65, "a-{k}-{k}", 3, None],
)  # fmt: skip
def test_bad_names(name):
    with pytest.raises(ValueError, match="bad name"):
        check_name(name)


@pytest.mark.parametrize(
    ("pattern", "name", "fields"),
    [
        ("dyck-{k}-{D}", "dyck-2-3", {"k": 2, "D": 3}),
        ("dyck-{k}-{D}", "dyck-12-100", {"k": 12, "D": 100}),
        ("dyck-{k}-{D}", "dyck-2", None),
        ("dyck-{k}", "dyck-2-3", None),
        ("dyck-{k}-{D}", "dyck-02-3", None),
        ("dyck-{k}-{D}", "dyck-x-3", None),
        ("dyck-{k}-{D}", "dyck--1-3", None),
        ("dyck-{k}-{D}", "dyck-2-3\n", None),
        ("d{n}", "d0", {"n": 0}),
        ("d{n}", "d" + "9" * 4000, None),
        ("parity", "parity", {}),
        ("parity", "parityx", None),
    ],
)
def test_patterns(pattern, name, fields):
    assert match_name(pattern, name) == fields
