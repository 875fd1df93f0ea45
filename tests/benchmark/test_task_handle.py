"""Tasks from Python: the strings of the board, their answers, batches for any training loop."""

import json
import pickle
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import formalbench as fb
import numpy as np
import pytest
import torch
from formalbench.contracts.network import Example
from formalbench.evaluation.cells import Cell, TestSet, split_lengths, validation_set
from formalbench.evaluation.cells import test_set as board_set
from formalbench.task_handle import IGNORED, LabelledStrings
from formalbench.training.curriculum import Interval, TrainingData, draw_length
from refusals import refusal
from torch.utils.data import DataLoader

PUBLISHED = Path(__file__).parents[2] / "leaderboard" / "results"
ALIKE = ["parity", "d2", "even-pairs:tag", "dyck-2-3:next-symbols", "modular-arithmetic",
         "flip-flop:tag", "duplicate-string"]  # fmt: skip


@pytest.mark.parametrize("name", ["parity", "d2"])
def test_the_test_strings_are_those_of_published_records(name):
    files = PUBLISHED.glob(f"*/*/{name}--classify/standard-*-seed0-*.json")
    texts = [json.loads(file.read_text()) for file in files]
    told = {one["test"]["fingerprint"] for one in texts if one["test"]}
    assert told == {fb.load(name).test_set().fingerprint}


def test_test_strings_come_by_length_as_plain_integers(host):
    task = fb.load("parity")
    tests, board = task.test_set(), board_set(host.task("parity"), host.protocol("standard"))
    assert tests.fingerprint == board.fingerprint
    assert list(tests) == [cell.first for cell in board.cells]
    for cell, (strings, targets) in zip(board.cells, tests.values(), strict=True):
        assert strings.dtype == targets.dtype == np.int64
        assert np.array_equal(strings, cell.examples[0].inputs)
        assert np.array_equal(targets, strings.sum(1) % 2)


def test_validation_is_what_selects_checkpoints_and_train_has_other_strings(host):
    task = fb.load("parity")
    board = validation_set(host.task("parity"), host.protocol("standard"))
    assert task.test_set("validation").fingerprint == board.fingerprint
    train = task.test_set("train")
    assert list(train) == list(range(1, 41))
    held = task.test_set("validation")[40][0].tolist()
    assert not any(string in held for string in train[40][0].tolist())


@pytest.mark.parametrize("name", ALIKE)
def test_samples_are_those_of_the_command_line_and_labels_agree(cli, name):
    task = fb.load(name)
    strings, targets = task.sample(length=9 if name == "modular-arithmetic" else 8, count=5, seed=3)
    length = len(strings[0]) if len(task.alphabet[0]) == 1 else 8
    rows = [json.loads(line) for line in
            cli("sample", name, "--length", length, "--count", 5, "--seed", 3).lines]  # fmt: skip
    assert [task.join(row["string"]) for row in rows] == strings
    assert [row["target"] for row in rows] == targets
    assert task.label(strings) == targets
    assert fb.sample(name, length, count=5, seed=3) == (strings, targets)


def test_labels_keep_their_order_and_none_is_no_string_of_the_task():
    asked = ["0110", "", "01a", "1", "0111"]
    assert fb.label("parity", asked) == [0, 0, None, 1, 1]
    assert fb.label("parity", iter(asked)) == [0, 0, None, 1, 1]
    assert fb.label("dyck-1:generate", ["()", ")("]) == [1, 0]
    assert fb.label("modular-arithmetic", ["1+1", "1+"]) == [2, None]
    assert fb.sample("parity", 30, p=1.0)[0] == ["1" * 30]


