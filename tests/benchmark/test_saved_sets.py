"""Test sets on disk: drawn once, and never believed without their fingerprint."""

import dataclasses

import numpy as np
import pytest
from formalbench.cache import cache_folder
from formalbench.contracts.protocol import Protocol
from formalbench.evaluation import cells
from formalbench.evaluation.cells import saved_test_set
from formalbench.evaluation.cells import test_set as draw_test_set
from formalbench.metrics.close_brackets import CloseBrackets

SMALL = Protocol.model_validate(
    {"name": "small", "version": 1, "test": {"lengths": 4, "strings": 8}}
)
TASKS = [
    "parity",
    "tomita-3:next-symbols",
    "cycle-navigation:tag",
    "modular-arithmetic",
    "dyck-2-3:generate",
]


@pytest.fixture
def drawn(monkeypatch):
    """Hear of every test set that is drawn."""
    heard = []

    def draw(task, protocol):
        heard.append(task.name)
        return draw_test_set(task, protocol)

    monkeypatch.setattr(cells, "test_set", draw)
    return heard


def files():
    return sorted((cache_folder() / "test-sets").iterdir())


@pytest.mark.parametrize("name", TASKS)
def test_drawn_once_and_the_same_again(host, drawn, name):
    task = host.task(name)
    first = saved_test_set(task, "", SMALL)
    again = saved_test_set(host.task(name), "", SMALL)
    assert len(drawn) == 1
    assert first.fingerprint == again.fingerprint == draw_test_set(task, SMALL).fingerprint
    for one, other in zip(first.cells, again.cells, strict=True):
        assert (one.first, one.last) == (other.first, other.last)
        for before, after in zip(one.examples, other.examples, strict=True):
            assert before.known.keys() == after.known.keys()
            pairs = zip(before[:5], after[:5], strict=True)
            for a, b in [*pairs, *((before.known[n], after.known[n]) for n in before.known)]:
                assert np.array_equal(a, b)
                assert a is None or a.dtype == b.dtype


def test_what_decides_the_strings_decides_the_file(host, drawn):
    saved_test_set(host.task("parity"), "", SMALL)
    saved_test_set(host.task("parity"), "another plugin's", SMALL)
    saved_test_set(host.task("parity", {"p": 0.3}), "", SMALL)
    saved_test_set(host.task("parity:tag"), "", SMALL)
    more = SMALL.model_copy(update={"test": SMALL.test.model_copy(update={"strings": 9})})
    saved_test_set(host.task("parity"), "", more)
    assert len(drawn) == len(files()) == 5


def test_a_metric_more_is_another_file(host, drawn):
    """It knows of strings what the others do not."""
    task = host.task("dyck-2-3:generate")
    more = dataclasses.replace(
        task, extra_metrics=(CloseBrackets(task.source.closes, by="position"),)
    )
    first, second = (saved_test_set(one, "", SMALL) for one in (task, more))
    assert len(drawn) == len(files()) == 2
    assert first.fingerprint == second.fingerprint
    assert len(saved_test_set(more, "", SMALL).cells[0].examples[0].known) == 2
    assert len(drawn) == 2


def test_changed_code_draws_anew(host, drawn, monkeypatch):
    saved_test_set(host.task("parity"), "", SMALL)
    monkeypatch.setattr(cells, "code_digest", lambda *things: "changed")
    saved_test_set(host.task("parity"), "", SMALL)
    assert len(drawn) == 2


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped"])
def test_a_damaged_file_is_drawn_again(host, drawn, damage):
    name = "dyck-2-3:generate"  # its metrics know things of strings
    whole = saved_test_set(host.task(name), "", SMALL)
    (file,) = files()
    contents = file.read_bytes()
    if damage == "flipped":  # a number of what a metric knows, which no fingerprint holds
        known = next(iter(whole.cells[-1].examples[0].known.values())).tobytes()
        place = contents.index(known) + len(known) // 2
        file.write_bytes(contents[:place] + bytes([contents[place] ^ 1]) + contents[place + 1 :])
    else:
        file.write_bytes(b"" if damage == "empty" else contents[:200])
    again = saved_test_set(host.task(name), "", SMALL)
    assert len(drawn) == 2
    assert again.fingerprint == whole.fingerprint
    assert file.read_bytes() == contents
