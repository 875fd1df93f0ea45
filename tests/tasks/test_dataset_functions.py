"""Data sets whose answers are strings."""

import json

import numpy as np
import pytest
from formalbench import RequestError, read_yaml
from formalbench.checks import check_plugin
from formalbench.host import PluginHost
from formalbench_tasks.datasets import description, source

DATA = """
name: rot
data:
  train: {strings: train.in, outputs: train.out}
  validation: {strings: dev.in, outputs: dev.out}
  test: {strings: test.in, outputs: test.out}
"""
FILES = {
    "train": [("a b", "y x"), ("b", "x"), ("a a b", ""), ("b b", "z z z"), ("a", "y")],
    "dev": [("b a", "x"), ("a b", "y x")],
    "test": [("a a", "z"), ("b b", "z z z"), ("a b b a", "x y")],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    source.data_set.cache_clear()


@pytest.fixture
def path(tmp_path):
    for name, rows in FILES.items():
        (tmp_path / f"{name}.in").write_text("".join(f"{text}\n" for text, _ in rows))
        (tmp_path / f"{name}.out").write_text("".join(f"{answer} \n" for _, answer in rows))
    path = tmp_path / "rot.yaml"
    path.write_text(DATA)
    return path


def test_every_answer_comes_back(path):
    function = description.read(path, read_yaml(path)).factory()
    assert (function.alphabet, function.outputs) == (("a", "b"), ("x", "y", "z"))
    for rows in FILES.values():
        for text, answer in rows:
            ids = [function.alphabet.index(symbol) for symbol in text.split()]
            wanted = [function.outputs.index(symbol) for symbol in answer.split()]
            answers_1M, (size,) = function.transduce(np.array([ids], np.int64))
            assert answers_1M[0, :size].tolist() == wanted == function.oracle(ids)
    answers_BM, sizes_B = function.transduce(np.array([[0, 1], [1, 1], [0, 0]]))
    assert (answers_BM.tolist(), sizes_B.tolist()) == (
        [[1, 0, 0], [2, 2, 2], [2, 0, 0]],
        [2, 3, 1],
    )
    assert [function.answer_length(length) for length in range(5)] == [0, 1, 3, 0, 2]


def test_its_contract(path):
    checks = check_plugin(path, PluginHost.load())
    assert {check.subject for check in checks} == {"task rot:transduce", "task rot:decode"}
    assert [check for check in checks if not check.passed] == []


@pytest.mark.parametrize(("model", "task"), [("rnn", "rot:transduce"), ("transformer", "rot")])
def test_it_runs(cli, own_place, path, tiny, model, task):
    done = cli(
        *("run", "--model", model, "--task", task, "--seeds", "1", "--json"),
        *("--plugin", path, "--plugin", tiny, "--protocol", "tiny"),
    )
    assert done.code == 0, done.err
    [record] = json.loads(done.out)
    assert record["test"]["cells"]["length"] == [2, 4]
    assert record["test"]["cells"]["strings"] == [2, 1]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("dev.out", "x\n", "dev.out: 1 answers for 2 strings: dev.in:2 has no partner"),
        ("dev.out", "x\nz\n", "dev.in:2: the same string as in train.in:1, with another answer"),
        ("rot.yaml", DATA + "classes: [a, b]\n", "rot.yaml: classes is for labels, and the data"),
        ("rot.yaml", DATA.replace(", outputs: dev.out", ""), "rot.yaml: data: either all parts"),
    ],
)
def test_what_is_refused(path, file, text, line):
    (path.parent / file).write_text(text)
    with pytest.raises(RequestError) as error:
        description.read(path, read_yaml(path)).factory()
    assert str(error.value).replace(f"{path.parent}/", "").startswith(line)