@pytest.mark.parametrize("name", ["parity", "dyck-2-3:next-symbols"])
def test_training_batches_are_those_of_a_run_of_that_seed(host, name):
    protocol = host.protocol("standard")
    task = protocol.apply(host.task(name))
    lengths = split_lengths(task, "train")
    drawn = [draw_length(protocol, lengths, batch, None, 7) for batch in range(20, 26)]
    interval = Interval(20, tuple((length, protocol.batch) for length in drawn), (7,))
    taken = TrainingData(task, protocol, torch.device("cpu")).take(interval)
    own = islice(fb.load(name).batches("train", batch=protocol.batch, seed=7), 20, 26)
    for (examples,), (strings, targets) in zip(taken, own, strict=True):
        assert np.array_equal(examples.inputs[0], strings)
        assert np.array_equal(examples.targets[0], targets)


def test_ids_are_indices_of_the_symbols_that_a_network_reads():
    task = fb.load("reverse-string")
    strings, _ = next(task.batches())
    assert set(np.unique(strings)) == {0, 1, 2}
    assert task.task.alphabet == (*task.alphabet, "<blank>") == ("0", "1", "<blank>")


def test_numbers_may_be_those_of_numpy():
    task, five = fb.load("parity"), np.int64(5)
    assert task.sample(five, five, five) == task.sample(5, 5, 5)
    own, plain = (next(task.batches(batch=n, seed=n, first=n, step=n)) for n in (five, 5))
    assert all(map(np.array_equal, own, plain))


def test_fixed_batches_have_each_string_once():
    task = fb.load("parity")
    held = task.test_set("validation")
    parts = list(task.batches("validation", batch=24))
    assert max(len(strings) for strings, _ in parts) == 24
    for length, (strings, targets) in held.items():
        own = [part for part in parts if part[0].shape[1] == length]
        assert np.array_equal(np.concatenate([part[0] for part in own]), strings)
        assert np.array_equal(np.concatenate([part[1] for part in own]), targets)
    rest = list(task.batches("validation", batch=24, first=3, step=2))
    for (strings, _), (own, _) in zip(rest, parts[3::2], strict=True):
        assert np.array_equal(strings, own)


def test_answers_that_do_not_count_are_ignored_by_torch():
    (strings, targets) = next(fb.load("flip-flop:tag").batches(batch=16))
    assert set(np.unique(targets)) == {IGNORED, 0, 1}
    read = fb.load("flip-flop").alphabet.index("r")
    asked = targets != IGNORED
    assert asked.any(1).all()
    assert (strings[asked] == read).all()
    logits = torch.zeros(*targets.shape, 2)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
    assert loss.item() == pytest.approx(np.log(2))


def test_workers_of_a_loader_share_the_batches_out(monkeypatch):
    data = fb.load("parity").dataset("train", batch=4, seed=1)
    plain = [strings for strings, _ in islice(DataLoader(data, batch_size=None), 6)]
    again = pickle.loads(pickle.dumps(data))  # as a worker gets it
    for worker in (0, 1):
        told = SimpleNamespace(id=worker, num_workers=2)
        module = "formalbench.training.curriculum"
        monkeypatch.setattr(f"{module}.get_worker_info", lambda told=told: told)
        own = [strings for strings, _ in islice(again, 3)]
        assert all(map(torch.equal, plain[worker::2], own))


def test_what_is_known_of_a_task():
    task = fb.load("parity")
    assert task.chance == 0.5
    assert task.shortcuts == {"best": task.host.shortcut("parity")}
    assert task.theory.star_free is False
    assert task.alphabet == ("0", "1")
    assert fb.load("parity", p=0.25).title == "parity[p=0.25]"
    assert fb.load("parity", p=0.25).shortcuts == {}


def test_strings_are_equal_if_their_fingerprints_are():
    tests, again = (fb.load("parity").test_set() for _ in range(2))
    assert tests == again
    assert len({tests, again, fb.load("parity").test_set("validation")}) == 2
    assert tests != dict(tests)


