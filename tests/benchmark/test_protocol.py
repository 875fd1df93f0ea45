"""Protocols: the shipped ones are valid, and what could not work is refused."""

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from pydantic import ValidationError


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"learning_rates": [0.0]}, "learning_rates"),
        ({"optimiser": {"gradient_clip": 0}}, "optimiser.gradient_clip"),
        ({"optimiser": {"betas": {"first": 0.9}}}, "optimiser"),
        ({"mixed_lengths": True}, "mixed_lengths"),
        ({"test": {"lengths": [50, 40]}}, "lengths must grow"),
        ({"test": {"length_penalty": 0.6}}, "length_penalty needs beam"),
        ({"splits": {"train": [10, 9]}}, "shortest, longest"),
        ({"splits": {"train": None}}, "name the lengths"),
        ({"name": "Bad Name"}, "name"),
        ({"steps": 2010}, "multiple"),
        ({"decay": {"steps": 610}}, "multiple"),
        ({"evaluate_every": 30, "validation": {"every": 100}}, "multiple of evaluate_every"),
        ({"steps": 100, "decay": {"steps": 120}}, "decay.steps (120) must not exceed steps (100)"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(change, place):
    with pytest.raises(ValidationError) as caught:
        Protocol.model_validate({"name": "p", "version": 1, **change})
    assert place in str(caught.value).replace("\n", ".")


def test_the_version_before_is_still_known(host):
    old, new = host.protocol("standard", version=3), host.protocol("standard")
    assert (old.version, old.decay.validated) == (3, None)
    assert host.protocol("standard", {"test.strings": "64"}, 3).key == ("standard", 3)
    assert host.protocol("standard", version=new.version) == new
    assert host.protocol("standard", version=1) == new  # nothing is left of that one


def test_what_joined_later_changes_no_identity():
    plain = Protocol.model_validate({"name": "plain", "version": 1})
    assert not {"beam", "length_penalty"} & plain.test_facts().keys()
    assert "label_smoothing" not in plain.train_facts()
    searched = Protocol.model_validate({"name": "plain", "version": 1, "test": {"beam": 4}})
    assert searched.test_facts() == {**plain.test_facts(), "beam": 4}
    assert searched.train_facts() == plain.train_facts()


def test_labels_are_smoothed_only_by_objectives_that_can(host):
    protocol = Protocol.model_validate({"name": "x", "version": 1, "label_smoothing": 0.1})
    with pytest.raises(RequestError, match="classify does not support label_smoothing"):
        protocol.apply(host.task("parity"))
