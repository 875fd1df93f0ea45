"""Corpora from files: what is read, how it becomes tokens and windows, and what is refused."""

import bz2
import gzip
import hashlib
import json
import lzma
import shutil

import numpy as np
import pytest
from formalbench import RequestError, Splits, Stream, read_yaml
from formalbench.checks import check_plugin
from formalbench.host import PluginHost
from formalbench.host.plugin import data_files, data_hash
from formalbench_leaderboard.publishing.plugin_sources import plugin_contents
from formalbench_text import tokens
from formalbench_text.description import CorpusDescription
from formalbench_text.fetch.writing import as_yaml, completed
from formalbench_text.plugin import read_corpus

TEXTS = {
    "train": "Do dogs dream? Dogs do.\n\nThe cat sat.\nThe dog too.\n",
    "validation": "A cat, a dog.\n\nNo dream.\n",
    "test": "Đo chó mơ.\n\n\nThe dog saw the cat.\n",
}
DATA = {
    "name": "pets",
    "corpus": {split: [{"file": f"{split}.txt"}] for split in TEXTS},
    "documents": "blank-lines",
    "lengths": {"train": 4, "test": [4, 8, 12]},
    "windows": 5,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "cache"))
    tokens.tokens_of.cache_clear()


@pytest.fixture
def make(tmp_path):
    def written(**changes):
        for split, text in TEXTS.items():
            if not (tmp_path / f"{split}.txt").exists():
                (tmp_path / f"{split}.txt").write_text(text, encoding="utf-8")
        path = tmp_path / "pets.yaml"
        path.write_text(as_yaml(completed(path, {**DATA, **changes})), encoding="utf-8")
        return path

    return written


def built(path):
    return read_corpus(path, read_yaml(path)).factory()


def texts_of(corpus, split):
    """Return the texts that the bytes of a split stand for."""
    part = corpus.tokens.parts[split]
    whole = [bytes(one[:-1].tolist()) for one in np.split(part.ids, part.ends[:-1])]
    assert part.ids[part.ends - 1].tolist() == [256] * len(part.ends)
    return [one.decode() for one in whole]


def test_the_bytes_of_texts_come_back(make):
    corpus = built(make())
    assert texts_of(corpus, "train") == [
        "Do dogs dream? Dogs do.\n",
        "The cat sat.\nThe dog too.\n",
    ]
    assert texts_of(corpus, "test") == ["Đo chó mơ.\n", "The dog saw the cat.\n"]
    assert len(corpus.alphabet) == 257
    assert isinstance(corpus.tokens.parts["train"].ids, np.memmap)


@pytest.mark.parametrize(
    ("documents", "text", "expected"),
    [
        ("file", "a\n\nb\n", ["a\n\nb\n"]),
        ("lines", "a\nb", ["a\n", "b"]),
        (
            "headings",
            "\n = A = \nx\n = = Part = = \ny\n = B = \nz\n",
            [" = A = \nx\n = = Part = = \ny\n", " = B = \nz\n"],
        ),
        ("jsonl", '{"text": "a\\nb", "meta": 1}\n{"text": "c"}\n', ["a\nb", "c"]),
        ("blank-lines", "\ufeffa\n\n \nb\n", ["a\n", "b\n"]),
    ],
)
def test_where_a_text_ends(make, tmp_path, documents, text, expected):
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    others = {"headings": " = {} = \n", "jsonl": '{{"text": "{}"}}\n'}
    for split in ("validation", "test"):
        (tmp_path / f"{split}.txt").write_text(others.get(documents, "{}\n").format(split))
    corpus = built(make(documents=documents, lengths={"train": 2, "test": [2]}))
    assert texts_of(corpus, "train") == expected


def test_a_window_ends_with_the_same_token_at_every_length(make):
    test = built(make()).part("test")
    windows = {length: test.fixed(length, "") for length in (4, 8, 12)}
    assert windows[4].shape == (5, 4)
    assert np.array_equal(windows[12][:, -4:], windows[4])
    assert np.array_equal(windows[12][:, -8:], windows[8])
    assert len(np.unique(windows[12], axis=0)) == 5


