"""Publishing rejects records that the installed plugins would not produce."""

from __future__ import annotations

import pytest
import torch
import yaml
from built_records import TO_ITS_END
from formalbench.contracts.errors import RequestError
from formalbench.contracts.identity import ids_of
from formalbench.contracts.metric import Metric
from formalbench.contracts.specs import MetricSpec
from formalbench.evaluation import cells as evaluation_cells
from formalbench.host import Plugin
from formalbench_leaderboard.publishing.record_check import Admission

FORGED = {
    "test_id": {"test_id": "0" * 16},
    "task parity:classify is at version 1": {"task_version": 2},
    "task mystery:classify is not known": {"task": "mystery:classify", "fingerprint": "0" * 64},
    "not in the full form": {"task": "parity", "fingerprint": "0" * 64},
    "task parity:classify came from other": {"task_file": "other"},
    "unknown option of parity 'luck'": {"task_options": {"luck": 7}},
    "options that `--set` would not give": {"task_options": {"p": 0.0}},
    "model stranger is not known here": {"model": "stranger"},
    "name its --plugin mine.py": {
        "model": "mine",
        "distribution": "mine.py",
        "sha256": "a" * 64,
    },
    "model regulargpt is at version 1": {"model_version": 2},
    "model regulargpt came from rgpt.py": {"distribution": "rgpt.py", "sha256": "a" * 64},
    "regulargpt: chunk=1: must be at least 2": {"options": {"chunk": 1}},
    "regulargpt: chunk=true: must be a whole": {"options": {"chunk": True}},
    "is learned, not exact": {"kind": "exact", "rate": None},
    "seed 0 only": {"model": "by-hand", "kind": "exact", "rate": None, "seed": 1},
    "learning rate 0.5 is not in quick": {"rate": 0.5},
    "other strings": {"fingerprint": "0" * 64},
    "other lengths": {"accuracy": [100]},
    "more or fewer strings": {"strings": 1, "accuracy": [1] * 4},
    "its chance_constant is 0, not 0.5": {"chance": 0.0},
    "its chance_constant is 0.49999, not 0.5": {"chance": 0.49999},
    "its metric is luck, not accuracy": {"metric": "luck"},
}


@pytest.mark.parametrize("reason", FORGED)
def test_a_forged_record_is_refused_with_one_line(host, make_record, reason):
    record = make_record(**FORGED[reason])
    with pytest.raises(RequestError) as caught:
        Admission(host).check(record)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reason", FORGED)
def test_a_forged_record_is_refused_behind_honest_ones_too(host, make_record, reason):
    """Installed versions are looked up once for thousands of records."""
    admission = Admission(host)
    honest = [make_record(), make_record("by-hand", kind="exact", rate=None)]
    for record in [*honest, *honest]:
        admission.check(record)
    with pytest.raises(RequestError) as caught:
        admission.check(make_record(**FORGED[reason]))
    assert reason in str(caught.value)


def test_a_forged_protocol_is_refused(host, make_record, protocol):
    for change, reason in {
        "name": "unknown protocol 'mine'",
        "batch": "differs from the registered quick",
    }.items():
        value = {"name": "mine", "batch": 64}[change]
        admission = Admission(host)
        for _ in range(2):
            with pytest.raises(RequestError, match=reason):
                admission.check(make_record(protocol=protocol | {change: value}))
            admission.check(make_record())


def without(record, name):
    metrics = {key: sums for key, sums in record.test.cells.metrics.items() if key != name}
    return with_cells(record, metrics=metrics)


def with_metric(record, name, **change):
    sums = record.test.cells.metrics.get(name) or record.test.cells.metrics["cross-entropy"]
    changed = record.test.cells.metrics | {name: sums.model_copy(update=change)}
    return with_cells(record, metrics=changed)


def with_cells(record, **change):
    cells = record.test.cells.model_copy(update=change)
    return record.model_copy(update={"test": record.test.model_copy(update={"cells": cells})})


MEASURED = {
    "it lacks the metric cross-entropy": lambda record: without(record, "cross-entropy"),
    "luck is no metric of its task": lambda record: with_metric(record, "luck"),
    "its cross-entropy counts more or fewer answers": lambda record: with_metric(
        record, "cross-entropy", count=(100, 100, 100, 99)
    ),
    "its cross-entropy is negative": lambda record: with_metric(
        record, "cross-entropy", total=(1.0, 1.0, 1.0, -1.0)
    ),
    "summed up over other cells": lambda record: with_cells(
        with_metric(record, "cross-entropy", total=(0, 0), count=(200, 200)), window=2
    ),
    "asked for more or fewer answers": lambda record: with_cells(record, answers=(200,) * 4),
    "its mutual-information is negative": lambda record: with_metric(
        record, "mutual-information", total=(0.0, 0.0, 0.0, -0.1)
    ),
    "its mutual-information is more than answers can tell": lambda record: with_metric(
        record, "mutual-information", total=(0.0, 0.0, 0.0, 100.1)
    ),
    "has nothing wrong, and its cross-entropy is that of errors": lambda record: with_metric(
        record, "cross-entropy", total=(0, 0, 0, 100_200)
    ),
}


