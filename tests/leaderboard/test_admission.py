"""What publishing refuses: anything that the plugins at hand would not make."""

from __future__ import annotations

import pytest
from formalbench.contracts.errors import RequestError
from formalbench.evaluation import cells
from formalbench_leaderboard.publishing.admission import Admission

FORGED = {
    "run_id": {"run_id": "0" * 16},
    "task parity:classify is at version 1": {"task_version": 2},
    "task mystery:classify is not known": {"task": "mystery:classify", "fingerprint": "0" * 64},
    "not in the full form": {"task": "parity", "fingerprint": "0" * 64},
    "task parity:classify came from other": {"task_file": "other"},
    "has no option luck": {"task_options": {"luck": 7}},
    "options that `--set` would not give": {"task_options": {"p": 0.0}},
    "model stranger is not known here": {"model": "stranger"},
    "name its --plugin mine.py": {
        "model": "mine",
        "distribution": "mine.py",
        "sha256": "a" * 64,
    },
    "model regulargpt is at version 1": {"model_version": 2},
    "model regulargpt came from rgpt.py": {"distribution": "rgpt.py", "sha256": "a" * 64},
    "--set chunk=1: must be at least 2": {"options": {"chunk": 1}},
    "--set chunk=true: must be a whole": {"options": {"chunk": True}},
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


def test_a_forged_protocol_is_refused(host, make_record, protocol):
    for change, reason in {
        "name": "unknown protocol 'mine'",
        "batch": "differs from the registered quick",
    }.items():
        value = {"name": "mine", "batch": 64}[change]
        with pytest.raises(RequestError, match=reason):
            Admission(host).check(make_record(protocol=protocol | {change: value}))


def test_a_record_of_one_string_and_no_chance_is_refused(host, make_record):
    forged = make_record(accuracy=[1], strings=1, chance=0.0, fingerprint="0" * 64, run_id="0" * 16)
    with pytest.raises(RequestError):
        Admission(host).check(forged)
    forged = make_record(accuracy=[1], strings=1, chance=0.0, fingerprint="0" * 64)
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
    real = cells.test_set
    monkeypatch.setattr(
        cells, "test_set", lambda task, protocol: drawn.append(task) or real(task, protocol)
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


def test_a_seed_between_others_is_missed(host, make_runs):
    runs = [record for record in make_runs(seeds=5) if record.seed != 3]
    lines = Admission(host).incomplete(runs, [])
    assert len(lines) == 2
    assert all("seed 3 at" in line for line in lines)


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
