"""Curves over training: what is looked at, that it changes nothing, and that a kill loses none."""

import pytest
import small_training
import torch
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.record import Curve, History, Record
from formalbench.contracts.specs import Splits
from formalbench.contracts.task import Task
from formalbench.contracts.verification import parse_any
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.evaluation.cells import validation_set, watch_set
from formalbench.evaluation.evaluate import evaluate
from formalbench.training.gradients import BatchedGradients, SequentialGradients
from formalbench.training.run_state import Member
from formalbench.training.trainer import train_cohort
from formalbench.training.validation import MAX_NUMBERS
from pydantic import ValidationError
from transductions import Reversed

SHORT = {
    "name": "watched", "version": 1, "batch": 4, "steps": 60, "evaluate_every": 10,
    "curriculum": {"kind": "uniform"}, "decay": {"steps": 60, "final": 1.0},
    "validation": {"every": 60, "lengths": 1, "strings": 8},
    "test": {"lengths": 1, "strings": 8}, "splits": {"train": [4, 6], "test": [12, 12]},
}  # fmt: skip
WATCH = {"every": 20, "lengths": [12, 30], "strings": 10, "probes": ["attention-on-first"]}
WATCHED = SHORT | {"watch": WATCH}
MEMBERS = [Member(0.01, 0), Member(0.01, 1), Member(0.003, 0)]


def cohort(host, protocol=WATCHED, members=MEMBERS, program=BatchedGradients):
    protocol = Protocol.model_validate(protocol)
    task = protocol.apply(host.task("first"))
    options = {"width": 8, "heads": 2, "causal": True}
    build = lambda: host.network("transformer", task, options)  # noqa: E731
    return small_training.cohort(host, task, protocol, members, build, program)


@pytest.mark.parametrize("program", [SequentialGradients, BatchedGradients])
def test_the_last_point_is_what_the_last_weights_do(host, program):
    wanted = cohort(host, program=program)
    watched = watch_set(wanted.task, wanted.protocol.watch)
    for trained in train_cohort(wanted):
        history = trained.history
        assert history.steps == (20, 40, 60)
        assert history.fingerprint == watched.fingerprint
        assert [(curve.length, curve.strings) for curve in history.curves] == [(12, 10), (30, 10)]
        scores = evaluate(trained.network, wanted.task, watched, torch.device("cpu"))
        for curve, score in zip(history.curves, scores, strict=True):
            assert len(curve.correct) == len(curve.millibits) == 3
            assert curve.correct[-1] == score.measures["accuracy"].total
            assert curve.millibits[-1] == round(1000 * score.measures["cross-entropy"].mean)
            assert len(set(curve.millibits)) > 1
            assert sorted(curve.probes) == [
                f"attention-on-first.block.{at}.head.{head}" for at in (0, 1) for head in (0, 1)
            ]


def test_watching_changes_nothing(host):
    with_curves, without = train_cohort(cohort(host)), train_cohort(cohort(host, SHORT))
    for one, other in zip(with_curves, without, strict=True):
        assert other.history is None
        assert one.best.measures == other.best.measures
        for mine, theirs in zip(one.network.parameters(), other.network.parameters(), strict=True):
            assert torch.equal(mine, theirs)


def test_its_strings_are_nobody_elses(host):
    protocol = Protocol.model_validate(
        WATCHED
        | {"splits": {"train": [30, 30], "test": [30, 30]}}
        | {"validation": {"every": 60, "lengths": 1, "strings": 10}}
        | {"test": {"lengths": 1, "strings": 10}, "watch": {"lengths": [30], "strings": 10}}
    )
    task = protocol.apply(host.task("first"))
    sets = [
        watch_set(task, protocol.watch),
        draw_test_set(task, protocol),
        validation_set(task, protocol),
    ]
    strings = [{row.tobytes() for row in one.cells[0].examples[0].inputs} for one in sets]
    assert len(strings[0] | strings[1] | strings[2]) == 30


def test_what_a_probe_reads_is_not_finite(host, monkeypatch):
    monkeypatch.setattr(
        "formalbench.training.validation.read_probe",
        lambda name, read, network, batch: {"here": torch.full((len(batch.symbols),), torch.nan)},
    )
    assert {one.status for one in train_cohort(cohort(host))} == {"diverged"}


YAML = """
    name: short
    version: 1
    seeds: 1
    learning_rates: [0.01]
    steps: {steps}
    batch: 1
    evaluate_every: 10
    decay: {{steps: 10}}
    validation: {{every: 10, lengths: 1, strings: 4}}
    test: {{lengths: 1, strings: 4}}
    splits: {{train: [3, 3], test: [5, 5]}}
    watch: {{every: 10, lengths: [5], strings: 4, probes: [{probe}]}}
"""
RUN = ("--task", "first", "--protocol", "short", "--device", "cpu", "--jobs", 1)


