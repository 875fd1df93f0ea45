"""Data sets from files: what is read, what is drawn of it, and what is refused in one line."""

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from formalbench import HasFixedStrings, Language, RequestError, Stream, read_yaml
from formalbench.checks import check_plugin
from formalbench.evaluation import cells
from formalbench.host import PluginHost
from formalbench.host.plugin import find_plugins
from formalbench.objectives.classify import Classify
from formalbench.training.curriculum import UNIFORM, draw_length
from formalbench_tasks.datasets import description, read, source
from formalbench_tasks.datasets.reading import StringTable

DATA = """
name: my-data
data:
  train: {strings: train.tok, labels: train.txt}
  validation: {strings: dev.tok, labels: dev.txt}
  test:
    short: {strings: short.tok, labels: short.txt}
    long: {strings: long.tok, labels: long.txt}
"""
FILES = {
    "train": [("a b", "0"), ("b 10", "2"), ("", "0"), ("a b", "0"), ("10 10 a", "1")],
    "dev": [("b b", "2"), ("a", "1")],
    "short": [("a a", "1"), ("b 10", "2"), ("", "0")],
    "long": [("a a", "1"), ("10 b a b", "2"), ("10 b a a", "0")],
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    source.data_set.cache_clear()


@pytest.fixture
def folder(tmp_path):
    for name, rows in FILES.items():
        (tmp_path / f"{name}.tok").write_text("".join(f"{text}\n" for text, _ in rows))
        (tmp_path / f"{name}.txt").write_text("".join(f"{label}\n" for _, label in rows))
    return tmp_path


def spec_of(folder: Path, text: str = DATA):
    path = folder / "my-data.yaml"
    path.write_text(text)
    return read(path, read_yaml(path))


def build(folder: Path, text: str = DATA):
    return spec_of(folder, text).factory()


def refusal(folder: Path, text: str = DATA) -> str:
    with pytest.raises(RequestError) as error:
        build(folder, text)
    line = str(error.value).replace(f"{folder}/", "")
    assert "\n" not in line
    return line


def text_of(data, strings_BN):
    return [" ".join(data.alphabet[symbol] for symbol in row) for row in strings_BN]


def test_what_is_read(folder):
    spec = spec_of(folder)
    assert spec.summary == "5 strings from files to train on, 6 to be tested on"
    assert (spec.splits.train, spec.splits.test) == ((0, 3), (0, 4))
    data = spec.factory()
    assert data.alphabet == ("10", "a", "b")  # numbers first
    assert data.num_classes == 3
    for rows in FILES.values():
        for text, label in rows:
            string = [data.alphabet.index(symbol) for symbol in text.split()]
            strings_BN = np.array([string], dtype=np.int64).reshape(1, len(string))
            assert data.in_domain(strings_BN).all()
            assert data.classify(strings_BN).tolist() == [int(label)] == [data.oracle(string)]


def test_every_string_of_a_part_is_there_as_often_as_in_its_file(folder):
    data = build(folder)
    parts = {"train": "train", "validation": "dev", "test": None}
    for split, file in parts.items():
        part = data.part(split)
        files = {"": file} if file else {"short": "short", "long": "long"}
        assert part.groups == tuple(files)
        for group, name in files.items():
            found = [t for n in range(5) for t in text_of(data, part.fixed(n, group))]
            assert Counter(found) == Counter(text for text, _ in FILES[name])
        every = sum(len(FILES[name]) for name in files.values())
        assert sum(part.number(n) for n in range(5)) == every


def test_what_is_trained_on_is_drawn_from_its_own_part(folder):
    train = build(folder).part("train")
    drawn = Counter(text_of(train, train.sample(Stream("draw"), 2, 3000)))
    assert set(drawn) == {"a b", "b 10"}
    assert 1800 < drawn["a b"] < 2200  # it is there twice
    assert not train.has_length(1)
    with pytest.raises(RequestError, match="no string of length 1 to draw"):
        train.sample(Stream("draw"), 1, 1)


class Coins(Language, HasFixedStrings):
    """Of each length ten strings; `ones` says how many of them are of class 1."""

    alphabet = ("0", "1")

    def __init__(self, ones):
        self.ones = ones

    def fixed(self, length, group):
        of_class_1 = np.arange(10) < self.ones(length)
        return of_class_1[:, None] * np.ones(length, np.int64)

    def number(self, length):
        return 10

    def classify(self, strings_BN):
        return strings_BN[:, 0]

    def sample(self, stream, length, count):
        raise NotImplementedError

    def oracle(self, string):
        raise NotImplementedError


def fair(length):
    return np.random.default_rng(length).binomial(10, 0.5)


def test_a_string_does_not_tell_of_itself():
    def chance(ones):
        return Classify().chance(Coins(ones), range(1, 200), Stream("unused"))

    coins = chance(fair)
    assert 0.5 <= coins.constant < 0.53
    assert coins.length_only == pytest.approx(coins.constant)  # counted on itself it is 0.62
    assert chance(lambda length: 10 * (length % 2)).length_only == 1
    half = chance(lambda length: 10 if length % 2 else fair(length))
    assert 0.70 < half.constant < 0.80
    assert half.length_only == pytest.approx(half.constant, abs=0.02)
    mixed = chance(lambda length: 9 if length % 2 else 1)
    assert (mixed.constant, mixed.length_only) == pytest.approx((0.5, 0.9), abs=0.01)


def test_chance_is_counted_on_the_test(folder):
    data = build(folder)
    chance = Classify().chance(data, [0, 2, 2, 4], Stream("unused"))
    assert chance.constant == pytest.approx(3 / 8)
    assert chance.by_length == pytest.approx((1, 2 / 3, 2 / 3, 0))
    assert data.class_distribution(2) == (0, 2 / 3, 1 / 3)
    assert data.class_distribution(4) == (0.5, 0, 0.5)
    assert data.class_distribution(3) == (0, 1, 0)  # not in the test: of what there is


def test_what_of_the_test_is_trained_on(folder):
    assert build(folder).overlap() == "2 of 6 test strings are training strings, too"
    (folder / "short.tok").write_text("a a\n10 b\n10\n")
    assert build(folder).overlap() == ""


def test_a_string_that_is_not_there(folder):
    data = build(folder)
    strange = np.array([[1, 1], [0, 0]])
    assert data.in_domain(strange).tolist() == [True, False]
    assert not data.in_domain(np.zeros((2, 9), np.int64)).any()
    with pytest.raises(RequestError, match="not in the data"):
        data.classify(strange)
    with pytest.raises(RequestError, match="not in the data"):
        data.oracle([0, 0])


def test_labels_behind_the_strings_and_symbols_without_spaces(folder):
    for name in ("train", "dev", "test"):
        (folder / f"{name}.tsv").write_bytes(b"abba\tTRUE\r\nab\tFALSE\r\n\tFALSE\n")
    parts = "".join(
        f"  {s}: {{strings: {f}.tsv}}\n"
        for s, f in zip(description.SPLITS, ("train", "dev", "test"), strict=True)
    )
    data = build(folder, f"name: tabbed\nseparated: false\ndata:\n{parts}")
    assert (data.alphabet, data.table.classes) == (("a", "b"), ("FALSE", "TRUE"))
    assert data.classify(np.array([[0, 1, 1, 0]])).tolist() == [1] == [data.oracle([0, 1, 1, 0])]
    assert data.classify(np.zeros((1, 0), np.int64)).tolist() == [0] == [data.oracle([])]


def test_it_is_kept_sealed_and_found_again(folder, monkeypatch):
    before = build(folder)
    source.data_set.cache_clear()

    def unwanted(described):
        raise AssertionError("read again")

    monkeypatch.setattr(source, "read_table", unwanted)
    again = build(folder)
    assert np.array_equal(again.table.symbols, before.table.symbols)
    kept = next((folder / "cache" / "data-sets").iterdir())
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    source.data_set.cache_clear()
    with pytest.raises(AssertionError, match="read again"):
        build(folder)


def test_changed_data_is_other_data(folder):
    path = folder / "my-data.yaml"
    path.write_text(DATA)

    def digest():
        (plugin,) = find_plugins(path)
        return PluginHost.load([path]).local_plugin(plugin).source.sha256

    first = digest()
    assert digest() == first
    (folder / "long.txt").write_text("1\n2\n1\n")
    assert digest() != first


def test_data_that_change_while_they_are_read_are_refused(folder):
    spec = spec_of(folder)
    shutil.rmtree(folder / "cache", ignore_errors=True)  # else what was read would be taken from it
    (folder / "long.txt").write_text("1\n2\n1\n")
    with pytest.raises(RequestError, match="its data changed while it was read: start again"):
        spec.factory()


def test_many_symbols_and_lengths_come_back(folder):
    rng = np.random.default_rng(0)
    rows = {" ".join(map(str, rng.integers(300, size=int(n)))) for n in rng.integers(0, 40, 500)}
    texts = sorted(rows)
    labels = [str(hash_of(text)) for text in texts]
    for name, some in (("train", slice(None)), ("dev", slice(0, 9)), ("long", slice(0, 99))):
        (folder / f"{name}.tok").write_text("".join(f"{text}\n" for text in texts[some]))
        (folder / f"{name}.txt").write_text("".join(f"{label}\n" for label in labels[some]))
    one = DATA.replace("    short: {strings: short.tok, labels: short.txt}\n", "")
    data = build(folder, one)
    assert data.table.symbols.dtype == np.uint16
    packed = StringTable.unpack(data.table.pack())
    for text, label in zip(texts, labels, strict=True):
        ids = np.array([[data.alphabet.index(word) for word in text.split()]], np.int64)
        assert data.table.classes[int(data.classify(ids.reshape(1, -1))[0])] == label
        assert packed.find(ids.reshape(1, -1))[1].all()


def hash_of(text):
    return sum(map(ord, text)) % 7


@pytest.mark.parametrize(
    ("file", "contents", "line"),
    [
        ("train.txt", "0\n2\n0\n0\n", "train.txt: 4 labels for 5 strings: train.tok:5 has no"),
        ("dev.tok", "b b\nx\n", "dev.tok:2: unknown symbol 'x' (name all in 'alphabet')"),
        ("long.txt", "1\n2\n7\n", "long.txt:3: unknown label '7'; known: '0', '1', '2' "),
        ("short.tok", b"a\n\xff\n", "short.tok: not UTF-8: invalid start byte"),
        ("train.txt", "0\n0\n0\n0\n0\n", "train.txt: only one label: '0'"),
        ("short.txt", "1\n0\n0\n", "short.tok:2: the same string as in train.tok:2, with another"),
        ("train.txt", "0\n2\n0\n0\n\x1b[1m\n", "train.txt: '\\x1b[1m' cannot be printed"),
    ],
)  # fmt: skip
def test_bad_data_is_one_line_with_its_place(folder, file, contents, line):
    (folder / file).write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    assert refusal(folder).startswith(line)


def test_bad_yaml_is_told_at_once(folder):
    (folder / "short.tok").unlink()
    bad = DATA.replace("my-data", "My Data").replace("labels: train.txt", "label: train.txt")
    line = refusal(folder, bad + "classes: [0]\ntheory: starfree\nseperated: false\nversion: 0\n")
    for part in (
        "name=My Data: must be lower-case letters",
        "unknown key 'data.train.label': did you mean data.train.labels?",
        "data.test.short.strings=short.tok: no file ",
        "classes: must have at least 2 items",
        "theory=starfree: must be ",
        "unknown key 'seperated': did you mean separated?",
        "version=0: must be at least 1",
    ):
        assert part in line
    name = DATA.replace("dev.tok", "x" * 300)
    assert ": no file xxx" in refusal(folder, name)
    many = "".join(f"    p{at}: {{strings: dev.tok}}\n" for at in range(101))
    assert "data.test: must have at most 100 items" in refusal(folder, f"{DATA}{many}")
    missing = refusal(folder, "name: no\ndata: {train: {strings: dev.tok}, tests: 1}\n")
    assert "data.validation: is missing; data.test: is missing" in missing


def test_a_part_of_very_many_lengths_has_cells_of_several(folder, monkeypatch):
    monkeypatch.setattr(cells, "MAX_CELLS", 2)
    path = folder / "my-data.yaml"
    path.write_text(DATA)
    host = PluginHost.load([path])
    found = cells.test_set(host.task("my-data"), host.protocol("quick")).cells
    told = [(cell.group, cell.first, cell.last, cell.strings) for cell in found]
    assert told == [("short", 0, 0, 1), ("long", 2, 2, 1), ("short", 2, 2, 2), ("long", 4, 4, 2)]
    monkeypatch.setattr(cells, "MAX_CELLS", 1)
    found = cells.test_set(host.task("my-data"), host.protocol("quick")).cells
    told = [(cell.group, cell.first, cell.last, cell.lengths) for cell in found]
    assert told == [("short", 0, 2, [0, 2, 2]), ("long", 2, 4, [2, 4, 4])]
    with pytest.raises(RequestError, match="has only test strings"):
        cells.fresh_set(host.task("my-data"), host.protocol("quick"), 1)


def test_each_string_is_trained_on_equally_often(folder):
    path = folder / "my-data.yaml"
    path.write_text(DATA)
    host = PluginHost.load([path])
    task, protocol = host.task("my-data"), host.protocol("quick")
    lengths = cells.split_lengths(task, "train")
    assert lengths == [0, 2, 3]  # of the training strings alone
    weights = UNIFORM.weights(task, protocol, lengths)
    assert (weights / weights.sum()).tolist() == pytest.approx([1 / 5, 3 / 5, 1 / 5])
    early = Counter(draw_length(protocol, lengths[:2], batch, weights) for batch in range(2000))
    assert early[2] / 2000 == pytest.approx(3 / 4, abs=0.05)


# Data sets whose answers are strings.


ROT = """
name: rot
data:
  train: {strings: train.in, outputs: train.out}
  validation: {strings: dev.in, outputs: dev.out}
  test: {strings: test.in, outputs: test.out}
"""
ANSWERS = {
    "train": [("a b", "y x"), ("b", "x"), ("a a b", ""), ("b b", "z z z"), ("a", "y")],
    "dev": [("b a", "x"), ("a b", "y x")],
    "test": [("a a", "z"), ("b b", "z z z"), ("a b b a", "x y")],
}


@pytest.fixture
def path(tmp_path):
    for name, rows in ANSWERS.items():
        (tmp_path / f"{name}.in").write_text("".join(f"{text}\n" for text, _ in rows))
        (tmp_path / f"{name}.out").write_text("".join(f"{answer} \n" for _, answer in rows))
    path = tmp_path / "rot.yaml"
    path.write_text(ROT)
    return path


def test_every_answer_comes_back(path):
    function = read(path, read_yaml(path)).factory()
    assert (function.alphabet, function.outputs) == (("a", "b"), ("x", "y", "z"))
    for rows in ANSWERS.values():
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


def test_the_contract_of_a_function(path):
    checks = check_plugin(path, PluginHost.load())
    assert {check.subject for check in checks} == {"task rot:transduce", "task rot:decode"}
    assert [check for check in checks if not check.passed] == []


@pytest.mark.parametrize(("model", "task"), [("rnn", "rot:transduce"), ("transformer", "rot")])
def test_a_function_runs(cli, own_place, path, tiny, model, task):
    done = cli(
        *("run", "--model", model, "--task", task, "--seeds", "1", "--json"),
        *("--plugin", path, "--plugin", tiny, "--protocol", "tiny"),
    )
    assert done.code == 0, done.err
    [record] = done.data
    assert record["test"]["cells"]["length"] == [2, 4]
    assert record["test"]["cells"]["strings"] == [2, 1]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("dev.out", "x\n", "dev.out: 1 answers for 2 strings: dev.in:2 has no partner"),
        ("dev.out", "x\nz\n", "dev.in:2: the same string as in train.in:1, with another answer"),
        (
            "rot.yaml",
            ROT + "classes: [a, b]\n",
            "rot.yaml: classes is for labels, and the data",
        ),
        (
            "rot.yaml",
            ROT.replace(", outputs: dev.out", ""),
            "rot.yaml: data: either all parts",
        ),
    ],
)
def test_answers_that_are_refused(path, file, text, line):
    (path.parent / file).write_text(text)
    with pytest.raises(RequestError) as error:
        read(path, read_yaml(path)).factory()
    assert str(error.value).replace(f"{path.parent}/", "").startswith(line)