@pytest.mark.parametrize("reason", MEASURED)
def test_metrics_that_the_test_strings_cannot_give_are_refused(host, make_record, reason):
    with pytest.raises(RequestError, match=reason):
        Admission(host).check(MEASURED[reason](make_record()))


def test_a_right_answer_may_cost_what_knowing_nothing_does(host, make_record):
    """Of two classes the right one has at least one half; with a wrong string any cost may be."""
    check = Admission(host).check
    check(with_metric(make_record(), "cross-entropy", total=(0, 0, 0, 100_000)))
    check(with_metric(make_record(accuracy=[100, 100, 100, 99]), "cross-entropy",
                      total=(0, 0, 0, 10**9)))  # fmt: skip
    with pytest.raises(RequestError, match="more strings wrong than its cross-entropy"):
        check(with_metric(make_record(accuracy=[100, 100, 100, 90]), "cross-entropy",
                          total=(0, 0, 0, 9_900)))  # fmt: skip
    with pytest.raises(RequestError, match="its validation has nothing wrong"):
        check(make_record(bits=1.01))
    check(make_record(bits=1.0))


def test_records_from_before_mutual_information_was_measured_are_taken(host, make_record):
    check = Admission(host).check
    check(make_record())
    check(with_metric(make_record(), "mutual-information", total=(99.5,) * 4))


def test_a_test_that_is_not_finite_somewhere_counts_as_chance_there(host, make_record):
    check = Admission(host).check
    record = make_record(not_finite=[2, 3])
    check(record)
    cells = record.test.cells
    with pytest.raises(RequestError, match="it does not count as chance"):
        check(with_cells(record, correct=(*cells.correct[:3], 51)))
    with pytest.raises(RequestError, match="counts more or fewer answers"):
        check(with_metric(record, "cross-entropy", count=(100, 100, 0, 100)))
    wrong = make_record(not_finite=[3], accuracy=[90, 100, 100, 100])
    with pytest.raises(RequestError, match="more strings wrong"):
        check(with_metric(wrong, "cross-entropy", total=(0, 0, 0, 0)))


def test_a_forged_identity_of_the_training_is_refused(host, make_record):
    forged = make_record().model_copy(update={"train_id": "0" * 16})
    with pytest.raises(RequestError, match="its train_id or test_id is not that"):
        Admission(host).check(forged)


class Certainty(Metric):
    """Says the same of every answer."""

    name = "certainty"

    def measure(self, logits, example):
        return torch.tensor([0.5 * len(example.inputs), len(example.inputs)])


def measured_besides(record, version=1):
    """Return a record with a metric beside those of its objective."""
    record = with_metric(record, "certainty", total=(40.0,) * 4)
    test = record.test.model_copy(update={"extra_metrics": {"certainty": version}})
    record = record.model_copy(update={"test": test})
    return record.model_copy(update={"test_id": ids_of(record)[1]})


def test_a_metric_of_a_plugin_is_held_to_that_plugin(host, make_record):
    with pytest.raises(RequestError, match="metric certainty is not known here"):
        Admission(host).check(measured_besides(make_record()))
    plugin = Plugin("formalbench", "formalbench", "0.1.0")
    spec = MetricSpec("certainty", 1, "how sure it is", Certainty, ("classify",))
    host.metrics.add(spec, plugin)
    Admission(host).check(make_record())
    Admission(host).check(measured_besides(make_record()))
    with pytest.raises(RequestError, match="at version 1, the record used version 2"):
        Admission(host).check(measured_besides(make_record(), 2))
    with pytest.raises(RequestError, match="certainty is no metric of its task"):
        Admission(host).check(with_metric(make_record(), "certainty"))


def test_a_changed_protocol_is_held_to_the_same_changes(host, make_record, protocol):
    changed = {"changed": {"batch": 64}, "batch": 64}
    Admission(host).check(make_record(protocol=protocol | changed))
    with pytest.raises(RequestError, match=r"differs from the registered quick\[batch=64\]"):
        Admission(host).check(make_record(protocol=protocol | changed | {"steps": 600}))


