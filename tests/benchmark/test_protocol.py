"""Protocols: the shipped ones are valid, and what could not work is refused."""

from pathlib import Path

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.host.yaml_file import read_protocol
from pydantic import ValidationError


def test_the_defaults_of_a_cpu_and_a_gpu(host):
    quick, standard = host.protocol("quick"), host.protocol("standard")
    assert (quick.steps, quick.seeds, quick.learning_rates) == (2000, 3, (0.001,))
    assert (quick.test.lengths, quick.test.strings) == (16, 256)
    assert quick.curriculum.kind == "staged"
    assert (standard.steps, standard.batch) == (100_000, 128)
    assert standard.learning_rates == (0.0001, 0.0003, 0.0005)
    assert standard.test.lengths == "all"
    assert {e.spec.device: e.spec.name for e in host.protocols.all() if e.spec.device} == {
        "cpu": "quick",
        "cuda": "standard",
    }


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"step": 10}, "step"),
        ({"decay": {"stops": 1}}, "decay.stops"),
        ({"test": {"lengths": "some"}}, "test.lengths"),
        ({"test": {"lengths": 0}}, "test.lengths"),
        ({"steps": 0}, "steps"),
        ({"steps": 1.5}, "steps"),
        ({"seeds": -1}, "seeds"),
        ({"learning_rates": []}, "learning_rates"),
        ({"learning_rates": [0.0]}, "learning_rates"),
        ({"learning_rates": [float("nan")]}, "learning_rates"),
        ({"learning_rates": [float("inf")]}, "learning_rates"),
        ({"optimiser": {"name": "sgd"}}, "optimiser.name"),
        ({"curriculum": {"growth": 0.5}}, "curriculum.growth"),
        ({"decay": {"final": 1.5}}, "decay.final"),
        ({"name": "Bad Name"}, "name"),
        ({"name": "../up"}, "name"),
        ({"schema_version": 2}, "schema_version"),
        ({"precision": "fp16"}, "precision"),
        ({"steps": 2010}, "multiple"),
        ({"decay": {"steps": 610}}, "multiple"),
        ({"evaluate_every": 30, "validation": {"every": 100}}, "multiple of evaluate_every"),
        ({"steps": 100, "decay": {"steps": 120}}, "decay.steps must not exceed steps"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(change, place):
    with pytest.raises(ValidationError) as caught:
        Protocol.model_validate({"name": "p", "version": 1, **change})
    assert place in str(caught.value).replace("\n", ".")


def test_a_protocol_is_frozen():
    protocol = Protocol(name="p", version=1)
    with pytest.raises(ValidationError):
        protocol.steps = 3


def test_an_unknown_key_is_one_line_that_names_file_and_key(write):
    path = write("p.yaml", "name: p\nversion: 1\nsteps: 700\nstpes: 10\n")
    with pytest.raises(RequestError) as caught:
        read_protocol(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert "stpes" in message


def test_the_shipped_files_say_what_the_specs_say(host):
    for entry in host.protocols.all():
        assert isinstance(entry.spec.path, Path)
        assert read_protocol(entry.spec.path).name == entry.spec.name
