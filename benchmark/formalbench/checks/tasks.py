"""Checks of sources, objectives and metrics.

Legend: B strings, N symbols each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from formalbench.contracts.errors import PLUGIN_FAILURES
from formalbench.contracts.network import Example, pad, tensors
from formalbench.contracts.objective import (
    CROSS_ENTROPY,
    Measure,
    Patience,
    Promise,
    State,
    add_up,
    demand,
)
from formalbench.contracts.source import (
    HasMembers,
    HasNearMisses,
    Language,
    Source,
    Stream,
    Symbols,
    Transduction,
    automaton_of,
)
from formalbench.contracts.task import Task, expected_shape
from formalbench.evaluation.cells import split_lengths, spread
from formalbench.host.loader import as_failures
from formalbench.objectives.answers import some_lengths, tried_lengths

if TYPE_CHECKING:
    from torch import Tensor


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

JUDGED = 8
"""Number of checked strings of each length."""


def judging_promises(task: Task) -> Iterator[Promise]:
    """Return the checks of an objective on random answers."""
    yield "computes its loss and metrics", lambda: _scoring(task)
    yield "gives padded strings the same metrics as single strings", lambda: _padding(task)


def _scoring(task: Task) -> None:
    for length in some_lengths(task)[:3]:
        example = tensors(_example(task, length))
        logits = _logits(task, example).requires_grad_()
        loss = task.objective.loss(logits, example)
        demand(loss.ndim == 0, f"length {length}: a loss of shape {tuple(loss.shape)}")
        demand(loss.isfinite(), f"length {length}: the loss is {loss}")
        loss.backward()  # type: ignore[no-untyped-call]
        demand(logits.grad is not None, f"length {length}: the loss does not depend on the logits")
        right_B = _right(task, logits.detach(), example)
        demand(right_B.shape == (JUDGED,), f"length {length}: right is {tuple(right_B.shape)}")
        inside = ((right_B >= 0) & (right_B <= 1)).all()
        demand(inside, f"length {length}: more answers are right than the string has")
        _measures(task, _finish(task, [_states(task, logits.detach(), example)]))


def _measures(task: Task, measures: dict[str, Measure]) -> None:
    primary = task.primary.name
    for name in (primary, CROSS_ENTROPY):
        demand(name in measures, f"{name} is not measured: there is {', '.join(measures)}")
    for name in measures:
        demand(_NAME.fullmatch(str(name)), f"{name!r} is no name of a measure: lower case, hyphens")
    total, count = measures[primary]
    demand(count > 0 and 0 <= total <= count, f"{primary} is {total:g} of {count}")
    best = task.objective.preference(measures, primary)
    demand(isinstance(best, tuple) and best, "preference does not return a tuple of numbers")


def _padding(task: Task) -> None:
    lengths = some_lengths(task)[:3]
    examples = [_example(task, length) for length in lengths]
    together = tensors(pad(examples, task.layout))
    logits = _logits(task, together)
    right_B = _right(task, logits, together)
    demand(task.objective.loss(logits, together).isfinite(), "the loss is not finite")
    states = []
    for index, length in enumerate(lengths):
        example = tensors(examples[index])
        rows = slice(index * JUDGED, (index + 1) * JUDGED)
        own = logits[rows]
        if task.layout != "last":
            own = own[:, : expected_shape(task, example.batch)[1]]
        states.append(_states(task, own, example))
        apart_B = (right_B[rows] - _right(task, own, example)).abs()
        demand((apart_B < 1e-6).all(), f"length {length}: padding counts as an answer")
    padded = _finish(task, [_states(task, logits, together)])
    alone = _finish(task, states)
    for name, measure in alone.items():
        other = padded[name]
        same = abs(other.total - measure.total) < 1e-3 and other.count == measure.count
        texts = f"{other.total:g} of {other.count}", f"{measure.total:g} of {measure.count}"
        demand(same, f"{name} is {texts[0]} in padded strings, {texts[1]} in the same alone")


def _example(task: Task, length: int) -> Example:
    return task.sample(Stream("check judging", length), length, JUDGED)


def _logits(task: Task, example: Example) -> Tensor:
    """Return random logits between -2 and 2."""
    import torch  # imported here, so that a task's other checks do not need torch

    numbers = Stream("check logits").uniform(expected_shape(task, example.batch))
    return torch.from_numpy(4 * numbers - 2).float()


def _right(task: Task, logits: Tensor, example: Example) -> Tensor:
    return task.objective.right(logits, example, task.primary).double()


def _states(task: Task, logits: Tensor, example: Example) -> list[State]:
    return [metric.measure(logits, example).double().numpy() for metric in task.metrics]


def _finish(task: Task, parts: Sequence[list[State]]) -> dict[str, Measure]:
    """Return all measures by name."""
    measures: dict[str, Measure] = {}
    for metric, states in zip(task.metrics, zip(*parts, strict=True), strict=True):
        own = metric.finish(add_up(states))
        duplicates = ", ".join(set(measures) & set(own))
        demand(not duplicates, f"{metric.name} measures the same as another metric: {duplicates}")
        measures |= own
    return measures


MAX_STRINGS = 3000
"""Maximum number of strings of a length that are compared with the oracle."""

LONGEST_SHORT = 10

LONG_STRINGS = 24

AT_ONCE = 4
"""Number of strings compared between two checks of the time limit."""

Compare = Callable[[Any, Symbols], None]
"""Compares the answers of a source with its oracle."""


def source_promises(task: Task) -> Iterator[Promise]:
    """Return the checks of a task's source that do not depend on the objective."""
    source = task.source
    compare: Compare
    if isinstance(source, Language):
        verb, compare = "classifies", _compare_classes
    elif isinstance(source, Transduction):
        verb, compare = "answers", _compare_answers
    else:
        return
    yield f"{verb} as its oracle does, on all short strings", lambda: _short(source, compare)
    yield f"{verb} as its oracle does, on long strings", lambda: _long(task, compare)
    if isinstance(source, Language) and isinstance(source, HasMembers | HasNearMisses):
        yield "samples members in the language, near misses outside", lambda: _drawn(task, source)


