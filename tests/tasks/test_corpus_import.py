"""Data sets of the Hugging Face hub: streamed, written text by text, whole or not at all."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from formalbench import RequestError, read_yaml
from formalbench_text.description import read
from formalbench_text.fetch.hub import HELD_OUT, HubDataset, import_into

LINES = ["", " = Cats = \n", "", " A cat . \n", " = = Food = = \n", " Fish . \n"]
LINES += [" = Dogs = \n", " No . \n"]


class Rows:
    """A stream of rows, as the library has it; it can be read once, one row at a time."""

    def __init__(self, rows, column="text", fault=None):
        self.info = SimpleNamespace(license="CC BY-SA 3.0")
        self._rows, self._column, self._fault = rows, column, fault

    def __iter__(self):
        for row in self._rows:
            yield {self._column: row} if self._column else row
        if self._fault:
            raise self._fault


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def hub(monkeypatch):
    """Stand in for the library; what it is asked for is noted."""
    held, asked = {}, []

    def load_dataset(name, subset, *, revision, streaming):
        asked.append((name, subset, revision, streaming))
        if name not in held:
            raise FileNotFoundError(f"Dataset '{name}' doesn't exist on the Hub\nor cannot be")
        return held[name]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return SimpleNamespace(held=held, asked=asked)


def texts(folder, split):
    lines = (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def test_lines_become_texts_at_headings(hub, tmp_path):
    splits = ("train", "validation", "test")
    hub.held["a/wikitext"] = {split: Rows(LINES * 40) for split in splits}
    asked = HubDataset("a/wikitext", "wikitext-103-raw-v1", "abc", lines=True)
    told = import_into(asked, tmp_path / "wiki")
    assert hub.asked == [("a/wikitext", "wikitext-103-raw-v1", "abc", True)]
    cats = " = Cats = \n\n A cat . \n = = Food = = \n Fish . \n"
    assert texts(tmp_path / "wiki", "test")[:2] == [cats, " = Dogs = \n No . \n\n"]
    assert (
        "source: the data set a/wikitext (Hugging Face), wikitext-103-raw-v1, revision abc" in told
    )
    assert "licence: CC BY-SA 3.0" in told
    assert "train: 80 texts" in told
    assert (tmp_path / "wiki" / "ABOUT.txt").read_text() == told
    path = tmp_path / "wiki" / "wikitext-103-raw-v1.yaml"
    spec = read(path, read_yaml(path))
    assert (spec.name, spec.splits.train) == ("wikitext-103-raw-v1", (512, 512))


def test_of_training_text_alone_some_is_held_out(hub, tmp_path):
    hub.held["owt"] = {"train": Rows([f"Text {n}." for n in range(2 * HELD_OUT)])}
    import_into(HubDataset("owt"), tmp_path / "owt")
    found = {split: texts(tmp_path / "owt", split) for split in ("train", "validation", "test")}
    assert found["validation"] == ["Text 98.\n", "Text 198.\n"]
    assert found["test"] == ["Text 99.\n", "Text 199.\n"]
    assert len(found["train"]) == 2 * HELD_OUT - 4


@pytest.mark.parametrize(
    ("name", "rows", "told"),
    [
        ("none", None, "none: cannot be had: Dataset 'none' doesn't exist on the Hub or cannot"),
        ("odd", {"train": Rows(["a"], "txt")}, "no text in the column 'text' .*mean 'txt'"),
        ("cut", {"train": Rows(["a"] * 300, fault=OSError("reset"))}, "cut: cannot be had: reset"),
        ("few", {"train": Rows(["a"])}, "few: no text for validation"),
        ("dev", {"dev": Rows(["a"])}, r"dev: no split 'train' \(it has: dev\)"),
    ],
)
def test_what_cannot_be_had_is_told_in_one_line_and_leaves_nothing(hub, tmp_path, name, rows, told):
    if rows:
        hub.held[name] = rows
    with pytest.raises(RequestError, match=told) as refused:
        import_into(HubDataset(name), tmp_path / "made")
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_without_the_library(cli, own_place, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    done = cli("corpus", "import", "a/b", "--output", tmp_path / "made")
    assert done.code == 2
    assert "pip install 'formalbench[hub]'" in done.err
    assert not (tmp_path / "made").exists()


def talks(column=None):
    """Return rows as translation tasks have them: by language, or a column for each."""
    both = [{"en": f"A {word}\nis here now.", "vi": f"Đây là {word}."} for word in ("cat", "dog")]
    return Rows([{column: pair} for pair in both] if column else both, column=None)


@pytest.mark.parametrize("column", [None, "translation"])
def test_translations_become_pairs(hub, cli, own_place, tmp_path, column):
    pytest.importorskip("tokenizers")
    hub.held["a/talks"] = {split: talks(column) for split in ("train", "validation", "test")}
    done = cli("corpus", "import", "a/talks", "--languages", "en,vi", "--output", tmp_path / "made")
    assert done.code == 0, done.err
    assert "train: 2 pairs, 0 of more than 20 words and marks" in done.lines
    lines = (tmp_path / "made" / "test.en").read_text(encoding="utf-8").splitlines()
    assert lines == ["A cat is here now.", "A dog is here now."]
    assert read_yaml(tmp_path / "made" / "talks.yaml")["pairs"].keys() == {*hub.held["a/talks"]}
    assert cli("show", "task", "talks", "--plugin", tmp_path / "made" / "talks.yaml").code == 0


@pytest.mark.parametrize(
    ("languages", "splits", "problem"),
    [
        (
            "en,de",
            ("train", "validation", "test"),
            "no texts in en and de in a row",
        ),
        ("en", ("train", "validation", "test"), "--languages en: name two, as en,vi"),
        ("en,vi", ("train", "test"), "no split 'validation' (it has: train, test)"),
    ],
)
def test_translations_that_are_refused(hub, cli, own_place, tmp_path, languages, splits, problem):
    hub.held["a/talks"] = {split: talks() for split in splits}
    output = tmp_path / "deep" / "made"
    done = cli("corpus", "import", "a/talks", "--languages", languages, "--output", output)
    assert (done.code, problem in done.err) == (2, True)
    assert not output.exists()