def test_training_windows_are_of_the_training_texts(make):
    corpus = built(make())
    train = corpus.part("train")
    ids = train.own.ids
    every = {tuple(ids[at : at + 5].tolist()) for at in range(len(ids) - 4)}
    drawn = train.sample(Stream("draw"), 5, 4000)
    assert {tuple(window) for window in drawn.tolist()} == every


@pytest.mark.parametrize(
    ("tokeniser", "size"), [({"kind": "bpe", "vocabulary": 260}, 260), ({"kind": "words"}, 6)]
)
def test_tokenisers_are_trained_on_the_training_texts(make, tmp_path, tokeniser, size):
    library = pytest.importorskip("tokenizers")
    short = {"train": 2, "test": [2]}
    tokeniser = {"vocabulary": 6, **tokeniser}
    corpus = built(make(tokeniser=tokeniser, lengths=short))
    assert len(corpus.alphabet) == size + 1
    # Another test changes nothing of it; other training texts do.
    before = corpus.described.contents.tokeniser.sha256
    (tmp_path / "test.txt").write_text("Entirely other words, entirely.\n")
    assert read_yaml(make(tokeniser=tokeniser))["tokeniser"]["sha256"] == before
    (tmp_path / "train.txt").write_text("Entirely other words, entirely.\n" * 3)
    assert read_yaml(make(tokeniser=tokeniser))["tokeniser"]["sha256"] != before
    assert library


def test_a_tokeniser_from_a_file_that_does_not_know_the_words(make, tmp_path):
    library = pytest.importorskip("tokenizers")
    from tokenizers import models, pre_tokenizers

    other = library.Tokenizer(models.WordLevel({"<unk>": 0, "fish": 1}, unk_token="<unk>"))
    other.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    other.save(str(tmp_path / "fish.json"))
    path = make(tokeniser={"kind": "file", "file": "fish.json"})
    with pytest.raises(RequestError, match=r"it does not know 100% of the tokens"):
        built(path)
    (tmp_path / "fish.json").write_text("{}")
    with pytest.raises(RequestError, match=r"fish.json: wrong checksum"):
        built(path)
    with pytest.raises(RequestError, match=r"fish.json: no tokeniser of the library"):
        built(make(tokeniser={"kind": "file", "file": "fish.json"}))


def test_tokens_are_made_once_and_mended(make, tmp_path):
    path = make()
    before = texts_of(built(path), "test")
    (place,) = (tmp_path / "cache" / "corpora").iterdir()
    made = (place / "seal.json").stat().st_mtime_ns
    tokens.tokens_of.cache_clear()
    assert texts_of(built(path), "test") == before
    assert (place / "seal.json").stat().st_mtime_ns == made
    # A byte that fell over is noticed, and the files are read again.
    spoilt = bytearray((place / "test.ids").read_bytes())
    spoilt[0] ^= 1
    (place / "test.ids").write_bytes(bytes(spoilt))
    tokens.tokens_of.cache_clear()
    assert texts_of(built(path), "test") == before
    assert (place / "test.ids").read_bytes() != bytes(spoilt)


def test_tokens_that_another_process_wrote_meanwhile_stay(make, tmp_path, monkeypatch):
    def make_twice(described, whole, key):
        its_own(described, whole, key)
        shutil.copytree(whole, tokens.place_of("corpora", key))
        written.append((tokens.place_of("corpora", key) / "test.ids").stat().st_ino)

    its_own, written = tokens._make, []
    monkeypatch.setattr(tokens, "_make", make_twice)
    assert texts_of(built(make()), "test") == ["Đo chó mơ.\n", "The dog saw the cat.\n"]
    (place,) = (tmp_path / "cache" / "corpora").iterdir()
    assert [(place / "test.ids").stat().st_ino] == written