def _drawn(task: Task, language: Language) -> None:
    for length in some_lengths(task):
        stream = Stream("check members", length)
        if isinstance(language, HasMembers) and language.has_members(length):
            strings_BN = language.sample_members(stream, length, COUNT)
            demand(strings_BN.shape == (COUNT, length), f"members: {strings_BN.shape}")
            demand(language.classify(strings_BN).all(), f"length {length}: a member has class 0")
        if isinstance(language, HasNearMisses):
            strings_BN = language.near_misses(stream, length, COUNT)
            shapes = (COUNT, length), (0, length)
            demand(strings_BN.shape in shapes, f"near misses: {strings_BN.shape}")
            outside = not language.classify(strings_BN).any()
            demand(outside, f"length {length}: a near miss does not have class 0")


def all_strings_of(source: Source, length: int) -> Symbols:
    """Return every string of a length that has an answer, (B, N)."""
    strings = list(product(range(len(source.alphabet)), repeat=length))
    strings_BN = np.array(strings, dtype=np.int64).reshape(len(strings), length)
    return strings_BN[source.in_domain(strings_BN)]


def _short(source: Source, compare: Compare) -> None:
    length, patience = 0, Patience()
    while len(source.alphabet) ** length <= MAX_STRINGS and length <= LONGEST_SHORT:
        _compare_some(source, all_strings_of(source, length), compare, patience)
        length += 1


def _long(task: Task, compare: Compare) -> None:
    patience = Patience()
    for length in some_lengths(task):
        strings_BN = task.strings(Stream("check long", length), length, LONG_STRINGS)
        _compare_some(task.source, strings_BN, compare, patience)


def _compare_some(
    source: Source, strings_BN: Symbols, compare: Compare, patience: Patience
) -> None:
    """Compare strings until the time limit, and at least one."""
    for first in range(0, len(strings_BN), AT_ONCE):
        compare(source, strings_BN[first : first + AT_ONCE])
        if patience.ended:
            return


def _compare_classes(language: Language, strings_BN: Symbols) -> None:
    automaton = automaton_of(language)
    for string in strings_BN:
        # One by one, which also checks that an answer does not depend on the batch.
        fast, slow = int(language.classify(string[None])[0]), int(language.oracle(string.tolist()))
        text = _text(language, string)
        demand(fast == slow, f"{text}: classify says {fast}, the oracle {slow}")
        demand(0 <= fast < language.num_classes, f"{text}: class {fast} does not exist")
        if automaton is not None:
            state = automaton.start
            for symbol in string:
                state = automaton.transitions[state][symbol]
            end = int(automaton.classes[state])
            demand(fast == end, f"{text}: classify says {fast}, the automaton {end}")


def _compare_answers(function: Transduction, strings_BN: Symbols) -> None:
    if not len(strings_BN):
        return
    length = strings_BN.shape[1]
    answers_BM, sizes_B = function.transduce(strings_BN)
    fits = answers_BM.ndim == 2 and len(answers_BM) == len(sizes_B) == len(strings_BN)
    demand(fits, f"transduce gave {answers_BM.shape} and {sizes_B.shape} for {strings_BN.shape}")
    most = function.answer_length(length)
    for string, answer, size in zip(strings_BN, answers_BM, sizes_B.tolist(), strict=True):
        text = _text(function, string)
        slow = list(function.oracle(string.tolist()))
        fast = answer[:size].tolist()
        demand(fast == slow, f"{text}: transduce says {fast}, the oracle {slow}")
        inside = all(0 <= symbol < len(function.outputs) for symbol in fast)
        demand(inside, f"{text}: {fast} is outside the output alphabet")
        demand(not answer[size:].any(), f"{text}: there are symbols after the end of the answer")
        short = most is None or size <= most
        demand(short, f"{text}: an answer of {size} symbols, and answer_length says {most}")


