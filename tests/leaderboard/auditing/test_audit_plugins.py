"""Audits of records with parts of plugins; formalbench's own code stands for a plugin's here."""

from __future__ import annotations

import pytest
from formalbench_leaderboard.publishing import untrusted_plugins
from formalbench_leaderboard.publishing.audit import Auditor


@pytest.fixture
def audit_as(host, monkeypatch):
    """Audit a file as if these parts of its record were a plugin's."""

    def audit(file, *parts):
        monkeypatch.setattr(
            untrusted_plugins, "foreign_parts", lambda record, host: frozenset(parts)
        )
        with Auditor(host, 1, "cpu") as auditor:
            return auditor.audit(file)

    return audit


@pytest.mark.parametrize(
    "parts", [("model",), pytest.param(("task",), marks=pytest.mark.slow)], ids=str
)
def test_answers_and_labels_from_other_processes_are_judged_alike(
    audit_as, audit, run, forge, parts
):
    file, record = run()
    here, there = audit(file), audit_as(file, *parts)
    assert (there.verdict, there.reasons, there.changed) == ("ok", [], 0)
    assert (there.recorded, there.fresh, there.p) == (here.recorded, here.fresh, here.p)
    forge(file, record, correct=[127] * 4)
    assert audit_as(file, *parts).verdict == "MISMATCH"


@pytest.mark.slow
def test_an_exact_model_answers_in_another_process(audit_as, run, forge):
    file, record = run("exact-parity")
    assert audit_as(file, "model").verdict == "ok"
    forge(file, record, correct=[100, 128, 128, 128])
    assert audit_as(file, "model").verdict == "MISMATCH"


@pytest.mark.slow
def test_what_a_plugins_own_objective_says_is_not_judged(audit_as, run):
    found = audit_as(run()[0], "objective")
    assert (found.verdict, found.p) == ("not judged", None)
    assert "for a plugin's own code to say" in found.reasons[0]