def test_a_cache_that_cannot_be_written_to(make, tmp_path, monkeypatch):
    path = make()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FORMALBENCH_CACHE", str(tmp_path / "file"))
    assert texts_of(built(path), "test") == ["Đo chó mơ.\n", "The dog saw the cat.\n"]


def test_nothing_half_made_is_kept(make, tmp_path):
    (tmp_path / "test.txt").write_bytes(b"\xff\n")
    path = make()
    with pytest.raises(RequestError, match=r"test.txt:1: not UTF-8"):
        built(path)
    left = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert left == []


@pytest.mark.parametrize(
    ("documents", "contents", "told"),
    [
        ("file", b" \n", "an empty document"),
        ("lines", b"a\n\xff\n", ":2: not UTF-8: invalid start byte"),
        ("blank-lines", b"\n\n", "no text in it"),
        ("headings", b"x\n", ":1: text before the first heading"),
        ("jsonl", b'{"text": "a"}\n{"txt": 1}\n', ':2: no JSON object with a "text"'),
    ],
)
def test_bad_texts_are_refused_in_one_line(make, tmp_path, documents, contents, told):
    (tmp_path / "train.txt").write_bytes(contents)
    path = make(documents=documents)
    with pytest.raises(RequestError, match=told) as refused:
        built(path)
    assert "\n" not in str(refused.value)
    assert "train.txt" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tokenizer": {}}, "unknown key 'tokenizer': did you mean tokeniser"),
        ({"tokeniser": {"kind": "bpe", "vocabulary": 9}}, "at least 256, all bytes"),
        (
            {"lengths": {"train": 4, "tests": [8]}},
            "unknown key 'lengths.tests': did you mean lengths.test",
        ),
        ({"corpus": {"train": [{"file": "x.txt"}]}}, "corpus.validation: is missing"),
        (
            {"corpus": {**DATA["corpus"], "test": [{"file": "missing.txt"}]}},
            "no file .*missing.txt",
        ),
    ],
)
def test_bad_descriptions_are_refused_in_one_line(make, changes, told):
    path = make()
    with pytest.raises(RequestError, match=told) as refused:
        CorpusDescription.of(path, {**read_yaml(path), **changes})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["train.txt", "copy.txt"])
def test_a_file_of_two_splits_is_refused(make, tmp_path, name):
    make()
    (tmp_path / "copy.txt").write_bytes((tmp_path / "train.txt").read_bytes())
    path = make(corpus={**DATA["corpus"], "test": [{"file": name}]})
    with pytest.raises(RequestError, match=f"{name} .test. has the same contents as train.txt .tr"):
        built(path)


def test_texts_of_two_splits_are_reported(make, tmp_path, cli, own_place):
    assert built(make()).overlap() == ""
    (tmp_path / "test.txt").write_text("The  cat sat.\nThe dog\ttoo.\n\nNew.\n\nNo dream.\n")
    path = make(lengths={"train": 4})
    told = "1 of 3 test texts are training texts, too; 1 of 3 test texts are validation texts, too"
    assert built(path).overlap() == told
    assert f"warning: pets:causal-lm: {told}" in cli("check", path).err
    (tmp_path / "validation.txt").write_text("Do dogs dream?\nDogs do.\n\nA cat\n")
    assert built(make()).overlap().endswith("; 1 of 2 validation texts are training texts, too")


def test_windows_that_are_not_given_fit_the_texts(make, tmp_path):
    assert built(make(lengths={"train": 4})).splits("causal-lm") == Splits((4, 4), (4, 32))
    # 25 bytes of the validation, and 16 in its longest text
    assert built(make(lengths={})).splits("causal-lm") == Splits((16, 16), (16, 32))
    corpus = built(make(lengths={}, within=True))
    assert corpus.splits("causal-lm") == Splits((8, 8), (8, 16))
    assert corpus.part("test").fixed(16, "").shape == (5, 16)
    for split, text in TEXTS.items():
        (tmp_path / f"{split}.txt").write_text(text * 400)
    whole = built(make(lengths={}))
    assert whole.splits("causal-lm") == Splits((512, 512), (512, 8192))


