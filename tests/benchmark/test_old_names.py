"""Names of version 0.3 that plugins may still use in this version, with a warning."""

import dataclasses

import formalbench
import formalbench_papers
import pytest
from formalbench import ExecutorSpec, Metric, Objective, Resources
from formalbench.objectives.classify import Classify


def test_a_metric_with_the_old_name_of_precompute():
    with pytest.warns(DeprecationWarning, match="Old.know is now precompute"):

        class Old(Metric):
            name = "old"

            def know(self, source, strings_BN):
                return 2 * strings_BN

            def measure(self, logits, example): ...

    assert Old().precompute(None, 3) == 6


def test_an_objective_with_old_names():
    with pytest.warns(DeprecationWarning, match="is now") as warned:

        class Old(Classify):
            def plain(self, source, example):
                return [example]

            def telling(self, logits, example, primary):
                return 7.0

    assert len(warned) == 2
    assert Old().to_json(None, 3) == [3]
    assert Old().decisive_logit(None, None, None) == 7.0
    with pytest.warns(DeprecationWarning, match="plain is now to_json"):
        abstract = type("Abstract", (Objective,), {"plain": Old.plain})
    assert "to_json" not in abstract.__abstractmethods__


def test_a_new_name_has_precedence(recwarn):
    both = {"know": lambda *_: "old", "precompute": lambda *_: "new"}
    made = type("Both", (Metric,), {"name": "both", "measure": None, **both})
    assert made().precompute(None, None) == "new"
    assert not recwarn


def test_an_executor_with_the_old_name_of_resources(recwarn):
    with pytest.warns(DeprecationWarning, match="workplace is now resources"):
        old = ExecutorSpec("old", "an executor", "a:b", workplace="a:c")
    assert dataclasses.replace(old, name="new").resources == "a:c"
    with pytest.warns(DeprecationWarning, match="Workplace is now Resources"):
        assert formalbench.Workplace is Resources
    assert not recwarn


@pytest.mark.parametrize(("old", "new"), [("Wanted", "CellPlan"), ("Got", "CellRecords")])
def test_old_names_of_the_papers_warn(old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
        found = getattr(formalbench_papers, old)
    assert found is getattr(formalbench_papers, new)


def test_records_of_a_cell_with_the_old_name_of_their_plan():
    plan = formalbench_papers.CellPlan("row", "column", "gru", "parity", "quick")
    with pytest.warns(DeprecationWarning, match="CellRecords.wanted is now plan"):
        assert formalbench_papers.CellRecords(plan, ()).wanted is plan
