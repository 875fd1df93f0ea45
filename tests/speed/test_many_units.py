"""A session of many units and lost workers: the scheduler and the executor ``slurm`` are real."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "speed"


@pytest.fixture
def many_units(own_place, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr("formalbench_executors.slurm.TICK", 0.01)
    monkeypatch.setattr("formalbench_executors.slurm.QUIET", 0.05)
    yield importlib.import_module("many_units")
    del sys.modules["many_units"]


@pytest.mark.slow
def test_every_unit_is_done_once_or_recorded_as_failed(many_units, tmp_path):
    done = many_units.simulate(120, 16, 0.3, tmp_path / "place")
    many_units.check(done)
    failed = [record for record in done.records if record.status != "finished"]
    assert len(done.records) == 120
    assert 0 < len(failed) < 20  # 2 in a hundred are lost before they write anything, twice
    assert 120 < done.cluster.tried <= 120 + 40 + len(failed)
    assert len(done.cluster.store.records()) == 120