def test_windows_longer_than_the_texts(make):
    with pytest.raises(RequestError, match=r"the test texts have .* tokens, and .* of 4000"):
        built(make(lengths={"train": 4, "test": [4000]}))
    with pytest.raises(RequestError, match="no test text has 30 tokens"):
        built(make(lengths={"train": 4, "test": [30]}, within=True))


def test_records_of_texts_are_not_published(make, tmp_path):
    path = make()
    assert data_files(path) == [tmp_path / f"{split}.txt" for split in TEXTS]
    # They are not read for the hash: their checksums stand in the file.
    assert data_hash(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    (local,) = PluginHost.load([path]).locals()
    with pytest.raises(RequestError, match="its data is not published, so no record of it can be"):
        plugin_contents(local)


def test_checksums_must_be_there(cli, own_place, make):
    path = make()
    path.write_text(as_yaml(DATA))
    refused = cli("show", "task", "pets", "--plugin", path)
    assert refused.code == 2
    assert f"no sha256 of train.txt: `formalbench corpus complete {path}` adds it" in refused.err
    assert cli("corpus", "complete", path).code == 0
    digest = hashlib.sha256(TEXTS["train"].encode()).hexdigest()
    assert read_yaml(path)["corpus"]["train"] == [{"file": "train.txt", "sha256": digest}]
    assert cli("show", "task", "pets", "--plugin", path).code == 0
    assert "nothing is missing" in cli("corpus", "complete", path).out


def test_the_contract(make):
    checks = check_plugin(make(), PluginHost.load())
    assert {check.subject for check in checks} == {"task pets:causal-lm", "task pets:masked-lm"}
    assert [check for check in checks if not check.passed] == []


def test_no_word_of_a_text_reaches_a_record(cli, own_place, make, tmp_path, tiny):
    path = make()
    done = cli(
        *("run", "--model", "transformer", "--task", "pets:causal-lm", "--seeds", "1", "--json"),
        *("--plugin", path, "--plugin", tiny, "--protocol", "tiny", "--set", "model.width=16"),
        *("--results", tmp_path / "results"),
    )
    assert done.code == 0, done.err
    (record,) = (tmp_path / "results").rglob("*.json")
    text = record.read_text()
    assert not {"dogs", "dream", "chó"} & set(text.lower().replace('"', " ").split())
    cells = json.loads(text)["test"]["cells"]
    assert cells["length"] == [4, 8, 12]
    assert cells["strings"] == cells["metrics"]["perplexity"]["count"] == [5, 5, 5]


def _as_zst(text):
    zstandard = pytest.importorskip("zstandard")
    half = len(text) // 2
    return b"".join(zstandard.compress(part) for part in (text[:half], text[half:]))  # two frames


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress), ("zst", _as_zst)],
)
def test_compressed_texts(make, tmp_path, suffix, compress):
    """As OpenWebText2 is, the files of which end in .jsonl.zst."""
    plain = texts_of(built(make()), "train")
    (tmp_path / "train.txt").unlink()
    packed = compress(TEXTS["train"].encode())
    file = tmp_path / f"train.txt.{suffix}"
    file.write_bytes(packed)
    corpus = {**DATA["corpus"], "train": [{"file": file.name}]}
    path = make(corpus=corpus)
    told = read_yaml(path)["corpus"]["train"][0]["sha256"]
    assert told == hashlib.sha256(packed).hexdigest()  # of the file as it lies there
    assert texts_of(built(path), "train") == plain
    for spoilt, said in (
        (packed[:-8], "train.txt."),  # cut
        (b"no such thing", "train.txt."),
        (compress(b"Other texts.\n"), "wrong checksum: its SHA-256 is"),
    ):
        file.write_bytes(spoilt)
        tokens.tokens_of.cache_clear()
        shutil.rmtree(tmp_path / "cache")
        with pytest.raises(RequestError, match=said) as refused:
            built(path)
        assert "\n" not in str(refused.value)
