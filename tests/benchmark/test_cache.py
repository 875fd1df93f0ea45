"""The cache: computes once, and never trusts what it finds."""

import pytest
from formalbench.cache import cache_folder, cached


def test_computes_once():
    calls = []

    def compute():
        calls.append(1)
        return {"value": [1, 2.5]}

    assert cached(["a", 1], compute) == {"value": [1, 2.5]}
    assert cached(["a", 1], compute) == {"value": [1, 2.5]}
    assert len(calls) == 1
    cached(["a", 2], compute)
    assert len(calls) == 2


@pytest.mark.parametrize("contents", ["", "{", "[]", "null", "{}", '{"key": "other", "value": 1}'])
def test_a_damaged_entry_is_computed_again(contents):
    cached("key", lambda: 1)
    (entry,) = cache_folder().iterdir()
    entry.write_text(contents)
    assert cached("key", lambda: 2) == 2
    assert cached("key", lambda: 3) == 2


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert cached("key", lambda: 1) == 1
    assert cached("key", lambda: 2) == 2
