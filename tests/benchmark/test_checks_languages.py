"""The checks of sources: defects planted in languages and functions are found."""

import dataclasses

import numpy as np
import pytest
from formalbench.checks import check_spec
from formalbench.checks.plugins import keep
from formalbench.checks.tasks import source_promises, task_promises
from formalbench.host import PluginHost

HOST = PluginHost.load()


def broken_promises(task):
    return {one.promise for one in keep("task", task_promises(task)) if not one.passed}


def spoiled(name, **methods):
    """Return a task whose language differs in these methods."""
    task = HOST.task(name)
    changed = type("Spoiled", (type(task.source),), methods)
    copy = changed.__new__(changed)
    copy.__dict__.update(task.source.__dict__)
    return dataclasses.replace(task, source=copy)


of_first = property(lambda self: HOST.task("first").source.automaton)


def test_an_unspoiled_copy_is_fine():
    for name in ("parity", "parity:tag", "tomita-4:next-symbols"):
        assert broken_promises(spoiled(name)) == set()


def real(name, method):
    return getattr(type(HOST.task(name).source), method)


def off_at_length_five(self, strings):
    return real("parity", "classify")(self, strings) ^ int(strings.shape[1] == 5)


def off_at_one_string(self, strings):
    wrong = (strings == np.arange(strings.shape[1]) % 2).all(axis=1) & (strings.shape[1] == 9)
    return real("parity", "classify")(self, strings) ^ wrong


def off_when_long(self, strings):
    return real("parity", "classify")(self, strings) ^ int(strings.shape[1] > 30)


def forgetful(self, stream, length, count):
    return np.random.default_rng().integers(0, 2, (count, length))


def too_long(self, stream, length, count):
    return stream.integers(2, (count, length + 1))


def outside(self, stream, length, count):
    return stream.integers(3, (count, length))


def all_members(self, stream, length, count):
    return np.zeros((count, length), dtype=np.int64)


def narrow(self, stream, length, count):
    return stream.integers(2, (count, length)).astype(np.int32)


def no_end(self, strings):
    legal = real("tomita-4:next-symbols", "next_symbols")(self, strings).copy()
    legal[..., -1] = False
    return legal


def nothing_legal(self, strings):
    legal = real("tomita-4:next-symbols", "next_symbols")(self, strings).copy()
    legal[:, :, 0] = False
    return legal


def shifted_tags(self, strings):
    return np.roll(real("parity", "classify_prefixes")(self, strings), 1, axis=1)


def any_string(self, stream, length, count):
    return stream.integers(2, (count, length))


def brackets(self, stream, length, count):
    return np.arange(count * length).reshape(count, length) % 2


def test_a_slow_oracle_and_long_strings_cost_a_check_little(monkeypatch):
    """After its patience, it asks for some strings of each length; long ones it does not try."""
    asked = []

    def slowly(self, string):
        asked.append(len(string))
        return string.count(1) % 2

    monkeypatch.setattr("formalbench.contracts.objective.PATIENCE", -1.0)
    task = spoiled("parity", oracle=slowly).at_lengths(None, (41, 100_000))
    assert broken_promises(task) == set()
    assert len(asked) < 200
    assert 800 < max(asked) <= 1_000


@pytest.mark.parametrize(
    ("name", "methods", "promise"),
    [
        ("parity", {"classify": off_at_length_five}, "on all short strings"),
        ("parity", {"classify": off_at_one_string}, "on all short strings"),
        ("parity", {"classify": off_when_long}, "on long strings"),
        ("parity", {"oracle": lambda self, string: 0}, "on all short strings"),
        ("parity", {"classify": lambda self, strings: 1 / 0}, "on all short strings"),
        ("parity", {"sample": forgetful}, "samples the same strings again from the same stream"),
        ("parity", {"sample": too_long}, "samples strings of the requested length"),
        ("parity", {"sample": outside}, "samples strings of the requested length"),
        ("parity", {"sample": narrow}, "samples strings of the requested length"),
        ("parity", {"sample": all_members}, "class distribution"),
        ("parity", {"class_distribution": lambda self, n: (0.7, 0.3)}, "class distribution"),
        ("parity", {"class_distribution": lambda self, n: (0.5, 0.6)}, "class distribution"),
        ("parity", {"alphabet": ("0", "0")}, "alphabet"),
        ("parity", {"alphabet": ("0", "")}, "alphabet"),
        ("parity", {"has_length": lambda self, n: False}, "strings to train and test on"),
        ("parity", {"automaton": of_first}, "on all short strings"),
        ("tomita-4", {"sample_members": any_string}, "samples members in the language"),
        ("dyck-1-3", {"near_misses": brackets}, "samples members in the language"),
        ("parity:tag", {"classify_prefixes": shifted_tags}, "labels every prefix"),
        ("tomita-4:next-symbols", {"sample_members": any_string}, "draws members only"),
        ("tomita-4:next-symbols", {"next_symbols": no_end}, "names the symbols that may follow"),
        (
            "tomita-4:next-symbols",
            {"next_symbols": nothing_legal},
            "names the symbols that may follow",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_a_language_with_a_defect(name, methods, promise):
    task = spoiled(name, **methods)
    if "alphabet" in methods:
        task.source.__dict__["alphabet"] = methods["alphabet"]
    assert any(promise in broken for broken in broken_promises(task))


# Planted defects in functions from strings to strings.


def real_answers(self, strings):
    return type(self).__mro__[1].transduce(self, strings)


def says_too_much(self, strings):
    answers, sizes = real_answers(self, strings)
    answers[:, -1:] += (sizes < strings.shape[1])[:, None]
    return answers, sizes


def off_by_one(self, strings):
    answers, sizes = real_answers(self, strings)
    return answers, np.maximum(sizes - (strings.shape[1] == 5), 0)


@pytest.mark.parametrize(
    "methods",
    [
        {"transduce": says_too_much},
        {"transduce": off_by_one},
        {"transduce": lambda self, strings: strings},
        {"oracle": lambda self, string: [symbol - 1 for symbol in string]},
        {"answer_length": lambda self, length: length // 2},
        {"transduce": lambda self, strings: real_answers(self, strings)[::-1]},
        {"outputs": ("1",)},
    ],
)
def test_a_function_with_a_defect(functions, methods):
    task = functions.task("without-zeros")
    changed = type("Broken", (type(task.source),), methods)()
    promises = source_promises(dataclasses.replace(task, source=changed))
    (broken, *_) = (one.promise for one in keep("function", promises) if not one.passed)
    assert broken.startswith("answers as its oracle does")


@pytest.mark.parametrize("name", ["backwards", "without-zeros"])
def test_a_function_without_a_defect(functions, name):
    checks = check_spec(functions, name)
    assert "answers as its oracle does, on all short strings" in {one.promise for one in checks}
    assert [one for one in checks if not one.passed] == []
