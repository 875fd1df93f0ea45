"""What the announced exact models say of themselves, and what they refuse."""

from __future__ import annotations

import pytest
from exact_helpers import get_host, make
from formalbench.checks.plugins import check_spec
from formalbench.contracts.errors import RequestError
from formalbench.contracts.network import traits_of
from formalbench.host.options import option_facts
from formalbench_models.catalogue.constructions import CONSTRUCTIONS

every_spec = pytest.mark.parametrize("spec", CONSTRUCTIONS, ids=lambda spec: spec.name)

FOR_AUTOMATA = ("exact-regulargpt", "exact-deltaproduct", "exact-crasp")
"""Those for any automaton, or any of a class."""


def example(spec):
    """Return a name that fits a spec, and its task's."""
    return (text.format(k=2, D=3) for text in (spec.name, spec.task))


@every_spec
def test_each_says_what_it_is(spec):
    network, _ = make(*example(spec))
    assert spec.kind == "exact"
    assert spec.reference
    assert all(option["help"] for option in option_facts(spec).values())
    traits = traits_of(network)
    assert traits.lengths[0] >= 0
    assert all(isinstance(value, float) for value in traits.constants.values())
    assert traits.width > 0
    assert (traits.depth(40) if callable(traits.depth) else traits.depth) > 0
    assert list(traits.notes) == ["heads", "hidden", "precision"]
    assert traits.notes["precision"]
    # What sees the whole string must not be asked after a prefix.
    assert traits.causal == (spec.name in FOR_AUTOMATA or "generate" in spec.objectives)


@every_spec
def test_each_keeps_what_every_model_promises(spec):
    name, _ = example(spec)
    checks = check_spec(get_host(), name)
    assert len(checks) >= 9
    assert [check for check in checks if check.problem] == []


@pytest.mark.parametrize(
    ("model", "language", "options", "message"),
    [
        ("exact-parity", "parity", {"eta": 0.1}, "needs layer norm: add --set eps=0"),
        ("exact-first", "first", {"eta": 0.1}, "needs layer norm"),
        ("exact-first", "first", {"eta": 0.1, "log_length": True, "c": 0.5}, "c of 1 or more"),
        (
            "exact-parity",
            "parity",
            {"eta": 0.7, "eps": 0.0},
            "eta=0.7: must be at most 0.6931",
        ),
        ("exact-dyck-1-0", "dyck-1", {}, "at least 1"),
        ("exact-dyck-1-2", "dyck-1-3", {}, "recognises dyck-1-2, not dyck-1-3"),
    ],
)
def test_options_that_make_no_sense_are_one_line(model, language, options, message):
    with pytest.raises(RequestError, match=message):
        make(model, language, options)
