"""What a language promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from formalbench.checks.promises import Promise, demand
from formalbench.contracts.stream import Stream
from formalbench.contracts.task import Task
from formalbench.evaluation.cells import split_lengths, spread

MAX_STRINGS = 3000
"""Strings of one length that are all compared with the oracle."""

SAMPLE = 512


def task_promises(task: Task) -> Iterator[Promise]:
    """Return the promises of a task's language under the task's objective."""
    yield "has an alphabet of distinct, visible symbols", lambda: _alphabet(task)
    yield "has strings to train and test on", lambda: _splits(task)
    yield "draws strings of the length asked for", lambda: _strings(task)
    yield "draws the same strings again", lambda: _repeats(task)
    yield "classifies as its oracle does, on all short strings", lambda: _short(task)
    yield "classifies as its oracle does, on long strings", lambda: _long(task)
    if task.objective.name == "classify":
        yield "states the class distribution it draws from", lambda: _distribution(task)
    if task.objective.name == "tag":
        yield "labels every prefix as its oracle does", lambda: _tags(task)
    if task.objective.name == "next-symbols":
        yield "draws members only", lambda: _members(task)
        yield "says what may follow, as far as short strings show", lambda: _next(task)
    if task.objective.name == "generate":
        yield "draws members only", lambda: _members(task)
        yield "names the one bracket that may be closed", lambda: _closes(task)
    yield "has a chance level between 0 and 1", lambda: _chance(task)


def _some_lengths(task: Task) -> list[int]:
    return spread([*split_lengths(task, "train"), *split_lengths(task, "test")], 6)


def _alphabet(task: Task) -> None:
    symbols = task.alphabet
    demand(isinstance(symbols, tuple) and symbols, "alphabet must be a tuple of symbols")
    demand(all(isinstance(s, str) and s for s in symbols), "symbols must be non-empty text")
    demand(len(set(symbols)) == len(symbols), "a symbol occurs twice")
    demand(not any(len(s) > 1 and " " in s for s in symbols), "a symbol holds a space")
    demand(all(s.isprintable() for s in symbols), "a symbol cannot be printed")


def _splits(task: Task) -> None:
    for first, last in (task.splits.train, task.splits.test):
        demand(0 <= first <= last, f"split {first}–{last} is no window of lengths")
    split_lengths(task, "train")
    split_lengths(task, "test")


def _strings(task: Task) -> None:
    for length in _some_lengths(task):
        strings, targets = task.sample(Stream("check", length), length, 16)
        demand(strings.shape == (16, length), f"length {length}: shape {strings.shape}")
        demand(strings.dtype == np.int64, f"dtype {strings.dtype}, not int64")
        inside = (strings >= 0) & (strings < len(task.alphabet))
        demand(inside.all(), f"length {length}: a symbol id is outside the alphabet")
        demand(task.language.in_domain(strings).all(), f"length {length}: not in the domain")
        demand(len(targets) == 16, f"length {length}: {len(targets)} targets for 16 strings")


def _repeats(task: Task) -> None:
    length = _some_lengths(task)[-1]
    one, again, other = (task.sample(Stream("check", k), length, 64)[0] for k in (1, 1, 2))
    demand(np.array_equal(one, again), "one stream gave two different samples")
    many = len(np.unique(one, axis=0)) > 1
    demand(not many or not np.array_equal(one, other), "two streams gave the same sample")


def _all_strings(task: Task, length: int) -> Sequence[tuple[int, ...]]:
    return list(product(range(len(task.alphabet)), repeat=length))


def _short(task: Task) -> None:
    length = 0
    while len(task.alphabet) ** length <= MAX_STRINGS and length <= 10:
        for string in _all_strings(task, length):
            _compare(task, string)
        length += 1


def _long(task: Task) -> None:
    for length in _some_lengths(task):
        for string in task.sample(Stream("check long", length), length, 24)[0]:
            _compare(task, tuple(int(symbol) for symbol in string))


def _compare(task: Task, string: tuple[int, ...]) -> None:
    language = task.language
    array = np.array(string, dtype=np.int64)[None, :]
    if not language.in_domain(array)[0]:
        return
    fast, slow = int(language.classify(array)[0]), int(language.oracle(string))
    text = " ".join(task.alphabet[symbol] for symbol in string) or "the empty string"
    demand(fast == slow, f"{text}: classify says {fast}, the oracle {slow}")
    demand(0 <= fast < language.num_classes, f"{text}: class {fast} does not exist")


def _distribution(task: Task) -> None:
    language = task.language
    for length in _some_lengths(task):
        classes = language.classify(language.sample(Stream("check classes"), length, SAMPLE))
        found = np.bincount(classes, minlength=language.num_classes) / SAMPLE
        stated = language.class_distribution(length)
        if stated is not None:
            demand(abs(sum(stated) - 1) < 1e-9, f"length {length}: it does not sum to 1")
            worst = float(np.abs(found - np.array(stated)).max())
            # Five standard deviations of a share in a sample of this size.
            demand(worst < 2.5 / SAMPLE**0.5, f"length {length}: {stated}, but drawn {found}")


def _tags(task: Task) -> None:
    for length in (1, 2, 7, _some_lengths(task)[2]):
        strings = task.language.sample(Stream("check tags"), length, 8)
        labels = task.language.classify_prefixes(strings)
        demand(labels.shape == strings.shape, f"shape {labels.shape} for {strings.shape}")
        for string, row in zip(strings, labels, strict=True):
            for end in range(1, length + 1):
                slow = task.language.oracle([int(symbol) for symbol in string[:end]])
                demand(int(row[end - 1]) == slow, f"prefix of length {end} of {string}: not {slow}")


def _members(task: Task) -> None:
    for length in _some_lengths(task):
        for string in task.objective.sample(task.language, Stream("check members"), length, 16):
            one = [int(symbol) for symbol in string]
            demand(task.language.oracle(one) == 1, f"{one} is no member, says the oracle")


def _closes(task: Task) -> None:
    """Compare the brackets named with those that the oracle lets close a short prefix."""
    language, closes = task.language, task.language.closes
    demand(closes, "closes is empty: it must hold the ids of the closing brackets")
    for length in [length for length in range(9) if language.has_members(length)]:
        strings = task.objective.sample(language, Stream("check closes", length), length, 16)
        types, positions = language.open_brackets(strings)
        shape = (16, length + 1)
        demand(types.shape == positions.shape == shape, f"open_brackets is {types.shape}")
        for string, row, opened in zip(strings.tolist(), types, positions, strict=True):
            for end in range(length + 1):
                place = f"after {string[:end]}"
                named = int(row[end])
                demand((named >= 0) == (0 <= opened[end] < end), f"{place}: {opened[end]} is open")
                if named < 0:
                    demand(language.oracle(string[:end]) == 1, f"{place}: something is open")
                    continue
                # What stands between a bracket and its close is balanced, and so is the whole.
                inside = string[int(opened[end]) + 1 : end]
                whole = [string[int(opened[end])], *inside, closes[named]]
                right = language.oracle(inside) == 1 == language.oracle(whole)
                demand(right, f"{place}: {closes[named]} does not close {opened[end]}")


def _next(task: Task) -> None:
    """Compare legal sets with every extension of a short prefix by up to a few symbols."""
    size = len(task.alphabet)
    ahead = max(1, int(np.log(64) / np.log(max(size, 2))))
    length = 0
    while size ** (length + ahead) <= MAX_STRINGS and length <= 5:
        strings = np.array(_all_strings(task, length), dtype=np.int64).reshape(size**length, length)
        legal = task.language.next_symbols(strings)
        demand(
            legal.shape == (len(strings), length + 1, size + 1), f"next_symbols is {legal.shape}"
        )
        for string, row in zip(strings.tolist(), legal[:, -1], strict=True):
            may_end = task.language.oracle(string) == 1
            demand(bool(row[-1]) == may_end, f"after {string}: may end is {not may_end}")
            for symbol in range(size):
                if any(
                    task.language.oracle([*string, symbol, *rest]) == 1
                    for extra in range(ahead)
                    for rest in product(range(size), repeat=extra)
                ):
                    demand(row[symbol], f"after {string}, symbol {symbol} is legal")
        length += 1


def _chance(task: Task) -> None:
    chance = task.chance(spread(split_lengths(task, "test"), 4))
    demand(0 <= chance.constant <= chance.length_only + 1e-9 <= 1 + 2e-9, f"it is {chance}")
