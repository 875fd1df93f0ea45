"""Records that an audit passes over, and that it refuses unless they are not asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from formalbench.contracts.record import Origin
from formalbench.store import weights_path
from formalbench_leaderboard.publishing.audit import Auditor


def test_what_is_passed_over(host, run, tmp_path, forge):
    auditor = Auditor(host, 1, "cpu")
    file, record = run()
    forge(file, record, status="error", test=None, weights=None)
    assert auditor.audit(file).reasons == ["did not finish: nothing to test"]
    older = record.task.model_copy(update={"version": record.task.version + 1})
    forge(file, record, task=older)
    assert auditor.audit(file).verdict == "skipped"
    file, _ = run(seed=1)
    weights_path(file).unlink()
    assert auditor.audit(file, asked=False).verdict == "skipped"
    results = Path(__file__).parents[3] / "leaderboard" / "results" / "exact"
    verified = next(results.rglob("*.json"))
    assert "--verify N repeats" in auditor.audit(verified, asked=False).reasons[0]


@pytest.mark.slow
def test_records_of_plugins_that_are_not_at_hand(host, run, forge):
    file, record = run()
    source = Origin(distribution="mine.py", sha256="a" * 64)
    forge(file, record, model=record.model.model_copy(update={"source": source}))
    with Auditor(host, 1, "cpu") as auditor:
        for asked in (True, False):
            found = auditor.audit(file, asked=asked)
            assert found.verdict == "refused"
            assert "its model.source is mine.py, with other contents" in found.reasons[0]
