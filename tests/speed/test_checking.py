"""The made-up records that `speed/checking.py` times are such as a repository takes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from formalbench.store import Store

SPEED = Path(__file__).parents[2] / "speed"


@pytest.fixture
def checking(monkeypatch):
    monkeypatch.syspath_prepend(str(SPEED))
    yield importlib.import_module("checking")
    del sys.modules["checking"]


@pytest.mark.slow
def test_every_published_cell_of_quick_makes_records(checking, monkeypatch, tmp_path):
    monkeypatch.setattr(checking, "RECORDS", 150)
    size, groups = checking.make(tmp_path)
    found = Store(tmp_path).files()
    assert len(found) == 150
    assert size == sum(path.stat().st_size for path in found)
    assert groups == len(
        {(r.model.name, str(r.model.options), r.task.name) for r in found.values()}
    )
    assert all(record.status == "finished" for record in found.values())