def test_a_record_has_the_curves(cli, write, results):
    path = write("short.yaml", YAML.format(steps=20, probe="attention-entropy"))
    options = ("--set", "width=8", "--set", "heads=1", "--set", "layers=1", "--seeds", 2)
    done = cli("run", "--model", "transformer", *RUN, "--plugin", path, *options)
    assert done.code == 0, done.err
    for file in results.rglob("*.json"):
        record = parse_any(file.read_text(), file.name)
        (curve,) = record.training.history.curves
        (entropy,) = curve.probes.values()
        assert len(entropy) == len(curve.correct) == 2
        assert all(0 < bits < 2.6 for bits in entropy)  # of six positions: at most log 6


@pytest.mark.parametrize(
    ("model", "steps", "probe", "reason"),
    [
        ("bag", 20, "attention-on-first", "protocol short on model bag: probe attention-on-first"),
        ("bag", 20, "attention-on-first", "looks into a network: Bag has no trace"),
        ("regulargpt", 20, "attention-on-first", "the trace of RegularGPT has no first.position"),
        ("rnn", 20, "attention-entropy", "the trace of Recurrent has no answer.position"),
        ("transformer", 20, "attention-on-fist", "did you mean attention-on-first"),
        ("transformer", 2000, "attention-entropy", "its curves would have 2000 numbers"),
    ],
)
def test_what_cannot_be_watched_is_one_line(
    refused, write, odd_models, model, steps, probe, reason
):
    path = write("short.yaml", YAML.format(steps=steps, probe=probe))
    plugins = ("--plugin", path, "--plugin", odd_models)
    assert reason in refused("run", "--model", model, *RUN, *plugins)


def test_a_length_without_strings_is_one_line(refused, write):
    text = YAML.format(steps=20, probe="attention-entropy").replace("lengths: [5]", "lengths: [6]")
    line = refused(
        *("run", "--model", "transformer", "--task", "modular-arithmetic"),
        *("--protocol", "short", "--plugin", write("short.yaml", text)),
    )
    assert "modular-arithmetic:classify has no strings of length 6 (watch)" in line


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"every": 15}, "watch.every must be a multiple of evaluate_every"),
        ({"lengths": []}, "at least 1 item"),
        ({"lengths": [30, 12]}, "lengths must grow"),
        ({"probes": ["a", "a"]}, "probes must differ"),
        ({"length": [1]}, "Extra inputs"),
    ],
)
def test_a_watch_that_could_not_work_is_refused(change, reason):
    with pytest.raises(ValidationError, match=reason):
        Protocol.model_validate(SHORT | {"watch": WATCH | change})


def test_curves_are_parallel():
    curve = {"length": 5, "strings": 4, "correct": (1, 2), "millibits": (3, 4)}
    Curve(**curve, probes={"p": (0.1, 0.2)})
    for change in ({"correct": (1,)}, {"correct": (1, 5)}, {"probes": {"p": (0.1,)}}):
        with pytest.raises(ValidationError):
            Curve(**(curve | change))
    Curve(**(curve | {"correct": (1, 5.5), "answers": 8}))
    longer = Curve(**(curve | {"length": 7, "correct": (1,), "millibits": (3,)}))
    with pytest.raises(ValidationError, match="differ in size"):
        History(every=10, fingerprint="0" * 64, curves=(Curve(**curve), longer))


def test_a_record_with_as_many_numbers_as_may_be_is_small(cli, write, results):
    path = write("short.yaml", YAML.format(steps=20, probe="attention-on-first"))
    assert cli("run", "--model", "transformer", *RUN, "--plugin", path).code == 0
    (file,) = results.rglob("*.json")
    data = parse_any(file.read_text(), file.name).model_dump(mode="json")
    points, series = 100, MAX_NUMBERS // 100 - 2
    names = [f"attention-on-first.block.{i}.head.0" for i in range(series)]
    curve = {
        "length": 1000,
        "strings": 100,
        "correct": [100] * points,
        "millibits": [12345] * points,
        "probes": {name: [0.0001234] * points for name in names},
    }
    data["training"]["history"]["curves"] = [curve]
    assert len(Record.model_validate(data).to_json()) <= 8192


def test_curves_of_answers_say_out_of_how_many(host):
    protocol = Protocol.model_validate(
        SHORT | {"watch": {"every": 60, "lengths": [5], "strings": 4}}
    )
    task = Task("reversed", 1, Reversed(), host.objective("transduce"), Splits((2, 4), (5, 6)))
    build = lambda: host.network("rnn", task, {"width": 8})  # noqa: E731
    wanted = small_training.cohort(host, task, protocol, MEMBERS[:1], build)
    (trained,) = train_cohort(wanted)
    (curve,) = trained.history.curves
    assert (curve.strings, curve.answers) == (4, 20)
    assert 0 <= curve.correct[0] <= 20
