"""Protocols: the shipped ones are valid, and what could not work is refused."""

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from pydantic import ValidationError


def test_the_defaults_of_a_cpu_and_a_gpu(host):
    quick, standard = host.protocol("quick"), host.protocol("standard")
    assert (quick.steps, quick.seeds, quick.learning_rates) == (2000, 3, (0.001,))
    assert (quick.test.lengths, quick.test.strings) == (16, 256)
    assert quick.curriculum.kind == "interleaved"
    assert (standard.steps, standard.batch, standard.seeds) == (20_000, 32, 5)
    assert standard.learning_rates == (0.001, 0.0003)
    assert (standard.test.lengths, standard.test.strings) == (32, 256)
    assert standard.curriculum.kind == "uniform"


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
        ({"optimiser": {"gradient_clip": 0}}, "optimiser.gradient_clip"),
        ({"optimiser": {"betas": {"first": 0.9}}}, "optimiser"),
        ({"accumulate": 0}, "accumulate"),
        ({"mixed_lengths": True}, "mixed_lengths"),
        ({"test": {"lengths": [50, 40]}}, "lengths must grow"),
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


def test_an_unknown_key_is_one_line_that_names_file_and_key(refused, write):
    path = write("p.yaml", "name: p\nversion: 1\nsteps: 700\nstpes: 10\n")
    line = refused("list", "protocols", "--plugin", path)
    assert str(path) in line
    assert "stpes" in line


def test_the_shipped_files_say_what_the_specs_say(host):
    entries = host.protocols.all()
    assert len(entries) > 20
    for entry in entries:
        assert host.protocol(entry.spec.name).name == entry.spec.name


ADAM = {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0}
SHIPPED = {
    "quick": {
        "learning_rates": (0.001,), "batch": 128, "steps": 2000, "evaluate_every": 20,
        "curriculum": {"kind": "interleaved", "first": 2, "growth": 1.5, "error": 0.02},
        "decay": {"steps": 600, "final": 0.02, "mastered": 0.02},
        "validation": {"every": 100, "lengths": 16, "strings": 64},
        "test": {"lengths": 16, "strings": 256},
    },
    "standard": {
        "version": 4, "seeds": 5, "learning_rates": (0.001, 0.0003), "fallback": True,
        "batch": 32, "steps": 20_000, "evaluate_every": 40,
        "schedule": {"name": "constant", "warm_up": 200},
        "optimiser": {"name": "adam", "gradient_clip": 1.0, **ADAM},
        "decay": {
            "steps": 600, "final": 0.02, "mastered": 0.005, "validated": 0.99, "share": 0.5,
        },
        "patience": {"after": 5000, "steps": 5000, "gain": 0.01},
        "validation": {"every": 200, "lengths": 16, "strings": 64},
        "test": {"lengths": 32, "strings": 256},
    },
    "chi-table1": {
        "learning_rates": (0.0001, 0.0003, 0.0005), "steps": 100_000, "evaluate_every": 100,
        "curriculum": {"kind": "uniform", "first": 2, "growth": 1.5, "error": 0.02},
        "decay": {"steps": 10_000, "final": 1.0, "mastered": 1e-9},
        "validation": {"every": 1000, "lengths": 50, "strings": 64},
        "test": {"lengths": "all", "strings": 512},
    },
    "chiang-cholak-fig4-300": {
        "version": 2, "seeds": 20, "shared_lengths": True,
        "learning_rates": (0.0003,), "batch": 1, "steps": 10_000,
        "optimiser": {"name": "adam", "gradient_clip": None, **ADAM},
        "decay": {"steps": 10_000, "final": 1.0, "mastered": 0.0},
        "test": {"lengths": 1, "strings": 1000},
        "splits": {"train": (300, 300), "test": (1000, 1000)},
        "watch": {
            "every": 500, "lengths": (1000,), "strings": 100,
            "probes": ("attention-on-first",), "probed": 20,
        },
    },
    "steffen-dyck-100": {
        "seeds": 3, "learning_rates": (0.0003,), "batch": 1, "steps": 15_000,
        "evaluate_every": 1500, "test": {"lengths": "all", "strings": 1024},
        "splits": {"train": (100, 100), "test": (100, 100)},
    },
    "yao": {
        "version": 3, "learning_rates": (0.01, 0.001), "batch_tokens": 512, "steps": 120_000,
        "patience": {"after": 14_700, "steps": 14_700, "gain": 1e-4},
        "validation": {"every": 4900, "lengths": 16, "strings": 64, "tokens": 200_000},
    },
    "yao-fig4-lstm-quick": {
        "version": 2, "seeds": 2, "learning_rates": (0.01, 0.001), "batch_tokens": 512,
        "optimiser": {"name": "adam", "gradient_clip": 1.0, **ADAM},
        "schedule": {"name": "constant", "warm_up": 0},
        "decay": {"steps": 16_000, "final": 0.02, "mastered": 0.0},
        "validation": {"every": 2000, "lengths": 16, "strings": 64, "tokens": 100_000},
        "test": {"lengths": 16, "strings": 256, "tokens": 1_000_000},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_shipped_protocol_comes_to(host, name):
    contents = host.protocol(name).model_dump()
    assert {key: contents[key] for key in SHIPPED[name]} == SHIPPED[name]


def test_the_version_before_is_still_known(host):
    old, new = host.protocol("standard", version=3), host.protocol("standard")
    assert (old.version, old.decay.validated) == (3, None)
    assert host.protocol("standard", {"test.strings": "64"}, 3).key == ("standard", 3)
    assert host.protocol("standard", version=new.version) == new
    assert host.protocol("standard", version=1) == new  # nothing is left of that one


def test_every_shipped_protocol_draws_strings_of_its_own(host):
    for entry in host.protocols.all():
        protocol = host.protocol(entry.spec.name)
        name, version = protocol.key  # a version may change the test alone
        assert name == protocol.name
        assert version <= protocol.version


def test_what_joined_later_changes_no_identity():
    plain = Protocol.model_validate({"name": "plain", "version": 1})
    assert not {"beam", "length_penalty"} & plain.test_facts().keys()
    assert "label_smoothing" not in plain.train_facts()
    searched = Protocol.model_validate({"name": "plain", "version": 1, "test": {"beam": 4}})
    assert searched.test_facts() == {**plain.test_facts(), "beam": 4}
    assert searched.train_facts() == plain.train_facts()


def test_a_length_penalty_is_of_a_search():
    with pytest.raises(ValidationError, match="length_penalty needs beam"):
        Protocol.model_validate({"name": "x", "version": 1, "test": {"length_penalty": 0.6}})


def test_labels_are_smoothed_only_by_objectives_that_can(host):
    protocol = Protocol.model_validate({"name": "x", "version": 1, "label_smoothing": 0.1})
    with pytest.raises(RequestError, match="classify does not support label_smoothing"):
        protocol.apply(host.task("parity"))
