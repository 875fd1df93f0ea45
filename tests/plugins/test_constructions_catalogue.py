"""What the announced exact models say of themselves, and what they refuse."""

from __future__ import annotations

import pytest
from exact_helpers import get_host, make
from formalbench.checks.plugins import check_spec
from formalbench.contracts.errors import RequestError
from formalbench_models.catalogue.constructions import CONSTRUCTIONS

every_spec = pytest.mark.parametrize("spec", CONSTRUCTIONS, ids=lambda spec: spec.name)

def example(spec):
    """Return a name that fits a spec, and its task's."""
    return (text.format(k=2, D=3) for text in (spec.name, spec.task))


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