def test_a_record_of_one_string_and_no_chance_is_refused(host, make_record):
    keys = {"accuracy": [1], "strings": 1, "chance": 0.0, "fingerprint": "0" * 64}
    forged = make_record(**keys, test_id="0" * 16)
    with pytest.raises(RequestError):
        Admission(host).check(forged)
    forged = make_record(**keys)
    with pytest.raises(RequestError):
        Admission(host).check(forged)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"status": "diverged"},
        {"options": {"chunk": 3}},
        {"seed": 7},
        {"model": "by-hand", "kind": "exact", "rate": None},
        {"chance": 0.5 + 1e-7},
    ],
    ids=str,
)
def test_an_honest_record_is_taken(host, make_record, keys):
    Admission(host).check(make_record(**keys))


def test_a_local_model_is_taken_if_it_is_at_hand_with_the_same_contents(
    host, make_record, add_local_model
):
    add_local_model("mine", "a" * 64)
    source = {"distribution": "mine.py"}
    Admission(host).check(make_record("mine", sha256="a" * 64, **source))
    with pytest.raises(RequestError, match=r"mine\.py has changed since"):
        Admission(host).check(make_record("mine", sha256="b" * 64, **source))


def test_a_test_set_is_drawn_once(host, make_runs, monkeypatch):
    drawn = []
    real = evaluation_cells.test_set
    monkeypatch.setattr(
        evaluation_cells,
        "test_set",
        lambda task, protocol: drawn.append(task) or real(task, protocol),
    )
    admission = Admission(host)
    for record in make_runs() + make_runs("rnn"):
        admission.check(record)
    assert len(drawn) == 1


def test_every_seed_and_rate_belongs_to_it(host, make_runs, make_record):
    admission, runs = Admission(host), make_runs()
    assert admission.incomplete(runs, []) == []
    assert admission.incomplete(runs[4:], runs[:4]) == []
    assert admission.incomplete([], runs[:1]) == []
    (line,) = admission.incomplete(runs[:5], [])
    assert line.startswith("regulargpt on parity: seed 2 at learning rate 0.0003 missing")
    (line,) = admission.incomplete(runs[:3], [])
    assert "seeds 0, 1, 2 at learning rate 0.0003 missing" in line
    assert len(admission.incomplete([make_record(seed=2**53)], [])) == 2


def test_with_fallback_a_rate_is_asked_for_where_a_seed_before_it_did_not_learn(
    host, make_record, protocol
):
    decay = {"validated": 0.99}
    used = {**protocol, "fallback": True, "decay": decay}
    (entry,) = host.protocols._entries["quick"]
    entry.spec.path.write_text(yaml.safe_dump(used))

    def missing(*validations, at_next=0):
        runs = [
            make_record(protocol=used, seed=seed, validation=share, training=TO_ITS_END)
            for seed, share in enumerate(validations)
        ]
        runs += [
            make_record(protocol=used, seed=seed, rate=0.0003, training=TO_ITS_END)
            for seed in range(at_next)
        ]
        return [line.partition(" missing")[0] for line in Admission(host).incomplete(runs, [])]

    place = "regulargpt on parity: "
    assert missing(1.0, 0.99, 1.0) == []
    assert missing(1.0, 0.98, 1.0) == [f"{place}seeds 0, 1, 2 at learning rate 0.0003"]
    assert missing(1.0, 0.98, 1.0, at_next=3) == []
    assert missing(1.0, 1.0, 1.0, at_next=2) == [f"{place}seed 2 at learning rate 0.0003"]
    assert missing(1.0, 1.0) == [f"{place}seed 2 at learning rate 0.001"]


def test_a_seed_between_others_is_missed(host, make_runs):
    runs = [record for record in make_runs(seeds=5) if record.seed != 3]
    lines = Admission(host).incomplete(runs, [])
    assert len(lines) == 2
    assert all("seed 3 at" in line for line in lines)


def test_seeds_of_one_rate_are_asked_for_at_every_rate(host, make_runs):
    runs = [one for one in make_runs(seeds=5) if one.seed < 3 or one.learning_rate == 0.0003]
    (line,) = Admission(host).incomplete(runs, [])
    assert "seeds 3, 4 at learning rate 0.001 missing" in line


def test_seeds_of_other_options_or_contents_do_not_complete_a_row(host, make_runs):
    runs = make_runs()
    others = [
        make_runs(options={"chunk": 3}),
        make_runs(sha256="a" * 64),
        make_runs(model_version=2),
    ]
    for other in others:
        assert len(Admission(host).incomplete(runs[:5], other)) == 1


def test_an_exact_model_has_one_run(host, make_record):
    record = make_record("by-hand", kind="exact", rate=None)
    assert Admission(host).incomplete([record], []) == []