def test_named_parts_of_one_length_are_joined():
    parts = [Example(np.full((n, 3), n), np.full((n, 3, 2), n == 2)) for n in (1, 2)]
    cells = tuple(Cell(3, 3, (one,), name) for one, name in zip(parts, "ab", strict=True))
    strings, targets = LabelledStrings(TestSet(cells), "each")[3]
    assert strings.tolist() == [[1] * 3, [2] * 3, [2] * 3]
    assert targets[:, 0, 0].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: fb.load("parrity"), "did you mean parity"),
        (lambda: fb.load("parity", q=1), "q"),
        (lambda: fb.load("parity[p=0.3]", p=0.4), "p is set twice, also in parity[p=0.3]"),
        (lambda: fb.load("parity", plugins="x.py"), "write ['x.py']"),
        (lambda: fb.load("parity").test_set("tests"), "did you mean test?"),
        (lambda: fb.load("parity").batches("train", batch=0), "batch 0: must be at least 1"),
        (lambda: fb.load("parity").label("0110"), "write ['0110']"),
        (lambda: fb.sample("d2:next-symbols", 5), "the nearest that it has is 4"),
        (lambda: fb.load("parity").label([1]), "1 is no text"),
        (lambda: fb.load("parity").label(1), "1 is no list"),
        (lambda: fb.load("parity").test_set(None), "unknown split 'None'"),
        (lambda: fb.load("parity").sample(1.5), "length 1.5: must be a whole number"),
        (lambda: fb.load("parity").sample(True), "length True: must be a whole number"),
        (lambda: fb.load("parity").sample(5, count=0), "count 0: must be at least 1"),
        (lambda: fb.load("parity").batches(batch=2.5), "batch 2.5: must be a whole number"),
        (lambda: fb.load("parity").batches(seed="a"), "seed 'a': must be a whole number"),
        (lambda: fb.load("parity").batches(seed=None), "seed None: must be a whole number"),
        (lambda: fb.load("parity").batches(first=-1), "first -1: must be at least 0"),
        (lambda: fb.load("parity").batches("test", step=0), "step 0: must be at least 1"),
        (lambda: fb.load("parity").dataset("tests"), "did you mean test?"),
        (lambda: fb.load("parity").dataset(batch=0), "batch 0: must be at least 1"),
        (lambda: fb.results("nowhere"), "results folder nowhere does not exist"),
        (lambda: fb.results(__file__), "test_task_handle.py is no folder"),
        (lambda: fb.run([object()]), "are lists of names, and one has an element of type object"),
        (lambda: fb.run(["lstm"], settings=["protocol.steps=40"]), "settings is a dict"),
        (lambda: fb.run(["lstm"], jobs=0), "jobs 0: must be at least 1"),
        (lambda: fb.load(None), "name is of type NoneType: pass a name"),
        (lambda: fb.trained("gru", fb.load("parity")), "task is of type TaskHandle: pass a name"),
        (lambda: fb.trained(None, "parity"), "model is of type NoneType: pass a name"),
        (lambda: fb.compare(dict, "gru"), "a is of type type: pass a name"),
        (lambda: fb.run(["lstm"], [dict]), "a task is of type type: pass a name"),
        (
            lambda: fb.run(["lstm"], settings={3: 3}),
            "a key of settings is of type int: pass a name",
        ),
        (lambda: fb.run(["lstm"], jobs="2"), "jobs '2': must be a whole number"),
        (lambda: fb.run(["lstm"], jobs=1.5), "jobs 1.5: must be a whole number"),
        (lambda: fb.run(["lstm"], threads=None), "threads None: must be a whole number"),
        (lambda: fb.run(["lstm"], device=torch.device("meta")), "--device meta: must be auto"),
        (lambda: fb.read_yaml("nowhere.yaml"), "nowhere.yaml: No such file"),
        (lambda: fb.compare("lstm", "gru", results="nowhere"), "nowhere does not exist"),
    ],
)
def test_mistakes_are_one_line(ask, said):
    assert said in refusal(ask)


def test_what_there_is():
    assert {"parity", "dyck-{k}-{D}"} <= set(fb.tasks())
    assert {"lstm", "regulargpt"} <= set(fb.models())
