"""Training and testing on what a process generates: windows of lengths, budgets of tokens."""

import json

import numpy as np
import pytest
from formalbench.contracts.errors import RequestError
from formalbench.contracts.protocol import Protocol
from formalbench.contracts.verification import parse_any
from formalbench.evaluation import cells
from formalbench.evaluation.cells import saved_test_set
from formalbench.training.curriculum import ProcessSampler, draw_length
from formalbench.training.gradients import BatchedGradients
from formalbench.training.run_state import Member
from formalbench.training.trainer import train_cohort
from small_training import cohort

STRINGS = "close-bracket-string-accuracy"


WINDOW = {
    "name": "window",
    "version": 1,
    "steps": 20,
    "batch_tokens": 200,
    "evaluate_every": 10,
    "curriculum": {"kind": "generated"},
    "decay": {"steps": 10, "mastered": 0.0},
    "validation": {"every": 10, "tokens": 500},
    "test": {"tokens": 2000},
}


def protocol(**change):
    return Protocol.model_validate(WINDOW | change)


@pytest.fixture
def window(write):
    """The protocol as a file, with fewer tokens to be tested on."""
    return write("window.yaml", json.dumps(WINDOW | {"test": {"tokens": 900}}))


# Protocols.


def test_a_protocol_without_the_new_fields_says_nothing_of_them():
    plain = Protocol(name="p", version=1)
    data = plain.model_dump(mode="json")
    assert "batch_tokens" not in data
    assert all("tokens" not in data[part] for part in ("validation", "test"))
    assert not plain.needs_process
    told = protocol().model_dump(mode="json")
    assert (told["batch_tokens"], told["test"]["tokens"]) == (200, 2000)
    assert protocol().needs_process
    assert Protocol.model_validate(told) == protocol()


def test_a_step_has_a_budget_of_tokens():
    asked = protocol()
    assert [asked.strings_at(length) for length in (0, 1, 9, 66, 199, 5000)] == [
        *(200, 100, 20, 2, 1, 1)
    ]
    assert Protocol(name="p", version=1, batch=7).strings_at(66) == 7


@pytest.mark.parametrize(
    "change",
    [{"test": {"tokens": 9}}, {"validation": {"tokens": 9}}, {"curriculum": {"kind": "generated"}}],
    ids=str,
)
def test_a_task_without_a_process_is_refused(host, change):
    asked = Protocol.model_validate({"name": "mine", "version": 1, **change})
    cells.check_process(host.task("dyck-2-3:generate"), asked)
    with pytest.raises(RequestError, match=r"protocol mine .* parity:tag has none: .*:generate"):
        cells.check_process(host.task("parity:tag"), asked)


def test_no_run_begins_on_a_task_without_a_process(window, results, refused):
    line = refused("run", "--model", "lstm", "--task", "dyck-2-3", "--plugin", window,
                   "--protocol", "window", "--device", "cpu")  # fmt: skip
    assert "dyck-2-3:classify has none" in line
    assert list(results.rglob("*.json")) == []


# Lengths to train on.


@pytest.mark.parametrize("change", [{}, {"batch_tokens": None, "batch": 8}], ids=["tokens", "8"])
def test_lengths_have_the_shares_that_they_have_in_a_corpus(host, change):
    task, asked = host.task("dyck-2-3:generate"), protocol(**change)
    lengths = list(range(2, 84, 2))
    assert ProcessSampler().stages(asked, lengths) == [lengths]
    weighted = ProcessSampler().weights(task, asked, lengths)
    drawn = [draw_length(asked, lengths, step, weighted) for step in range(4000)]
    assert draw_length(asked, lengths, 17, weighted) == drawn[17]
    strings = {n: drawn.count(n) * asked.strings_at(n) for n in lengths}
    corpus = task.source.sample_corpus(task.stream("corpus"), (3, 84), 400_000)
    for some in (range(2, 4), range(4, 12), range(12, 40), range(40, 84)):
        share = sum(strings.get(n, 0) for n in some) / sum(strings.values())
        wanted = np.isin(corpus.lengths, some).mean()
        assert share == pytest.approx(wanted, rel=0.15)


