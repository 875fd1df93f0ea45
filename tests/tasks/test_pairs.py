"""Parallel texts from files: what is read, how they are drawn and tested, and what is refused."""

import numpy as np
import pytest
from formalbench import RequestError, Stream, read_yaml
from formalbench.checks import check_plugin
from formalbench.evaluation import cells
from formalbench.host import PluginHost
from formalbench.host.plugin import data_files
from formalbench_text import tokens
from formalbench_text.description import PairOptions
from formalbench_text.fetch.writing import as_yaml, completed
from formalbench_text.plugin import read_pairs

LINES = {
    "train.en": "A dog.\nThe cat sat.\nA dog.\n\nNo dream at all, no dream.\n",
    "train.vi": "Một con chó.\nMèo ngồi.\nChó.\nthừa\nKhông mơ gì, không mơ.\n",
    "validation.en": "A cat.\nDreams, dreams, dreams.\n",
    "validation.vi": "Mèo.\nMơ, mơ, mơ.\n",
    "test.en": "Dogs.\nA cat sat, a dog sat.\nDogs.\nA dog.\n",
    "test.vi": "Chó.\nMèo ngồi, chó ngồi.\nNhững con chó.\nMột con chó.\n",
}
DATA = {
    "name": "pets",
    "pairs": {
        split: {"source": {"file": f"{split}.en"}, "target": {"file": f"{split}.vi"}}
        for split in ("train", "validation", "test")
    },
    "short": 4,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    tokens.tokens_of.cache_clear()


@pytest.fixture
def make(tmp_path):
    def written(lines=(), **changes):
        for name, text in {**LINES, **dict(lines)}.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        path = tmp_path / "pets.yaml"
        path.write_text(as_yaml(completed(path, {**DATA, **changes})), encoding="utf-8")
        return path

    return written


def built(path, **options):
    return read_pairs(path, read_yaml(path)).factory(PairOptions(**options))


def pairs_of(part):
    """Return every text and its translation, as the part draws them for a test."""
    found = []
    for length in sorted(part.by_length):
        strings = np.concatenate([part.fixed(length, group) for group in part.groups])
        outputs, lengths = part.translate(strings, Stream("any", length))
        for string, row, size in zip(strings, outputs, lengths, strict=True):
            assert not row[size:].any()
            found.append((part.words(string), part.words(row[:size])))
    return found


def test_pairs_come_back_with_their_own_translations(make):
    pairs = built(make())
    lines = zip(LINES["test.en"].splitlines(), LINES["test.vi"].splitlines(), strict=True)
    assert sorted(pairs_of(pairs.part("test"))) == sorted(lines)
    train = pairs_of(pairs.part("train"))
    assert ("A dog.", "Chó.") in train
    assert ("A dog.", "Một con chó.") in train
    assert len(train) == 4  # the pair with an empty line is left out


def test_translations_of_one_text_are_drawn_equally_often(make):
    train = built(make()).part("train")
    strings = train.sample(Stream("draw"), len("A dog."), 400)
    alone = [
        train.words(outputs[0, : int(size[0])])
        for n, string in enumerate(strings)
        for outputs, size in [train.translate(string[None], Stream("turn", n))]
    ]
    assert 150 < alone.count("Chó.") < 250
    assert alone.count("Chó.") + alone.count("Một con chó.") == 400


def test_the_test_has_two_parts_by_the_words_of_the_text(make):
    path = make()
    task = PluginHost.load([path]).task("pets")
    assert task.name == "pets:translate"
    protocol = PluginHost.load([path]).protocol("translate-quick")
    found = cells.test_set(task, protocol).cells
    assert {(cell.group, cell.strings) for cell in found} == {("up-to-4", 3), ("over-4", 1)}
    assert task.source.overlap() == "1 of 4 test texts are training texts, too"


@pytest.mark.parametrize(("tokenised", "groups"), [(False, {"over-2"}), (True, {"up-to-2"})])
def test_what_a_word_is(make, tokenised, groups):
    lines = {"test.en": "Dogs, dogs\n", "test.vi": "Chó, chó\n"}
    test = built(make(lines, short=2, tokenised=tokenised)).part("test")
    assert set(test.groups) == groups


def test_training_on_short_texts_alone(make):
    path = make()
    pairs = built(path, longest=4)
    assert {text for text, _ in pairs_of(pairs.part("train"))} == {"A dog.", "The cat sat."}
    assert {text for text, _ in pairs_of(pairs.part("validation"))} == {"A cat."}
    assert len(pairs_of(pairs.part("test"))) == 4
    assert pairs.splits("translate").train == (6, 12)
    with pytest.raises(RequestError, match="no train text has at most 1 words"):
        built(path, longest=1)


def test_learned_tokens_come_back_as_text(make):
    pytest.importorskip("tokenizers")
    pairs = built(make(tokeniser={"kind": "bpe", "vocabulary": 270}))
    assert pairs.alphabet == tuple(map(str, range(270)))
    assert ("The cat sat.", "Mèo ngồi.") in pairs_of(pairs.part("train"))
    again = built(make(tokeniser={"kind": "bpe", "vocabulary": 270}))
    assert pairs_of(again.part("test")) == pairs_of(pairs.part("test"))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ({"train.vi": "Một\nHai\n"}, r"train.en:3: it has no partner: .*train.vi ends with line 2"),
        ({"test.en": "Dogs.\n\nDogs.\nA dog.\n"}, r"test.en:2: an empty line"),
        ({"train.en": "\n" * 5}, r"train.en: no text in it"),
    ],
)
def test_lines_that_are_refused(make, lines, problem):
    with pytest.raises(RequestError, match=problem):
        built(make(lines))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"tokeniser": {"kind": "words", "vocabulary": 9}}, "words forget rare ones"),
        (
            {"pairs": {"train": {"sauce": {"file": "a"}}}},
            "unknown key 'pairs.train.sauce': did you",
        ),
    ],
)
def test_descriptions_that_are_refused(make, changes, problem):
    with pytest.raises(RequestError, match=problem):
        make(**changes)


def test_all_its_files_are_data(make):
    assert {file.name for file in data_files(make())} == set(LINES)


def test_it_keeps_the_promises_of_a_task(make):
    pytest.importorskip("sacrebleu")
    checks = check_plugin(make(), PluginHost.load())
    assert [(c.promise, c.problem) for c in checks if c.problem] == []
