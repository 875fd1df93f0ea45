"""What the announced exact models say of themselves, and what they refuse."""

from __future__ import annotations

import pytest
from exact_helpers import get_host, make
from formalbench.checks.plugins import check_spec
from formalbench.cli.show import model_facts
from formalbench.contracts.errors import RequestError
from formalbench_models.constructions.catalogue import CONSTRUCTIONS

OURS = [spec for spec in CONSTRUCTIONS if spec.name != "exact-regulargpt"]


def named(spec):
    """Return a name of the model, and of the task it is made for."""
    name, task = (text.format(k=2, D=3) for text in (spec.name, spec.task))
    return name, task


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.name)
def test_each_says_what_it_is(spec):
    name, task = named(spec)
    network = get_host().network(name, get_host().task(task))
    assert spec.kind == "exact"
    assert spec.reference
    assert all(option.help for option in spec.options.values())
    assert network.lengths[0] >= 0
    assert all(isinstance(value, float) for value in network.constants.values())
    assert set(network.description) == {"width", "depth", "heads", "hidden", "precision"}
    assert network.description["precision"]


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.name)
def test_each_keeps_what_every_model_promises(spec):
    checks = check_spec(get_host(), named(spec)[0])
    assert len(checks) >= 9
    assert [check for check in checks if check.problem] == []


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.name)
def test_showing_one_counts_its_parameters_on_its_own_task(spec, tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path))
    name, task = named(spec)
    parameters = model_facts(get_host(), name)["parameters"]
    assert parameters["task"] == task.partition(":")[0] + f":{spec.objectives[0]}"
    assert parameters["count"] > 0


@pytest.mark.parametrize("spec", OURS, ids=lambda spec: spec.name)
def test_a_wrong_task_is_one_line(spec):
    name, task = named(spec)
    language = task.partition(":")[0]
    with pytest.raises(RequestError) as error:
        get_host().network(name, get_host().task(f"tomita-3:{spec.objectives[0]}"))
    assert str(error.value) == f"{name} is made for {language}, not for tomita-3"


@pytest.mark.parametrize(
    ("model", "language", "options", "message"),
    [
        ("exact-parity", "parity", {"eta": 0.1}, "needs layer norm: add --set eps=0"),
        ("exact-first", "first", {"eta": 0.1}, "needs layer norm"),
        ("exact-first", "first", {"eta": 0.1, "log_length": True, "c": 0.5}, "c of 1 or more"),
        ("exact-parity", "parity", {"eta": 0.7, "eps": 0.0}, "below ln 2"),
        ("exact-dyck-1-0", "dyck-1", {}, "at least 1"),
        ("exact-dyck-1-2", "dyck-1-3", {}, "made for dyck-1-2, not for dyck-1-3"),
    ],
)
def test_options_that_make_no_sense_are_one_line(model, language, options, message):
    with pytest.raises(RequestError, match=message):
        make(model, language, options)