def test_each_run_of_a_cohort_has_its_own_budget_of_tokens(host):
    task, asked = host.task("dyck-2-2:generate"), protocol()
    members = (Member(0.01, 0), Member(0.003, 1))
    build = lambda: host.network("lstm", task, {"width": 8})  # noqa: E731
    trained = train_cohort(cohort(host, task, asked, members, build, BatchedGradients))
    weighted = ProcessSampler().weights(task, asked, lengths := cells.split_lengths(task, "train"))
    for seed, one in enumerate(trained):
        drawn = [draw_length(asked, lengths, step, weighted, seed) for step in range(20)]
        assert one.strings == sum(map(asked.strings_at, drawn)) > 20
    assert trained[0].strings != trained[1].strings


# Test sets.


@pytest.mark.parametrize("tokens", [1, 2000])
def test_a_window_is_what_the_process_draws(host, tokens):
    task = host.task("dyck-8-3:generate")
    drawn = cells.test_set(task, protocol(test={"tokens": tokens}))
    (cell,) = drawn.cells
    assert (cell.first, cell.last) == task.splits.test == (84, 167)
    assert 0 <= sum(length + 1 for length in drawn.lengths) - tokens < 168
    assert [example.length for example in cell.examples] == sorted(set(drawn.lengths))
    stream = task.stream("test", "window", 84, 167, tokens)
    corpus = task.source.sample_corpus(stream, (85, 168), tokens)
    assert sorted(corpus.lengths) == drawn.lengths
    assert len(drawn.lengths) == cell.strings
    strings = np.split(corpus.symbols, np.cumsum(corpus.lengths)[:-1])
    for example in cell.examples:
        of_length = [string.tolist() for string in strings if len(string) == example.length]
        assert example.inputs.tolist() == of_length
        again = task.examples(example.inputs.astype(np.int64))
        assert np.array_equal(example.targets, again.targets)
        assert np.array_equal(example.known[STRINGS], again.known[STRINGS])


def test_validation_is_of_the_training_lengths_and_of_other_strings(host):
    task, asked = host.task("dyck-8-3:generate"), protocol()
    drawn = cells.validation_set(task, asked)
    assert [(cell.first, cell.last) for cell in drawn.cells] == [(2, 83)]
    assert min(drawn.lengths) == 2  # the empty string is not among them
    assert drawn.fingerprint != cells.test_set(task, asked).fingerprint


def test_windows_are_saved_and_found_again(host):
    task, asked = host.task("dyck-2-3:generate"), protocol()
    first, again = (saved_test_set(task, "", asked) for _ in range(2))
    assert first is not again
    assert first.fingerprint == again.fingerprint == cells.test_set(task, asked).fingerprint
    assert [(cell.first, cell.last) for cell in again.cells] == [(84, 167)]
    assert first.lengths == again.lengths
    by_length = saved_test_set(task, "", protocol(test={"lengths": 2, "strings": 3}))
    assert [cell.first for cell in by_length.cells] == [84, 166]


# Records.


@pytest.fixture
def run_window(cli, window, results):
    def run(task):
        done = cli("run", "--model", "lstm", "--task", task, "--plugin", window, "--device", "cpu",
                   "--protocol", "window", "--jobs", 1, "--seeds", 1, "--json",
                   "--set", "width=8")  # fmt: skip
        assert done.code == 0, done.err
        (path,) = results.rglob("*.json")
        return path.read_text()

    return run


def test_a_record_of_a_window(run_window):
    text = run_window("dyck-2-3:generate")
    record = parse_any(text, "it")
    assert len(text) < 8192
    assert record.to_json() == text
    cell = record.test.cells
    assert (cell.first, cell.length) == ((84,), (167,))
    assert len(cell.strings) == len(cell.correct) == cell.window == 1
    tested = {name: cell.whole(name) for name in cell.metrics}
    for closes in (tested, record.selected.metrics):
        assert set(closes) == {
            *("close-bracket-accuracy", "close-bracket-macro-accuracy", "cross-entropy")
        }
        assert 0 <= closes["close-bracket-accuracy"].mean <= 1
        assert (
            closes["close-bracket-accuracy"].count
            > closes["close-bracket-macro-accuracy"].count
            > 3
        )
    assert record.test.chance_length < 1e-10
    assert record.training.strings > 20
    assert run_window("dyck-2-3:generate") == text  # what is done is not done again


def test_a_window_fits_its_cells(run_window):
    data = json.loads(run_window("dyck-2-3:generate"))
    for first in ([200], [84, 84], []):
        data["test"]["cells"]["first"] = first
        with pytest.raises(RequestError, match="first does not fit length"):
            parse_any(json.dumps(data), "it")