def _text(source: Source, string: Symbols) -> str:
    return " ".join(source.alphabet[symbol] for symbol in string) or "the empty string"


COUNT = 16
"""Number of sampled strings at each length."""


def task_promises(task: Task) -> Iterator[Promise]:
    """Return the checks of a task's source under the task's objective."""
    yield "has an alphabet of distinct, printable symbols", lambda: _alphabet(task)
    yield "has strings to train and test on", lambda: _splits(task)
    try:
        with as_failures():
            _splits(task)
    except PLUGIN_FAILURES:
        return  # the other checks need strings
    yield "samples strings of the requested length", lambda: _strings(task)
    yield "makes examples in the layout of its objective", lambda: _examples(task)
    yield "samples the same strings again from the same stream", lambda: _repeats(task)
    yield from judging_promises(task)
    yield from source_promises(task)
    yield from task.objective.promises(task)
    yield "has a chance level between 0 and 1", lambda: _chance(task)


def _alphabet(task: Task) -> None:
    answers = task.objective.answers(task.source)
    demand(len(answers) >= 1, "no answer is scored")
    for symbols in (task.source.alphabet, task.alphabet):
        demand(isinstance(symbols, tuple) and symbols, "alphabet must be a tuple of symbols")
        demand(all(isinstance(s, str) and s for s in symbols), "symbols must be non-empty text")
        demand(len(set(symbols)) == len(symbols), "a symbol occurs twice")
        demand(not any(len(s) > 1 and " " in s for s in symbols), "a symbol contains a space")
        demand(all(s.isprintable() for s in symbols), "a symbol cannot be printed")


def _splits(task: Task) -> None:
    for first, last in (task.splits.train, task.splits.test):
        demand(0 <= first <= last, f"split {first}–{last} is not a range of lengths")
    split_lengths(task, "train")
    split_lengths(task, "test")


def _strings(task: Task) -> None:
    size = len(task.source.alphabet)
    for length in some_lengths(task):
        strings = task.objective.strings(task.source, Stream("check", length), length, COUNT)
        demand(strings.shape == (COUNT, length), f"length {length}: shape {strings.shape}")
        demand(strings.dtype == np.int64, f"dtype {strings.dtype}, not int64")
        inside = (strings >= 0) & (strings < size)
        demand(inside.all(), f"length {length}: a symbol id is outside the alphabet")
        demand(task.source.in_domain(strings).all(), f"length {length}: not in the domain")


def _examples(task: Task) -> None:
    for length in some_lengths(task):
        example = task.sample(Stream("check", length), length, COUNT)
        inputs = example.inputs
        demand(inputs.ndim == 2, f"length {length}: inputs of shape {inputs.shape}")
        inside = (inputs >= 0) & (inputs < len(task.alphabet))
        demand(inside.all(), f"length {length}: an input is outside the alphabet")
        _rows(example, length)
        if example.scored is not None:
            answers = expected_shape(task, example.batch)[:-1]
            shape = example.scored.shape
            demand(shape == answers, f"length {length}: scored of shape {shape}, not {answers}")
            demand(example.scored.any(), f"length {length}: no answer is scored")
        count = len(task.to_json(example))
        demand(count == COUNT, f"length {length}: {count} answers are shown for {COUNT} strings")


def _rows(example: Example, length: int) -> None:
    parts = {**example._asdict(), **example.known}
    del parts["known"]
    for name, part in parts.items():
        if part is None:
            continue
        demand(len(part) == COUNT, f"length {length}: {len(part)} {name} for {COUNT} strings")


def _repeats(task: Task) -> None:
    length = some_lengths(task)[-1]
    first, again, other = (task.sample(Stream("check", k), length, 64) for k in (1, 1, 2))
    demand(_same(first, again), "the same stream gave two different samples")
    many = len(np.unique(first.inputs, axis=0)) > 1
    demand(not many or not _same(first, other), "two streams gave the same sample")


def _same(a: Example, b: Example) -> bool:
    same = np.array_equal(a.inputs, b.inputs)
    return same and np.array_equal(a.targets, b.targets)


def _chance(task: Task) -> None:
    chance = task.chance(spread(tried_lengths(task, "test"), 4))
    demand(0 <= chance.constant <= chance.length_only + 1e-9 <= 1 + 2e-9, f"it is {chance}")
